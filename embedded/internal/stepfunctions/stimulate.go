package stepfunctions

import (
	"bytes"
	"context"
	"errors"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/store"
)

// stimulus changes an execution's state and returns the turn that results.
type stimulus func(env *execution.Env, st *execution.State) (*execution.Turn, error)

// stimulate applies a stimulus under the execution's lock and makes its effect visible. The caller syncs
// the batch, outside the lock, before it answers. Expressions that take long end with ctx, and nothing is
// changed then. The batch may be nil. There may be a batch beside an
// error, because timers that were due count even if the stimulus failed.
func (s *Service) stimulate(ctx context.Context, key keys.Execution, apply stimulus) (*store.Batch, error) {
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()

	before, st, err := s.loadExecution(key)
	if err != nil {
		return nil, err
	}

	rev, err := s.machines.Revision(mapruns.Owner(key, st), st.Revision)
	if err != nil {
		return nil, err
	}

	env := s.env(key, st, rev)
	env.Life = ctx

	turn, applied := apply(env, st)
	if turn == nil {
		return nil, applied
	}

	after := execution.AppendState(nil, st)
	// Nothing has changed, as after a tick that came too early.
	// runTimers has taken the timer, so it is set again.
	if len(turn.Events) == 0 && bytes.Equal(before, after) {
		s.timers.Set(key, st.NextTimer())
		return nil, applied
	}
	batch, err := s.storeTurn(key, before, st, after, turn, nil)

	return batch, errors.Join(applied, err)
}

// syncBatch syncs a batch that stimulate has returned, which may be nil.
func syncBatch(batch *store.Batch) error {
	if batch == nil {
		return nil
	}
	return batch.Sync()
}
