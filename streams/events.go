package streams

import (
	"sync"
	"time"
)

// Events are optional hooks for metrics and alarms. They are called from the
// poller's goroutines, several at once, and must neither block nor panic.
type Events struct {
	// Page is called for every GetRecords that was answered.
	Page func(Page)
	// Handled is called after every call of a handler.
	Handled func(Handled)
	// DeadLetter is called when a record has been stored as a dead letter.
	DeadLetter func(r Record, attempts int, err error)
	// Gap is called when records are known to have been trimmed unread.
	Gap func(Gap)
	// Lease is called when a lease changes hands.
	Lease func(LeaseEvent)
	// Lag is called about once a second for every shard held.
	Lag func(Lag)
	// Fault is called for every failed call to AWS, with the operation's name.
	Fault func(op, shard string, err error)
}

// Page describes one answered GetRecords.
type Page struct {
	Shard   string
	Records int
	Took    time.Duration
}

// Handled describes one call of a handler.
type Handled struct {
	Record Record
	Took   time.Duration
	Err    error
}

// Gap is a stretch of a shard that was trimmed before it was read. What
// happened in it can only be had from the table itself.
type Gap struct {
	Shard string
	// From is the last position known to be handled ("" when the shard was never
	// read); To is the first sequence number after the gap ("" when unknown yet).
	From, To string
	// Since is when the last handled record was created, as far as known; Until
	// is when the gap was noticed. What is missing was written in between.
	Since, Until time.Time
}

// LeaseChange says what happened to a lease.
type LeaseChange string

// What can happen to a lease, seen from this worker.
const (
	LeaseTaken    LeaseChange = "taken"    // this worker holds it now
	LeaseLost     LeaseChange = "lost"     // another has it, or it could not be renewed in time
	LeaseReleased LeaseChange = "released" // given back: stop or hand-over
	LeaseFinished LeaseChange = "finished" // the shard has been handled to its end
	LeaseWanted   LeaseChange = "wanted"   // another worker was asked to hand it over
)

// LeaseEvent is one change of one lease.
type LeaseEvent struct {
	Shard  string
	Change LeaseChange
	Epoch  int64
}

// Lag is how far a shard is behind.
type Lag struct {
	Shard string
	// Age is how old the oldest record is that is read but not finished; with
	// none, how long ago the shard was last found empty. ±1 s, as the service
	// floors creation times.
	Age time.Duration
	// ToHorizon is how long the oldest unfinished record will yet be kept by the
	// service (24 h less Age). Data is lost at zero.
	ToHorizon time.Duration
	// Pending counts records read and not finished.
	Pending int
}

// sparse lets a message about a lasting trouble into the log once a minute.
type sparse struct {
	mu   sync.Mutex
	last time.Time
}

func (s *sparse) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	now := time.Now()
	if !s.last.IsZero() && now.Sub(s.last) < time.Minute {
		return false
	}
	s.last = now

	return true
}
