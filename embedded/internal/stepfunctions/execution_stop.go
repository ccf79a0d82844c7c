package stepfunctions

import (
	"context"
	"errors"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/requests"
)

func (s *Service) stopExecution(ctx context.Context, in *struct{ ExecutionArn, Error, Cause string }) (any, error) {
	if err := checkError(in.Error, in.Cause); err != nil {
		return nil, err
	}

	key, _, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	var stopped int64

	batch, err := s.stimulate(ctx, key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		// A child of an Express Map: only these have a limit of their own.
		if st.Child != nil && env.Limit != 0 {
			return nil, machines.WrongType()
		}

		turn, err := env.Stop(st, in.Error, in.Cause)
		stopped = st.Stopped

		return turn, err
	})
	// Stop applies due timers first, so there may be a batch even if
	// the execution turns out to have ended.
	if syncErr := syncBatch(batch); syncErr != nil {
		return nil, errors.Join(err, syncErr)
	}

	// Stopping an ended execution changes nothing and succeeds. Its end may not be on disk yet.
	if errors.Is(err, execution.ErrNotRunning) {
		return map[string]any{"stopDate": requests.Stamp(stopped)}, s.db.Barrier()
	}

	return map[string]any{"stopDate": requests.Stamp(stopped)}, err
}
