package streams

import (
	"context"
	"maps"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// A record that ends the process, for example because its handler runs out of memory, leaves no
// failed call behind. But the next worker sees that the owner has not given the lease up.
// When that has happened suspectAfter times in a row without progress, the lease is suspect.
// The record is then found in two steps:
//
//   - The records of a shard are handed out suspectBatch at a time, and the batch is stored before
//     its first call. For a suspect retry queue, each record is stored before its call.
//   - If a worker ends nevertheless, the stored batch or record is tried alone: one record at a time,
//     while no other handler call of a poller runs in this process. The record is stored before the call.
//
// A record whose calls alone have ended maxDeaths processes is given up. None of this costs a write
// while leases are not suspect.
const (
	suspectAfter = 3
	maxDeaths    = 3
	suspectBatch = 32

	// A shard is suspect for so many times Config.MaxPending records, unless it is caught up before.
	// If the workers die at a later record, it is suspect again, from a newer checkpoint.
	suspectWindows = 2

	// The lease of a retry queue is suspect until it has been held for Retry.Max and so much longer:
	// in that time every record of the queue comes up.
	suspectQueueFor = 5 * time.Minute

	// alonePause is the pause before the next try to be the only call.
	alonePause = 10 * time.Millisecond

	// callEnds is how much longer than its timeout a call may take. A call that ignores its context keeps
	// the others from running for so long; then they run for the same time.
	callEnds = 5 * time.Second
)

// tryNote says which records of a suspect shard are being tried: a batch, or one record of a batch
// that has ended a worker. It does not change.
type tryNote struct {
	upTo     string         // last record of the batch
	sequence string         // the record that is tried alone; "" for none
	tries    map[string]int // how many calls for it were begun and did not return, by handler
}

// with returns a note about the record, with a number of tries of the handler.
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

// addTo makes an update of the lease store the note n, or remove the stored note if n is nil.
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
	died  *tryNote // as the lease had it when it was taken; its batch is tried alone; nil for none
	left  int      // records that are handed out in batches or alone; used by the reader only
	begin func(context.Context, *tryNote) error
	ended func(*tryNote)

	// note is stored in the lease. The reader uses it between batches, and so does the only call that is
	// tried alone, while it runs.
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

// beginBatch stores the batch that is handed out next, and returns it: the first of the records.
func (s *suspectShard) beginBatch(ctx context.Context, shard *shardLanes, records []Record) ([]Record, error) {
	if s.triesAlone(records[0].SequenceNumber) {
		return records[:1], nil
	}
	// Not above left: after that number of records the shard is not suspect any more.
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

// isSuspect reports whether the workers that held the lease have died several times without
// progress, or during a call that was noted.
func (l Lease) isSuspect() bool { return l.deathsSoFar() >= suspectAfter || l.trying != nil }

// deathsSoFar returns how many holders in a row have not given the lease up, with the checkpoint
// where it is.
func (l Lease) deathsSoFar() int64 {
	if l.deathsAt != l.Checkpoint {
		return 0
	}

	return l.deaths
}

// tryAlone makes a try for the first record of a lane, which belongs to a batch that has ended a worker.
// No other handler call runs at the same time in this process, so that a death is blamed on one record.
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

	// Stored before the call: the process may not live to store it afterwards.
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

// longestCall is how long a handler call may take.
func longestCall(cfg *Config) time.Duration {
	longest := time.Duration(0)
	for i := range cfg.Handlers {
		longest = max(longest, cfg.Handlers[i].Timeout)
	}

	return longest + callEnds
}
