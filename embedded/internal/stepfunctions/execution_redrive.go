package stepfunctions

import (
	"context"
	"errors"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

func (s *Service) redriveExecution(_ context.Context, in *struct{ ExecutionArn string }) (any, error) {
	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	var redriven int64

	batch, err := s.revive(m, key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		if st.Child != nil {
			return nil, &execution.NotRedrivableError{Reason: "Execution was started by a Map Run and can only be redriven with it"}
		}

		turn, err := env.Redrive(st)
		redriven = st.Redriven

		return turn, err
	})
	if syncErr := syncBatch(batch); syncErr != nil {
		return nil, errors.Join(err, syncErr)
	}

	var refused *execution.NotRedrivableError
	if errors.As(err, &refused) {
		return nil, wire.Errorf("ExecutionNotRedrivable", "%s", refused.Reason)
	}

	return map[string]any{"redriveDate": stamp(redriven)}, err
}

// revive applies a stimulus that lets an ended execution run again. As at a start, s.mu is held for
// reading, so that none runs in a machine that is being deleted.
func (s *Service) revive(m *machine, key executionKey, apply stimulus) (*store.Batch, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if now := s.machines[m.Name]; now == nil || now.ID != m.ID || now.Deleting {
		return nil, &execution.NotRedrivableError{Reason: "Execution cannot be redriven because its state machine is being deleted"}
	}

	return s.stimulate(key, apply)
}
