package streams

import (
	"context"
	"maps"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// A record that ends the process, for example because its handler runs out of memory, leaves no
// failed call behind. But the worker that takes the lease sees that the former owner has not given
// it back. When this has happened suspectAfter times in a row without progress, the lease is
// suspect. The record is then found in two steps:
//
//   - The records of a shard are handed out suspectBatch at a time, and the batch is stored before
//     its first call. For a suspect retry queue, each record is stored before its call.
//   - If a worker ends again, the stored batch or record is tried alone: one record at a time, while
//     no other handler call of a poller runs in this process. Each record is stored before its call.
//
// A record becomes a dead letter when calls for it that ran alone have ended maxDeaths processes.
// While no lease is suspect, all of this costs no write.
const (
	maxDeaths    = 3
	suspectBatch = 32

	// A shard is suspect for suspectWindows times Config.maxPending records, or until it is caught
	// up. If workers die at a later record, the shard becomes suspect again, with a newer
	// checkpoint.
	suspectWindows = 2

	// The lease of a retry queue is suspect until it has been held for Retry.Max and
	// suspectQueueFor: in that time every record of the queue becomes due.
	suspectQueueFor = 5 * time.Minute

	// alonePause is the pause before the next try of enterAlone.
	alonePause = 10 * time.Millisecond

	// callEnds is how much longer than its timeout a call may take before enterAlone stops waiting
	// for it. During the wait no other call begins. After it, the others run for the same time
	// before the next try.
	callEnds = 5 * time.Second
)

// suspectAfter is how many deaths of holders without progress make a lease suspect.
const suspectAfter = 3

// tryNote says which records of a suspect shard are being tried: a batch, or one record of a batch
// that has ended a worker. A tryNote is never modified.
type tryNote struct {
	upTo     string         // last record of the batch
	sequence string         // the record that is tried alone; "" for none
	tries    map[string]int // how many calls for sequence were begun and did not return, by handler
}

// with returns a copy of the note for the record, with tries as the number of tries of the handler.
func (n *tryNote) with(sequence, handler string, tries int) *tryNote {
	next := &tryNote{upTo: n.upTo, sequence: sequence, tries: map[string]int{}}
	if n.sequence == sequence {
		maps.Copy(next.tries, n.tries)
	}

	if next.tries[handler] = tries; tries == 0 {
		delete(next.tries, handler)
	}

	return next
}

// of returns how many calls of the handler for the record did not return.
func (n *tryNote) of(sequence, handler string) int {
	if n.sequence != sequence {
		return 0
	}

	return n.tries[handler]
}

// inBatch reports whether the record belongs to the batch that has ended a worker.
func (n *tryNote) inBatch(sequence string) bool {
	return n.upTo != "" && compareSequence(sequence, n.upTo) <= 0
}

// decodeTryNote returns the note of a lease, nil if it has none.
func decodeTryNote(row dynamo.Item) *tryNote {
	note := &tryNote{upTo: dynamo.Text(row, leaseTryingTo), sequence: dynamo.Text(row, leaseTrying), tries: map[string]int{}}
	if note.upTo == "" {
		return nil
	}

	if stored, ok := row[leaseTries].(*ddbtypes.AttributeValueMemberM); ok {
		for handler := range stored.Value {
			note.tries[handler] = int(dynamo.Number(stored.Value, handler))
		}
	}

	return note
}

// addTo adds the note n to an update of the lease. If n is nil, the update removes the stored note.
func (n *tryNote) addTo(update *dynamo.Update, stored *tryNote) {
	if n == nil {
		if stored != nil {
			update.RemoveAttribute(leaseTryingTo).RemoveAttribute(leaseTrying).RemoveAttribute(leaseTries)
		}

		return
	}

	tries := dynamo.Item{}
	for handler, count := range n.tries {
		tries[handler] = dynamo.N(int64(count))
	}

	for name, value := range map[string]string{leaseTryingTo: n.upTo, leaseTrying: n.sequence} {
		if value != "" {
			update.SetValue(name, dynamo.S(value))
		} else {
			update.RemoveAttribute(name)
		}
	}
	update.SetValue(leaseTries, dynamo.M(tries))
}

// isTried reports whether a call for the record that is tried alone has begun and not returned.
func (n *tryNote) isTried() bool { return n != nil && len(n.tries) > 0 }

// suspectShard is the state of the search in a suspect shard.
type suspectShard struct {
	died  *tryNote // the note of the lease when it was taken, whose batch is tried alone; nil: none
	left  int      // how many more records are handed out in batches or alone; used by the reader only
	begin func(context.Context, *tryNote) error
	ended func(*tryNote)

	// note is what the lease has stored. The reader uses it between batches, and the call that is
	// tried alone uses it while it runs: never both at once.
	note *tryNote
}

func newSuspectShard(l Lease, left int) *suspectShard {
	s := &suspectShard{died: l.trying, left: left, note: l.trying}
	if s.note == nil {
		s.note = &tryNote{}
	}

	return s
}

// triesAlone reports whether the record is tried alone.
func (s *suspectShard) triesAlone(sequence string) bool {
	return s.died != nil && s.died.inBatch(sequence)
}

// beginBatch returns the batch that is handed out next: the first of the records. It stores a note
// about the batch, except for a record that is tried alone, which tryAlone notes.
func (s *suspectShard) beginBatch(ctx context.Context, shard *shardLanes, records []Record) ([]Record, error) {
	if s.triesAlone(records[0].SequenceNumber) {
		return records[:1], nil
	}
	// At most left: after that number of records the shard is not suspect any more.
	batch := records[:min(len(records), suspectBatch, s.left)]
	note := &tryNote{upTo: batch[len(batch)-1].SequenceNumber}

	for try := 1; ; try++ {
		call, cancel := shard.withinLease()
		err := s.begin(call, note)
		cancel()

		if err == nil {
			s.note = note
			return batch, nil
		}

		if !readBackoff.Wait(ctx, try) {
			return nil, ctx.Err()
		}
	}
}

// isSuspect reports whether the lease is suspect: its holders have died several times without
// progress, or a holder has died during a noted try.
func (l Lease) isSuspect() bool { return l.deathsSoFar() >= suspectAfter || l.trying != nil }

// deathsSoFar returns how many holders in a row have died since the checkpoint last moved.
func (l Lease) deathsSoFar() int64 {
	if l.deathsAt != l.Checkpoint {
		return 0
	}

	return l.deaths
}

// tryAlone makes a try for the first record of a lane, which belongs to a batch that has ended a
// worker. No other handler call runs in this process at the same time, so only this record can
// cause a death.
func (s *laneScheduler) tryAlone(l *lane, h *Handler, d *delivery, suspect *suspectShard) (done bool, pause time.Duration) {
	if pause := s.calls.enterAlone(); pause > 0 {
		return false, pause
	}
	defer s.calls.leaveAlone()

	sequence := d.record.SequenceNumber

	deaths := suspect.note.of(sequence, h.Name)
	if deaths >= maxDeaths {
		d.attempts, d.err, d.giveUp = deaths, errProcessEnded, true
		return false, 0
	}

	ctx, cancel := l.shard.withinLease()
	defer cancel()

	// Stored before the call, because the call may end the process.
	note := suspect.note.with(sequence, h.Name, deaths+1)
	if err := suspect.begin(ctx, note); err != nil {
		return false, h.Retry.Base
	}

	done, pause = s.tryHandler(l, h, d)
	// The call has returned, so the record did not end the process.
	suspect.note = note.with(sequence, h.Name, 0)
	suspect.ended(suspect.note)

	return done, pause
}

// longestCall is how long a handler call may take before enterAlone stops waiting for it.
func longestCall(handlers []Handler) time.Duration {
	longest := time.Duration(0)
	for i := range handlers {
		longest = max(longest, handlers[i].Timeout)
	}

	return longest + callEnds
}
