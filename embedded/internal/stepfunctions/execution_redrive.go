package stepfunctions

import (
	"context"
	"errors"
	"regexp"
	"sync"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/machines"
	"ratchet/embedded/internal/stepfunctions/mapruns"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// clientToken is the form of a token, which a repeated request to redrive shares with the first one.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_RedriveExecution.html
var clientToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-~]{1,64}$`) })

// redriveExecution redrives an execution. SDKs send a client token of their own
// with each request and repeat it in retries. A request whose token has redriven
// the execution before gets the first answer again.
func (s *Service) redriveExecution(ctx context.Context, in *struct {
	ExecutionArn string
	ClientToken  *string
}) (any, error) {
	token := ""
	if in.ClientToken != nil {
		token = *in.ClientToken
		if err := requests.AtMost(token, "clientToken", 64); err != nil {
			return nil, err
		}

		if !clientToken().MatchString(token) {
			return nil, wire.BadParameter("'"+token+"'", "clientToken", "Member must satisfy regular expression pattern: [!-~]+")
		}
	}

	key, m, err := s.executionNamed(in.ExecutionArn)
	if err != nil {
		return nil, err
	}

	var redriven int64

	batch, err := s.revive(ctx, m, key, func(env *execution.Env, st *execution.State) (*execution.Turn, error) {
		if st.Child != nil {
			return nil, &execution.NotRedrivableError{Reason: "Execution was started by a Map Run and can only be redriven with it"}
		}

		if redriven = st.RedrivenBy(token, env.Now); redriven != 0 {
			// A repeated request: no turn, so nothing changes and no batch is stored.
			return nil, nil
		}

		turn, err := env.Redrive(st)
		if redriven = st.Redriven; err == nil {
			// The token is stored in the turn of the redrive, so that a crash cannot separate the
			// redrive from its token.
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

	// Redriven before. This answer must be as durable as the first one.
	if err == nil && batch == nil {
		err = s.db.Barrier()
	}

	return map[string]any{"redriveDate": requests.Stamp(redriven)}, err
}

// revive applies a stimulus that lets an ended execution run again.
func (s *Service) revive(ctx context.Context, m *machines.Machine, key keys.Execution, apply stimulus) (*store.Batch, error) {
	// The deletion of the machine must not run between this check and the new turn.
	release, held := s.machines.Hold(m)
	if !held {
		return nil, &execution.NotRedrivableError{Reason: "Execution cannot be redriven because its state machine is being deleted"}
	}
	defer release()

	return s.stimulate(ctx, key, apply)
}

// redriveStatus returns whether an execution can be redriven, and why not.
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
func (s *Service) redriveStatus(st *execution.State, r *mapruns.Run) (status, reason string) {
	reason = st.NotRedrivable(s.cfg.Clock.Now())
	switch {
	case reason != "":
		return "NOT_REDRIVABLE", reason
	case r != nil:
		return "REDRIVABLE_BY_MAP_RUN", ""
	default:
		return "REDRIVABLE", ""
	}
}
