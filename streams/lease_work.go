package streams

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"ratchet/internal/worker"
)

// finalWriteBackoff is the pause between tries of a lease's last write.
var finalWriteBackoff = worker.Backoff{Base: 10 * time.Millisecond, Max: 200 * time.Millisecond}

// leaseWork is the work under one lease, of a shard or of a retry queue: it keeps the lease while
// records are read and handlers run, and gives it back at the end.
//
// It has two contexts. reading ends at a stop or a hand-over; running handlers may then finish.
// work is the parent of the handlers' contexts; it ends when the lease is lost or the drain takes
// too long.
type leaseWork struct {
	name  string // of the shard or of the queue's handler
	shard string // "" for a retry queue
	lease *heldLease
	fault func(op, shard string, err error)
	log   *slog.Logger

	// drain waits until no handler runs. It cancels the work if that takes too long.
	drain func(context.CancelCauseFunc)

	// every is the time between two looks at the lease. look is called at each of them. due reports
	// whether the progress is to be written now. progress returns what there is to store.
	every    time.Duration
	look     func(now time.Time)
	due      func(p progress, now time.Time) bool
	progress func() progress

	reading     context.Context
	stopReading context.CancelFunc
	work        context.Context
	cancelWork  context.CancelCauseFunc

	writing callLock                 // held while progress is written
	stored  atomic.Pointer[progress] // the newest progress that was written
	touched chan struct{}            // a value: write the lease at once
	logged  worker.LogThrottle
}

// begin prepares the contexts. When ctx ends, the work drains.
func (w *leaseWork) begin(ctx context.Context) {
	w.touched, w.writing = make(chan struct{}, 1), newCallLock()
	w.stored.Store(&progress{})
	w.reading, w.stopReading = context.WithCancel(ctx)
	// The running handlers must not be canceled when ctx ends.
	w.work, w.cancelWork = context.WithCancelCause(context.WithoutCancel(ctx))
}

// run calls read, drains the lanes, and ends the lease with the write that last returns for the
// result of read. It reports whether that write was made.
func (w *leaseWork) run(read func(context.Context) error, last func(end error) progress) (given bool, end error) {
	defer w.cancelWork(ErrStopped)
	defer w.stopReading()

	// The lease is kept until the drain is over, which is later than the end of reading.
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(w.reading))
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		w.keep(keeping)
	}()

	end = read(w.reading)
	w.drain(w.cancelWork)

	// keep must not write after the last write, which stores the progress as it is after the drain.
	stopKeeping()
	<-kept

	return w.giveBack(last(end)), end
}

// keep looks after the lease until ctx ends or the lease is lost.
func (w *leaseWork) keep(ctx context.Context) {
	tick := time.NewTicker(max(w.every, time.Millisecond))
	defer tick.Stop()

	for touched := false; ; touched = false {
		select {
		case <-ctx.Done():
			return
		case <-w.touched:
			touched = true
		case <-tick.C:
		}

		now := time.Now()
		w.look(now)

		// Checked before each write, too: after a suspension the calls end although a renewal
		// would succeed.
		ours := w.lease.valid(now)
		if ours && (touched || w.due(w.progress(), now)) {
			ours = w.writeLease(ctx)
		}

		if !ours {
			w.lose()
			return
		}
	}
}

// lose ends the work because the lease is lost.
func (w *leaseWork) lose() {
	w.cancelWork(ErrLeaseLost)
	w.stopReading()
}

// touch makes the lease be written at once.
func (w *leaseWork) touch() { nudge(w.touched) }

// writeLease writes the lease once. It reports whether the lease is still ours.
func (w *leaseWork) writeLease(ctx context.Context) bool {
	call, cancel := context.WithDeadline(ctx, w.lease.nextDeadline(time.Now()))
	defer cancel()

	err := w.writeProgress(call)
	switch {
	case err == nil:
	case errors.Is(err, ErrLeaseLost):
		return false
	case ctx.Err() == nil:
		w.fault("UpdateItem", w.shard, err)

		if w.logged.Allow() {
			w.log.Warn("writing a lease failed; retrying", "lease", w.name, "err", err)
		}
	}

	return w.lease.valid(time.Now())
}

// writeProgress writes the current progress. Writes go one at a time, so that no write stores older
// progress than the write before.
func (w *leaseWork) writeProgress(ctx context.Context) error {
	w.writing.lock()
	defer w.writing.unlock()

	p := w.progress()

	err := w.lease.write(ctx, p)
	if err == nil {
		w.stored.Store(&p)
	}

	return err
}

func (w *leaseWork) isStored(p progress) bool { return p == *w.stored.Load() }

// giveBack makes the last write of the lease. It reports false if the lease is lost, or if the write
// was not made in time: then the lease expires, and others take it over later.
func (w *leaseWork) giveBack(last progress) bool {
	// The lease may be another worker's by now, so this worker must not write it.
	if errors.Is(context.Cause(w.work), ErrLeaseLost) {
		return false
	}

	ctx, cancel := context.WithDeadline(context.WithoutCancel(w.reading), w.lease.stopBy())
	defer cancel()

	for try := 1; ; try++ {
		err := w.lease.write(ctx, last)
		if err == nil {
			return true
		}

		if errors.Is(err, ErrLeaseLost) || ctx.Err() != nil {
			return false
		}

		w.fault("UpdateItem", w.shard, err)
		finalWriteBackoff.Wait(ctx, try)
	}
}
