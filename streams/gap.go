package streams

import "time"

// GapPolicy says what to do after records were trimmed before they were read.
type GapPolicy int

const (
	// GapContinue declares the gap and continues with the oldest record left.
	GapContinue GapPolicy = iota
	// GapHalt declares the gap and ends Run with a *GapError. Records after the
	// gap are not handled until the poller is started with GapContinue.
	GapHalt
)

// GapReason says why records were not read.
type GapReason string

// Why records were not read.
const (
	GapTrimmed  GapReason = "trimmed"         // the service had trimmed them
	GapUnread   GapReason = "unread"          // the shard had no reader for more than 24 hours
	GapGone     GapReason = "shard gone"      // the shard or its stream does not exist any more
	GapParent   GapReason = "parent gone"     // the parent was trimmed before it was read, maybe with some of its ancestors
	GapReplaced GapReason = "stream replaced" // changes between two streams of a table make no records
	GapQueue    GapReason = "queue rows gone" // rows of the retry queue, deleted by someone else
)

// Gap is a range of a shard, or a time between two streams, whose records were not read and cannot
// be read any more. In some cases it is not known whether the gap has any records. Rebuild gives
// handlers the changes that the table still proves.
type Gap struct {
	Reason GapReason
	Stream string
	Shard  string // "" between two streams
	// From is the last sequence number that was read before the gap, "" if the
	// shard was never read. To is the first sequence number after the gap, "" if
	// it is not known yet.
	From string
	To   string
	// Since is when the last record before the gap was created; zero if that is not known, as under
	// GapParent, because the ancestors of a shard that is not listed any more are unknown. Until is when
	// the gap was noticed. The lost records were written in between.
	Since time.Time
	Until time.Time
	// Handler and Item are, under GapQueue, the handler that misses the records and the primary key
	// of their item, as in logs. The gap has no shard then.
	Handler string
	Item    string
}

// GapError ends Run under GapHalt.
type GapError struct{ Gap Gap }

func (e *GapError) Error() string {
	const hint = "; repair from the table, then start with GapContinue"

	if e.Gap.Reason == GapReplaced {
		return "streams: stream " + e.Gap.Stream + " was replaced, and changes in between made no records" + hint
	}

	if e.Gap.Reason == GapQueue {
		return "streams: records of item " + e.Gap.Item + " that waited for handler " + e.Gap.Handler +
			" are gone from the retry queue" + hint
	}

	from := e.Gap.From
	if from == "" {
		from = "its start"
	}

	return "streams: records of shard " + e.Gap.Shard + " after " + from +
		" were trimmed before they were read" + hint
}
