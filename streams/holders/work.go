package holders

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// Work is the work under one lease, of a shard or of a retry queue: it keeps the lease while
// records are read and handlers run, and gives it back at the end.
//
// It has two contexts. reading ends at a stop or a hand-over; running handlers may then finish.
// work is the parent of the handlers' contexts; it ends when the lease is lost or the drain takes
// too long.
type Work struct {
	Name  string // of the shard or of the queue's handler
	Shard string // "" for a retry queue
	Lease *Held
	Fault func(op, shard string, err error)
	Log   *slog.Logger

	// Drain waits until no handler runs. It cancels the work if that takes too long.
	Drain func(context.CancelCauseFunc)

	// Every is the time between two looks at the lease. look is called at each of them. due reports
	// whether the progress is to be written now. progress returns what there is to store.
	Every    time.Duration
	Look     func(now time.Time)
	Due      func(p leases.Progress, now time.Time) bool
	Progress func() leases.Progress

	reading     context.Context
	StopReading context.CancelFunc
	Running     context.Context
	cancelWork  context.CancelCauseFunc

	writing worker.CallLock                 // held while progress is written
	stored  atomic.Pointer[leases.Progress] // the newest progress that was written
	touched chan struct{}                   // a value: write the lease at once
	logged  worker.LogThrottle
}

// Begin prepares the contexts. When ctx ends, the work drains.
func (w *Work) Begin(ctx context.Context) {
	w.touched, w.writing = make(chan struct{}, 1), worker.NewCallLock()
	w.stored.Store(&leases.Progress{})
	w.reading, w.StopReading = context.WithCancel(ctx)
	// The running handlers must not be canceled when ctx ends.
	w.Running, w.cancelWork = context.WithCancelCause(context.WithoutCancel(ctx))
}

// Run calls read, drains the lanes, and ends the lease with the write that last returns for the
// result of read. It reports whether that write was made.
func (w *Work) Run(read func(context.Context) error, last func(end error) leases.Progress) (given bool, end error) {
	defer w.cancelWork(streams.ErrStopped)
	defer w.StopReading()

	// The lease is kept until the drain is over, which is later than the end of reading.
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(w.reading))
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		w.keep(keeping)
	}()

	end = read(w.reading)
	w.Drain(w.cancelWork)

	// keep must not write after the last write, which stores the progress as it is after the drain.
	stopKeeping()
	<-kept

	return w.giveBack(last(end)), end
}

// keep looks after the lease until ctx ends or the lease is lost.
func (w *Work) keep(ctx context.Context) {
	tick := time.NewTicker(max(w.Every, time.Millisecond))
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
		w.Look(now)

		// Checked before each write, too: after a suspension the calls end although a renewal
		// would succeed.
		ours := w.Lease.Valid(now)
		if ours && (touched || w.Due(w.Progress(), now)) {
			ours = w.writeLease(ctx)
		}

		if !ours {
			w.Lose()
			return
		}
	}
}

// Lose ends the work because the lease is lost.
func (w *Work) Lose() {
	w.cancelWork(streams.ErrLeaseLost)
	w.StopReading()
}

// Touch makes the lease be written at once.
func (w *Work) Touch() { worker.Nudge(w.touched) }

// writeLease writes the lease once. It reports whether the lease is still ours.
func (w *Work) writeLease(ctx context.Context) bool {
	call, cancel := context.WithDeadline(ctx, w.Lease.NextDeadline(time.Now()))
	defer cancel()

	err := w.WriteProgress(call)
	switch {
	case err == nil:
	case errors.Is(err, streams.ErrLeaseLost):
		return false
	case ctx.Err() == nil:
		w.Fault("UpdateItem", w.Shard, err)

		if w.logged.Allow() {
			w.Log.Warn("writing a lease failed; retrying", "lease", w.Name, "err", err)
		}
	}

	return w.Lease.Valid(time.Now())
}

// WriteProgress writes the current progress. Writes go one at a time, so that no write stores older
// progress than the write before.
func (w *Work) WriteProgress(ctx context.Context) error {
	w.writing.Lock()
	defer w.writing.Unlock()

	p := w.Progress()

	err := w.Lease.Write(ctx, p)
	if err == nil {
		w.stored.Store(&p)
	}

	return err
}

// IsStored reports whether what was done is stored in the lease.
func (w *Work) IsStored(p leases.Progress) bool { return p == *w.stored.Load() }

// giveBack makes the last write of the lease. It reports false if the lease is lost, or if the write
// was not made in time: then the lease expires, and others take it over later.
func (w *Work) giveBack(last leases.Progress) bool {
	// The lease may be another worker's by now, so this worker must not write it.
	if errors.Is(context.Cause(w.Running), streams.ErrLeaseLost) {
		return false
	}

	ctx, cancel := context.WithDeadline(context.WithoutCancel(w.reading), w.Lease.StopBy())
	defer cancel()

	for try := 1; ; try++ {
		err := w.Lease.Write(ctx, last)
		if err == nil {
			return true
		}

		if errors.Is(err, streams.ErrLeaseLost) || ctx.Err() != nil {
			return false
		}

		w.Fault("UpdateItem", w.Shard, err)
		store.WriteBackoff.Wait(ctx, try)
	}
}
