package stepfunctions

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
)

// Limits of timers.
const (
	timersAtATime = 128             // executions whose timers fire side by side; others wait
	timerRetry    = 5 * time.Second // the wait before a timer that failed is tried again
)

// roomRetry is the wait between two looks at a full disk.
const roomRetry = time.Second

// waitForRoom waits while the disk is full, so that no execution fails because of it. It returns false if
// ctx ends.
func (s *Service) waitForRoom(ctx context.Context) bool {
	for s.db.HasRoom() != nil {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(roomRetry):
		}
	}

	return true
}

// Run finishes deletions that a crash has interrupted, fires timers, makes the calls of service
// integrations, runs Express executions and advances Map Runs until ctx ends. It returns nil; errors go to
// the log.
func (s *Service) Run(ctx context.Context) error {
	if err := s.finishDeletions(ctx); err != nil {
		// Not fatal: the machine stays marked, and the next Run tries again.
		s.log.Error("step functions: finish deletions", "error", err)
	}

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.runCalls(ctx) })
	g.Go(func() error { return s.runTimers(ctx) })
	g.Go(func() error { return s.runExpresses(ctx) })
	g.Go(func() error { return s.runWatches(ctx) })
	g.Go(func() error { return s.runMapRuns(ctx) })

	return g.Wait()
}

// runTimers fires timers until ctx ends, and then waits for the ticks that are running. An execution whose
// expressions take long delays its own timers only.
func (s *Service) runTimers(ctx context.Context) error {
	var firing errgroup.Group
	firing.SetLimit(timersAtATime)

	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()

	for ctx.Err() == nil {
		// Taken before the clock is read, so that no shift is missed.
		shifted := s.cfg.Clock.Shifted()

		var due []keys.Execution
		// While the disk is full, no timer is taken: its turn could not be stored.
		next := s.cfg.Clock.Now().Add(roomRetry).UnixMilli()

		if s.db.HasRoom() == nil {
			due, next = s.timers.Pop(s.cfg.Clock.Now().UnixMilli(), timersAtATime)
		}

		for _, key := range due {
			firing.Go(func() error {
				s.tick(ctx, key)
				return nil
			})
		}

		// More timers than timersAtATime may be due.
		if len(due) > 0 {
			continue
		}

		wait := time.Hour
		if next != 0 {
			wait = min(wait, s.cfg.Clock.Until(time.UnixMilli(next)))
		}

		alarm.Reset(wait)

		select {
		case <-ctx.Done():
		case <-s.timers.Wake:
		case <-shifted:
		case <-alarm.C:
		}
	}

	return firing.Wait()
}

// tick fires the timers of an execution that are due. The lock of the execution keeps their order.
func (s *Service) tick(ctx context.Context, key keys.Execution) {
	batch, err := s.stimulate(ctx, key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		return env.Tick(st)
	})
	// A deleted execution needs no timer any more.
	if err != nil && !errors.Is(err, requests.ErrNoExecution) {
		// The end of ctx interrupts an evaluation, which is no fault.
		if ctx.Err() == nil {
			s.log.Error("step functions: timer", "machine", key.Machine, "execution", key.ID, "error", err)
		}

		// pop has removed the timer, and only a turn that is stored sets it again.
		s.timers.Set(key, s.cfg.Clock.Now().Add(timerRetry).UnixMilli())
	}

	if err := syncBatch(batch); err != nil {
		s.log.Error("step functions: timers to disk", "error", err)
	}
}
