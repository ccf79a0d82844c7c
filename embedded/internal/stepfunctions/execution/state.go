package execution

// Status is the status of an execution.
type Status byte

// The statuses. Their numbers are stored: new ones go to the end.
const (
	Running Status = iota
	Succeeded
	Failed
	TimedOut
	Aborted
)

var statuses = [...]string{"RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"}

// String returns the status as AWS names it.
func (s Status) String() string { return statuses[s] }

// StatusNamed returns the status that AWS gives that name.
func StatusNamed(name string) (Status, bool) {
	for s, n := range statuses {
		if n == name {
			return Status(s), true
		}
	}

	return 0, false
}

// State is the part of an execution that is stored beside its history.
// Times are milliseconds since 1970; 0 means never.
type State struct {
	Name string
	// Revision is the definition with which the execution was started. It never changes.
	Revision uint64
	// Version is the number of the version that was started, 0 for none, and Alias the alias
	// that chose it, "" for none.
	Version uint64
	Alias   string
	Status  Status
	Started int64
	Stopped int64
	// Deadline is when the execution as a whole times out.
	Deadline int64
	Redriven int64
	Redrives int
	// LastEvent is the id of the newest event.
	LastEvent int64
	// Output is the output of a succeeded execution; Error and Cause tell why a failed,
	// stopped or timed-out one has ended.
	Output       Ref
	Error, Cause string
	// Child is nil unless a Map Run has started the execution.
	Child *Child

	threads    []*thread
	nextThread int64 // the id of the newest thread

	redriveTokens []redriveToken // the oldest first
}

// Child is the place of an execution in the Map Run that has started it.
type Child struct {
	// Machine and Run are the numbers of the state machine and of the Map Run.
	Machine, Run uint64
	// Map is the ordinal of the Map's state in the machine.
	Map int
	// Index is the execution's place in the result of the Map, and Items the number of its
	// items.
	Index, Items int64
}

// Backoff reports whether the root thread waits for another attempt of its state.
func (s *State) Backoff() bool {
	return len(s.threads) > 0 && s.threads[0].phase == backoff
}

// Chunks returns the first events of the turns whose documents the state still needs.
func (s *State) Chunks() map[int64]bool {
	// Chunk 1 holds the input of the execution, which the context object has.
	chunks := map[int64]bool{1: true, s.Output.Chunk: true}
	for _, t := range s.threads {
		chunks[t.input.Chunk], chunks[t.taskInput.Chunk] = true, true

		for _, r := range t.results {
			chunks[r.Chunk] = true
		}

		for _, v := range t.variables {
			chunks[v.ref.Chunk] = true
		}
	}

	return chunks
}
