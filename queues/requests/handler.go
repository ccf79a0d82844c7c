package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/queues"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
)

// applier has the methods of *transitions.Orders that the handler calls.
type applier interface {
	Apply(context.Context, transitions.Request) (transitions.Result, error)
	Definition() *workflow.Definition
}

// Config configures a [Handler].
type Config struct {
	// Orders is required.
	Orders applier
	// Scheduled keeps the requests for later, those with "at". Without it, they are rejected.
	Scheduled interface {
		Place(context.Context, transitions.Request, time.Time) (scheduled.Placed, error)
	}
	// Answer is called at least once with the final verdict on a request, before its message is
	// done or rejected. It may send the verdict to the client. If it returns an error, the message
	// is retried. Answer is not called for a request that is rejected because its attempts are used
	// up: the dead letter has the reason, and not for a request for later. Optional.
	Answer func(ctx context.Context, m queues.Message, r transitions.Request, result transitions.Result) error
}

func (c *Config) check() error {
	if c.Orders == nil {
		return errors.New("requests: Config.Orders: must be set")
	}

	if c.Answer == nil {
		c.Answer = func(context.Context, queues.Message, transitions.Request, transitions.Result) error { return nil }
	}

	return nil
}

// Handler applies requests. It is safe for concurrent use.
type Handler struct{ cfg Config }

// New returns a Handler. The error names the field that is missing.
func New(cfg Config) (*Handler, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Handler{cfg}, nil
}

// VerdictError is the reason why a message is retried or rejected: the verdict on its request.
type VerdictError struct {
	Request transitions.Request
	Result  transitions.Result
}

func (e *VerdictError) Error() string {
	text := fmt.Sprintf("apply %s to order %s: %s", e.Request.Event, e.Request.OrderID, e.Result.Verdict)
	if o := e.Result.Order; o != nil && e.Result.Verdict == transitions.WrongState {
		text += fmt.Sprintf(": the order is %s, the event needs %v", o.State, e.Result.Expected)
		if e.Result.Reason != "" {
			text += " and " + e.Result.Reason
		}
	}

	return text
}

// Handle applies the request of a message. It is a handler for queues.Config and
// queues.LambdaConfig.
func (h *Handler) Handle(ctx context.Context, m queues.Message) queues.Outcome {
	r, at, err := decode(m)
	switch {
	case err != nil:
		return queues.Reject(err)
	case at != nil:
		return h.schedule(ctx, m, r, *at)
	}

	result, err := h.cfg.Orders.Apply(ctx, r)
	switch {
	case errors.Is(err, transitions.ErrInvalidRequest), errors.Is(err, transitions.ErrEvidenceGone), errors.Is(err, transitions.ErrOrderFull):
		return queues.Reject(err)
	case transitions.Retryable(err):
		return queues.NotYet(pauseAfterOutage(m), err)
	case err != nil:
		return queues.Retry(0, err)
	}

	outcome := h.outcome(r, result)
	// A verdict that leads to a retry is not final, so Answer is not called.
	if outcome.Kind != queues.KindRetry {
		if err := h.cfg.Answer(ctx, m, r, result); err != nil {
			return queues.Retry(0, fmt.Errorf("answer with the verdict on %s of order %s: %w", r.Event, r.OrderID, err))
		}
	}

	return outcome
}

// outcome translates the verdict into the outcome of the message.
func (h *Handler) outcome(r transitions.Request, result transitions.Result) queues.Outcome {
	refusal := &VerdictError{Request: r, Result: result}
	switch result.Verdict {
	// A superseded request can never be applied, because the order has moved on: nothing is left to
	// do.
	case transitions.Applied, transitions.Replayed, transitions.Superseded:
		return queues.Done()
	case transitions.NotFound:
		return queues.Retry(0, refusal)
	case transitions.WrongState:
		if h.mayReach(result) {
			return queues.Retry(0, refusal)
		}
	}

	return queues.Reject(refusal)
}

// mayReach reports whether the order can still reach a state that the event needs. If the order is
// already in such a state, a guard has refused the request, and may accept it later.
func (h *Handler) mayReach(result transitions.Result) bool {
	return result.Order != nil && slices.ContainsFunc(result.Expected, func(s workflow.State) bool {
		return h.cfg.Orders.Definition().Reachable(result.Order.State, s)
	})
}

// pauseAfterOutage returns the pause before the next delivery when the outcome of the request is
// not known: 1 s, doubled with every delivery, at most 5 minutes.
func pauseAfterOutage(m queues.Message) time.Duration {
	const first, most, doublings = time.Second, 5 * time.Minute, 9

	return min(first<<min(max(m.Receives-1, 0), doublings), most)
}
