package stepfunctions

import (
	"context"
	"errors"

	"ratchet/embedded/internal/stepfunctions/execution"
)

func (s *Service) stopExecution(_ context.Context, in *struct{ ExecutionArn, Error, Cause string }) (any, error) {
	if err := checkError(in.Error, in.Cause); err != nil {
		return nil, err
	}

	key, _, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	var stopped int64

	batch, err := s.stimulate(key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		if st.Child != nil && env.Limit != 0 { // it is an Express execution
			return nil, wrongType()
		}

		turn, err := env.Stop(st, in.Error, in.Cause)
		stopped = st.Stopped

		return turn, err
	})
	if syncErr := syncBatch(batch); syncErr != nil {
		return nil, errors.Join(err, syncErr)
	}

	// Stopping an ended execution changes nothing and succeeds.
	if errors.Is(err, execution.ErrNotRunning) {
		return map[string]any{"stopDate": stamp(stopped)}, s.db.Barrier()
	}

	return map[string]any{"stopDate": stamp(stopped)}, err
}
