package execution

import "encoding/binary"

// stateVersion is the first byte of every stored state. A state of another version is refused as corrupt.
const stateVersion = 1

// AppendState appends the stored form of s.
func AppendState(b []byte, s *State) []byte {
	// StoredStatus relies on the place of the status.
	b = append(b, stateVersion, byte(s.Status))
	b = appendText(b, s.Name)
	b = binary.AppendUvarint(b, s.Revision)
	for _, v := range [...]int64{
		s.Started, s.Stopped, s.Deadline, s.Redriven, int64(s.Redrives), s.LastEvent, s.nextThread,
	} {
		b = binary.AppendVarint(b, v)
	}

	b = appendRef(b, s.Output)

	b = appendText(b, s.Error)
	b = appendText(b, s.Cause)

	b = appendText(binary.AppendVarint(b, int64(s.Version)), s.Alias)
	b = appendChild(b, s.Child)
	b = binary.AppendUvarint(b, uint64(len(s.threads)))
	for _, t := range s.threads {
		b = t.append(b)
	}

	return appendRedriveTokens(b, s.redriveTokens)
}

// appendChild appends the number of a child's Map Run, 0 for no child, and then the rest.
func appendChild(b []byte, c *Child) []byte {
	if c == nil {
		return binary.AppendUvarint(b, 0)
	}

	b = binary.AppendUvarint(binary.AppendUvarint(b, c.Run), c.Machine)
	b = binary.AppendVarint(binary.AppendVarint(b, int64(c.Map)), c.Index)

	return binary.AppendVarint(b, c.Items)
}

func readChild(r *reader) *Child {
	c := &Child{Run: r.uint()}
	if c.Run == 0 {
		return nil
	}

	c.Machine, c.Map, c.Index, c.Items = r.uint(), int(r.int()), r.int(), r.int()

	return c
}

func (t *thread) append(b []byte) []byte {
	b = append(b, byte(t.phase))
	for _, v := range [...]int64{
		t.id, t.parent, int64(t.index), int64(t.state),
		t.entered, t.enteredEvent, t.last, t.retries,
		t.attempt, t.timeout, t.heartbeat, t.timeoutAt, t.heartbeatAt,
		t.wake, int64(t.next), int64(t.running),
	} {
		b = binary.AppendVarint(b, v)
	}

	b = binary.AppendUvarint(b, t.queue)
	b = appendRef(appendRef(b, t.input), t.taskInput)
	b = binary.AppendUvarint(b, uint64(len(t.attempts)))
	for _, n := range t.attempts {
		b = binary.AppendVarint(b, n)
	}

	if t.phase.hasToken() {
		b = append(b, t.token[:]...)
	}

	b = binary.AppendUvarint(b, uint64(len(t.results)))
	for _, r := range t.results {
		b = appendRef(b, r)
	}

	b = binary.AppendUvarint(b, uint64(len(t.variables)))
	for _, v := range t.variables {
		b = binary.AppendVarint(appendRef(appendText(b, v.name), v.ref), v.size)
	}

	if b = binary.AppendUvarint(b, t.run); t.run != 0 {
		b = binary.AppendVarint(appendText(b, t.runName), t.runRedrives)
	}

	return b
}

// StoredStatus returns the status of a stored state without reading the rest.
func StoredStatus(data []byte) Status { return Status(data[1]) }

// ReadState reads what AppendState wrote.
func ReadState(data []byte) (*State, error) {
	r := &reader{b: data}

	if version := r.byte(); version != stateVersion {
		return nil, errCorrupt
	}

	s := &State{Status: Status(r.byte()), Name: r.text(), Revision: r.uint()}
	s.Started, s.Stopped, s.Deadline, s.Redriven, s.Redrives = r.int(), r.int(), r.int(), r.int(), int(r.int())
	s.LastEvent, s.nextThread = r.int(), r.int()
	s.Output, s.Error, s.Cause = r.ref(), r.text(), r.text()

	s.Version, s.Alias = uint64(r.int()), r.text()
	s.Child = readChild(r)

	count := r.count()
	s.threads = make([]*thread, 0, count+1)
	for range count {
		s.threads = append(s.threads, readThread(r))
	}

	s.redriveTokens = readRedriveTokens(r)

	if r.bad || int(s.Status) >= len(statuses) {
		return nil, errCorrupt
	}

	return s, nil
}

func readThread(r *reader) *thread {
	t := &thread{phase: phase(r.byte())}
	t.id, t.parent, t.index, t.state = r.int(), r.int(), int(r.int()), int(r.int())
	t.entered, t.enteredEvent, t.last, t.retries = r.int(), r.int(), r.int(), r.int()
	t.attempt, t.timeout, t.heartbeat, t.timeoutAt, t.heartbeatAt = r.int(), r.int(), r.int(), r.int(), r.int()
	t.wake, t.next, t.running = r.int(), int(r.int()), int(r.int())

	t.queue = r.uint()
	t.input, t.taskInput = r.ref(), r.ref()
	if n := r.count(); n > 0 {
		t.attempts = make([]int64, n)
		for i := range t.attempts {
			t.attempts[i] = r.int()
		}
	}

	if t.phase.hasToken() && len(r.b) >= TokenSize {
		r.b = r.b[copy(t.token[:], r.b):]
	}

	if n := r.count(); n > 0 {
		t.results = make([]Ref, n)
		for i := range t.results {
			t.results[i] = r.ref()
		}
	}

	for range r.count() {
		t.variables = append(t.variables, variable{name: r.text(), ref: r.ref(), size: r.int()})
	}

	if t.run = r.uint(); t.run != 0 {
		t.runName, t.runRedrives = r.text(), r.int()
	}

	return t
}
