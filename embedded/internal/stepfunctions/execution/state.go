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

// State is what an execution stores beside its history. Times are milliseconds since 1970;
// 0 means never.
type State struct {
	Name string
	// Revision is the definition with which the execution was started. It never changes.
	Revision uint64
	Status   Status
	Started  int64
	Stopped  int64
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

	threads    []*thread
	nextThread int64 // the id of the newest thread
}
