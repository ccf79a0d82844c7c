package streams

import "time"

// Events are optional hooks for metrics and alarms. The poller calls them from
// several goroutines at once. They must neither block nor panic.
type Events struct {
	// Page is called after every successful GetRecords.
	Page func(Page)
	// Handled is called after every call of a handler.
	Handled func(Handled)
	// Retrying is called after every failed call that will be repeated.
	Retrying func(Retrying)
	// DeadLetter is called when a record has been stored as a dead letter.
	DeadLetter func(r Record, attempts int, err error)
	// Gap is called when records were trimmed before they were read.
	Gap func(Gap)
	// Lease is called when a lease changes.
	Lease func(LeaseEvent)
	// Lag is called about once a second for every shard held.
	Lag func(Lag)
	// Fault is called after every failed call to AWS, with the operation's name
	// and the shard, if the call was about one.
	Fault func(op, shard string, err error)
}

// Page describes one successful GetRecords.
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

// Retrying describes a failed call that will be repeated.
type Retrying struct {
	Record  Record
	Err     error
	NextTry time.Time // the earliest time, unless the handler recovers from an outage before
	// Parked says that the record waits in the retry queue, which survives restarts.
	Parked bool
}

// LeaseChange says what happened to a lease.
type LeaseChange string

// What can happen to a lease, as this worker sees it.
const (
	LeaseTaken     LeaseChange = "taken"    // this worker holds it now
	LeaseLost      LeaseChange = "lost"     // another worker holds it, or this worker could not renew it in time
	LeaseReleased  LeaseChange = "released" // given back after a stop or for a hand-over
	LeaseFinished  LeaseChange = "finished" // the shard has been handled to its end
	LeaseRequested LeaseChange = "wanted"   // this worker asked the holder for it
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
	// Age is the age of the oldest record that is read and not finished. Without such a record, Age
	// is the time since the reader last found no more records in the shard. If the reader has not
	// found that since it read records, Age is the age of the newest record that was read. ±1 s,
	// because the service floors creation times to the second.
	Age time.Duration
	// Unread is at least the age of the oldest unread record: the age of the newest record that was read, and 0
	// while the newest page was empty. Records that were read do not count, however long they wait for a handler.
	Unread time.Duration
	// ToHorizon is how long the service will still keep the oldest unfinished
	// record (24 h less Age). Records are lost at zero.
	ToHorizon time.Duration
	// Pending is how many records are read and not finished. The shard may have more records that
	// are not read, unless CaughtUp is set.
	Pending int
	// CaughtUp says that every record that was read is finished, and that the newest pages of the
	// shard were empty. One empty page is not enough.
	CaughtUp bool
}
