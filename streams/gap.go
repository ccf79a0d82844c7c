package streams

import "time"

// horizon is how long DynamoDB Streams keeps a record.
const horizon = 24 * time.Hour

// GapPolicy says what to do after records were trimmed before they were read.
type GapPolicy int

const (
	// GapContinue declares the gap and continues with the oldest record left.
	GapContinue GapPolicy = iota
	// GapHalt declares the gap and ends Run with a *GapError. Records after the
	// gap are not handled until the poller is started with GapContinue.
	GapHalt
)

// Gap is a range of a shard that was trimmed before it was read. The lost records
// cannot be read again; compare with the table itself to repair what depends on
// them.
type Gap struct {
	Shard string
	// From is the last sequence number that was read before the gap, "" if the
	// shard was never read. To is the first sequence number after the gap, "" if
	// it is not known yet.
	From string
	To   string
	// Since is when the last record before the gap was created, as far as known.
	// Until is when the gap was noticed. The lost records were written in between.
	Since time.Time
	Until time.Time
}

// GapError ends Run under GapHalt.
type GapError struct{ Gap Gap }

func (e *GapError) Error() string {
	from := e.Gap.From
	if from == "" {
		from = "its start"
	}

	return "streams: records of shard " + e.Gap.Shard + " after " + from +
		" were trimmed before they were read; repair from the table, then start with GapContinue"
}
