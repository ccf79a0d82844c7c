package embedded

import (
	"context"
	"encoding/json"
	"errors"

	"ratchet/embedded/faults"
	"ratchet/embedded/internal/wire"
)

// Inject puts a fault into effect, in addition to the faults already in effect, until it is removed
// or the engine closes. The fault strikes calls that begin afterwards, of all callers and of
// executions that call other services. Inject fails with an error that names the field if the fault
// makes no sense.
//
//	lost, err := engine.Inject(faults.LoseAnswer("SendTaskSuccess").Next(1))
//
// Other disturbances have methods of their own: ShiftClock, StallShard, ReplaceStream, RollShards,
// SplitShard and TrimStream.
func (e *Engine) Inject(f faults.Fault) (*faults.Injection, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}

	return e.faults.Inject(f), nil
}

// ClearFaults removes all faults of Inject.
func (e *Engine) ClearFaults() { e.faults.Clear() }

// withFaults returns the service with the faults of Inject in front of it. name is the Service of
// its faults.Call.
func (e *Engine) withFaults(name string, s wire.Service) wire.Service {
	return s.Around(func(operation string, call wire.Operation) wire.Operation {
		return func(ctx context.Context, body []byte) (any, error) {
			// The usual case, without faults, must not pay for a Call.
			if !e.faults.Empty() {
				return e.callWithFaults(ctx, faults.NewCall(name, operation, body), call)
			}

			answer, err := call(ctx, body)

			// A fault may have been injected while the call was under way.
			if e.faults.Empty() {
				return answer, err
			}

			return e.meetAnswer(faults.NewCall(name, operation, body), answer, err)
		}
	})
}

func (e *Engine) callWithFaults(ctx context.Context, c *faults.Call, call wire.Operation) (any, error) {
	e.faults.Number(c)

	afterCommit, fault := e.faults.Before(ctx, c)
	if fault != nil && !afterCommit {
		return nil, wireError(c, fault)
	}

	// With AfterCommit the call is carried out, and its answer or error is lost.
	answer, err := call(ctx, c.Body())
	if fault != nil {
		return nil, wireError(c, fault)
	}

	return e.meetAnswer(c, answer, err)
}

// meetAnswer applies the faults that select calls by their answers. They also strike calls that
// were already under way when the fault came: a poll may wait for a minute.
func (e *Engine) meetAnswer(c *faults.Call, answer any, err error) (any, error) {
	if err != nil || !e.faults.SeesAnswers() {
		return answer, err
	}

	raw, isRaw := answer.(json.RawMessage)
	if !isRaw {
		if raw, err = json.Marshal(answer); err != nil {
			return nil, err
		}
	}

	if fault := e.faults.After(c, raw); fault != nil {
		return nil, wireError(c, fault)
	}

	return raw, nil
}

// wireError returns a fault's error as an operation returns it.
func wireError(c *faults.Call, fault error) error {
	shaped := c.Shape(fault)

	answer, ok := errors.AsType[*faults.Error](shaped)
	if !ok {
		return &wire.Broken{Cause: shaped}
	}

	return &wire.Error{Type: answer.Code, Message: answer.Text(), Status: answer.HTTPStatus(), Members: answer.Members}
}
