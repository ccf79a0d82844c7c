package lanes

import (
	"context"
	"errors"
	"time"

	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// A record that ends the process, for example because its handler runs out of memory, leaves no
// failed call behind. But the worker that takes the lease sees that the former owner has not given
// it back. When this has happened leases.SuspectAfter times in a row without progress, the lease is
// suspect. The record is then found in two steps:
//
//   - The records of a shard are handed out suspectBatch at a time, and the batch is stored before
//     its first call. For a suspect retry queue, each record is stored before its call.
//   - If a worker ends again, the stored batch or record is tried alone: one record at a time, while
//     no other handler call of a poller runs in this process. Each record is stored before its call.
//
// A record becomes a dead letter when calls for it that ran alone have ended MaxDeaths processes.
// While no lease is suspect, all of this costs no write.
const (
	MaxDeaths    = 3
	suspectBatch = 32

	// A shard is suspect for SuspectWindows times Config.maxPending records, or until it is caught
	// up. If workers die at a later record, the shard becomes suspect again, with a newer
	// checkpoint.
	SuspectWindows = 2

	// The lease of a retry queue is suspect until it has been held for Retry.Max and
	// SuspectQueueFor: in that time every record of the queue becomes due.
	SuspectQueueFor = 5 * time.Minute

	// AlonePause is the pause before the next try of enterAlone.
	AlonePause = 10 * time.Millisecond

	// callEnds is how much longer than its timeout a call may take before enterAlone stops waiting
	// for it. During the wait no other call begins. After it, the others run for the same time
	// before the next try.
	callEnds = 5 * time.Second
)

// Suspect is the state of the search in a suspect shard.
type Suspect struct {
	died  *leases.TryNote // the note of the lease when it was taken, whose batch is tried alone; nil: none
	Left  int             // how many more records are handed out in batches or alone; used by the reader only
	Begin func(context.Context, *leases.TryNote) error
	Ended func(context.Context, *leases.TryNote)

	// note is what the lease has stored. The reader uses it between batches, and the call that is
	// tried alone uses it while it runs: never both at once.
	note *leases.TryNote
}

// NewSuspect returns what a suspect lease says about records.
func NewSuspect(l leases.Lease, left int) *Suspect {
	s := &Suspect{died: l.Trying, Left: left, note: l.Trying}
	if s.note == nil {
		s.note = &leases.TryNote{}
	}

	return s
}

// triesAlone reports whether the record is tried alone.
func (s *Suspect) triesAlone(sequence string) bool {
	return s.died != nil && s.died.InBatch(sequence)
}

// BeginBatch returns the batch that is handed out next: the first of the records. It stores a note
// about the batch, except for a record that is tried alone, which tryAlone notes.
func (s *Suspect) BeginBatch(ctx context.Context, shard *Shard, records []streams.Record) ([]streams.Record, error) {
	if s.triesAlone(records[0].SequenceNumber) {
		return records[:1], nil
	}
	// At most left: after that number of records the shard is not suspect any more.
	batch := records[:min(len(records), suspectBatch, s.Left)]
	note := &leases.TryNote{UpTo: batch[len(batch)-1].SequenceNumber}

	for try := 1; ; try++ {
		call, cancel := shard.WithinLease()
		err := s.Begin(call, note)
		cancel()

		if err == nil {
			s.note = note
			return batch, nil
		}

		if !store.Backoff.Wait(ctx, try) {
			return nil, ctx.Err()
		}
	}
}

// tryAlone makes a try for the first record of a lane, which belongs to a batch that has ended a
// worker. No other handler call runs in this process at the same time, so only this record can
// cause a death.
func (s *Scheduler) tryAlone(l *lane, h *streams.Handler, d *delivery, suspect *Suspect) (done bool, pause time.Duration) {
	if pause := s.Cfg.Calls.EnterAlone(); pause > 0 {
		return false, pause
	}
	defer s.Cfg.Calls.LeaveAlone()

	sequence := d.record.SequenceNumber

	deaths := suspect.note.Of(sequence, h.Name)
	if deaths >= MaxDeaths {
		d.attempts, d.err, d.giveUp = deaths, ErrProcessEnded, true
		return false, 0
	}

	ctx, cancel := l.shard.WithinLease()
	defer cancel()

	// Stored before the call, because the call may end the process.
	note := suspect.note.With(sequence, h.Name, deaths+1)
	if err := suspect.Begin(ctx, note); err != nil {
		return false, h.Retry.Base
	}

	done, pause = s.tryHandler(l, h, d)
	// The call has returned, so the record did not end the process. Stored before the next call begins: if that one ends the
	// process, this record would count the death.
	suspect.note = note.With(sequence, h.Name, 0)
	suspect.Ended(l.shard.Work, suspect.note)

	return done, pause
}

// longestCall is how long a handler call may take before enterAlone stops waiting for it.
func longestCall(handlers []streams.Handler) time.Duration {
	longest := time.Duration(0)
	for i := range handlers {
		longest = max(longest, handlers[i].Timeout)
	}

	return longest + callEnds
}

// ErrProcessEnded is the error of a record that became a dead letter because several processes
// ended during calls for it.
var ErrProcessEnded = errors.New("streams: the process ended during the call")
