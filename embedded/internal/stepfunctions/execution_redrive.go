package stepfunctions

import (
	"context"
	"errors"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/wire"
)

func (s *Service) redriveExecution(_ context.Context, in *struct{ ExecutionArn string }) (any, error) {
	key, _, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	var redriven int64

	batch, err := s.stimulate(key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
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
