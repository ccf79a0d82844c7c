package stepfunctions

import (
	"context"
	"errors"
	"regexp"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// clientToken is the form of a token, which a repeated request to redrive shares with the first one.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_RedriveExecution.html
var clientToken = regexp.MustCompile(`^[!-~]{1,64}$`)

// redriveExecution redrives an execution. A repeated request, which has the client token of an earlier
// one, gets the answer of that one: SDKs send a token of their own with each request, and the same one
// with its retries.
func (s *Service) redriveExecution(_ context.Context, in *struct {
	ExecutionArn string
	ClientToken  *string
}) (any, error) {
	token := ""
	if in.ClientToken != nil {
		if token = *in.ClientToken; !clientToken.MatchString(token) {
			return nil, validation("1 validation error detected: Value '%s' at 'clientToken' failed to satisfy constraint: "+
				"Member must satisfy regular expression pattern: [!-~]+ and have length between 1 and 64", token)
		}
	}

	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	var redriven int64

	batch, err := s.revive(m, key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		if st.Child != nil {
			return nil, &execution.NotRedrivableError{Reason: "Execution was started by a Map Run and can only be redriven with it"}
		}

		if redriven = st.RedrivenBy(token, env.Now); redriven != 0 {
			return nil, nil
		}

		turn, err := env.Redrive(st)
		if redriven = st.Redriven; err == nil {
			st.RememberRedrive(token)
		}

		return turn, err
	})
	if syncErr := syncBatch(batch); syncErr != nil {
		return nil, errors.Join(err, syncErr)
	}

	var refused *execution.NotRedrivableError
	if errors.As(err, &refused) {
		return nil, wire.Errorf("ExecutionNotRedrivable", "%s", refused.Reason)
	}

	if err == nil && batch == nil { // redriven before, and this answer must be as durable as the first
		err = s.db.Barrier()
	}

	return map[string]any{"redriveDate": stamp(redriven)}, err
}

// revive applies a stimulus that lets an ended execution run again.
func (s *Service) revive(m *machine, key executionKey, apply stimulus) (*store.Batch, error) {
	release, held := s.hold(m)
	if !held {
		return nil, &execution.NotRedrivableError{Reason: "Execution cannot be redriven because its state machine is being deleted"}
	}
	defer release()

	return s.stimulate(key, apply)
}
