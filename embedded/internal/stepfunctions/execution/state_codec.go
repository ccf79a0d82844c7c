package execution

import "encoding/binary"

// stateVersion is the first byte of every stored state.
const stateVersion = 1

// AppendState appends the stored form of s.
func AppendState(b []byte, s *State) []byte {
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
	b = binary.AppendUvarint(b, uint64(len(s.threads)))
	for _, t := range s.threads {
		b = t.append(b)
	}

	return b
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

	return b
}

// StoredStatus returns the status of a stored state without reading the rest.
func StoredStatus(data []byte) Status { return Status(data[1]) }

// ReadState reads what AppendState wrote.
func ReadState(data []byte) (*State, error) {
	r := &reader{b: data}
	if r.byte() != stateVersion {
		return nil, errCorrupt
	}

	s := &State{Status: Status(r.byte()), Name: r.text()}

	revision, n := binary.Uvarint(r.b)
	if n <= 0 {
		return nil, errCorrupt
	}

	r.b = r.b[n:]
	s.Revision = revision
	s.Started, s.Stopped, s.Deadline, s.Redriven, s.Redrives = r.int(), r.int(), r.int(), r.int(), int(r.int())
	s.LastEvent, s.nextThread = r.int(), r.int()
	s.Output, s.Error, s.Cause = r.ref(), r.text(), r.text()

	count := r.count()
	s.threads = make([]*thread, 0, count+1)
	for range count {
		s.threads = append(s.threads, readThread(r))
	}

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

	queue, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return t
	}

	r.b = r.b[n:]
	t.queue = queue
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

	return t
}
