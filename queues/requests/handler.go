package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/queues"
	"ratchet/transitions"
	"ratchet/workflow"
)

// applier is what the handler calls of *transitions.Orders.
type applier interface {
	Apply(context.Context, transitions.Request) (transitions.Result, error)
	Definition() *workflow.Definition
}

// Handler applies requests. Orders must be set.
type Handler struct {
	Orders applier
	// Answer is told the verdict on each request before its message is done or
	// rejected, at least once; after an error the message comes again. It is not told of
	// a request that is given up after its attempts: the dead letter is. Optional: to
	// send verdicts to whoever asked.
	Answer func(ctx context.Context, m queues.Message, r transitions.Request, result transitions.Result) error
}

// Refusal is why a request's message is retried or rejected: the verdict on it.
type Refusal struct {
	Request transitions.Request
	Result  transitions.Result
}

func (e *Refusal) Error() string {
	text := fmt.Sprintf("apply %s to order %s: %s", e.Request.Event, e.Request.OrderID, e.Result.Verdict)
	if o := e.Result.Order; o != nil && e.Result.Verdict == transitions.WrongState {
		text += fmt.Sprintf(": the order is %s, the event needs %v", o.State, e.Result.Expected)
		if e.Result.Reason != "" {
			text += " and " + e.Result.Reason
		}
	}

	return text
}

// Handle fits queues.Config and queues.Lambda.
func (h Handler) Handle(ctx context.Context, m queues.Message) queues.Outcome {
	r, err := Decode(m)
	if err != nil {
		return queues.Reject(err)
	}

	result, err := h.Orders.Apply(ctx, r)
	switch {
	case errors.Is(err, transitions.ErrInvalidRequest), errors.Is(err, transitions.ErrEvidenceGone):
		return queues.Reject(err)
	case transitions.Retryable(err):
		return queues.NotYet(unanswered(m), err)
	case err != nil:
		return queues.Retry(0, err)
	}

	outcome := h.outcome(r, result)
	if h.Answer != nil && outcome.Kind != queues.KindRetry {
		if err := h.Answer(ctx, m, r, result); err != nil {
			return queues.Retry(0, fmt.Errorf("tell the verdict on %s of order %s: %w", r.Event, r.OrderID, err))
		}
	}

	return outcome
}

// outcome makes of the verdict what becomes of the message.
func (h Handler) outcome(r transitions.Request, result transitions.Result) queues.Outcome {
	refusal := &Refusal{r, result}
	switch result.Verdict {
	case transitions.Applied, transitions.Replayed, transitions.Superseded:
		return queues.Done()
	case transitions.NotFound:
		return queues.Retry(0, refusal)
	case transitions.WrongState:
		if h.mayCome(result) {
			return queues.Retry(0, refusal)
		}
	}

	return queues.Reject(refusal)
}

// mayCome reports whether the order can still come to a state that the event needs. An
// order that stands in one is kept back by a guard, which may be satisfied yet.
func (h Handler) mayCome(result transitions.Result) bool {
	return result.Order != nil && slices.ContainsFunc(result.Expected, func(s workflow.State) bool {
		return h.Orders.Definition().Reachable(result.Order.State, s)
	})
}

// unanswered is the pause after DynamoDB gave no answer: 1 s, doubling with every
// receive, at most five minutes.
func unanswered(m queues.Message) time.Duration {
	return min(time.Second<<min(max(m.Receives-1, 0), 9), 5*time.Minute)
}
