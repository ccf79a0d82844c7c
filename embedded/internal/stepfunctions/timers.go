package stepfunctions

import (
	"context"
	"sync"
	"time"

	"ratchet/embedded/internal/ordered"
	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
)

// timers knows when each execution next needs a tick: one entry for each that
// waits for a time, no goroutine.
type timers struct {
	mu   sync.Mutex
	due  ordered.Keys[executionKey]
	wake chan struct{} // something is due earlier than before
}

// set notes when the execution needs a tick; 0 means never.
func (t *timers) set(key executionKey, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if at == 0 {
		t.due.Remove(key)
		return
	}
	t.due.Set(key, at)

	if first, _, _ := t.due.Min(); first == key {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// pop takes out up to most executions that are due, and says when the next one is.
func (t *timers) pop(now int64, most int) (keys []executionKey, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()

	for {
		key, at, ok := t.due.Min()
		if !ok {
			return keys, 0
		}

		if at > now || len(keys) == most {
			return keys, at
		}
		t.due.Remove(key)
		keys = append(keys, key)
	}
}

// Limits of the timer loop.
const (
	timerBatch = 128             // ticks that share a flush to disk
	timerRetry = 5 * time.Second // before a tick that failed is tried again
)

// Run fires timers until ctx ends, and finishes deletions that a crash had
// interrupted. It returns nil.
func (s *Service) Run(ctx context.Context) error {
	if err := s.finishDeletions(); err != nil {
		s.log.Error("step functions: finish deletions", "error", err)
	}
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()

	for ctx.Err() == nil {
		keys, next := s.timers.pop(time.Now().UnixMilli(), timerBatch)
		if len(keys) > 0 {
			s.tick(keys)
			continue
		}

		wait := time.Hour
		if next != 0 {
			wait = min(wait, time.Until(time.UnixMilli(next)))
		}
		alarm.Reset(wait)

		select {
		case <-ctx.Done():
		case <-s.timers.wake:
		case <-alarm.C:
		}
	}

	return nil
}

// tick fires the timers of several executions with one flush.
func (s *Service) tick(keys []executionKey) {
	batches := make([]*store.Batch, 0, len(keys))
	for _, key := range keys {
		batch, err := s.stimulate(key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
			return env.Tick(st)
		})
		if err != nil {
			s.log.Error("step functions: timer", "machine", key.machine, "execution", key.id, "error", err)
			s.timers.set(key, time.Now().Add(timerRetry).UnixMilli())
		}

		if batch != nil {
			batches = append(batches, batch)
		}
	}

	for _, batch := range batches {
		if err := batch.Sync(); err != nil {
			s.log.Error("step functions: timers to disk", "error", err)
		}
	}
}
