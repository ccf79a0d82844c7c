package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// CompleterConfig says how a Completer answers. SFN is required.
type CompleterConfig struct {
	// SFN is the SDK's client.
	SFN Client
	// ErrorPrefix, Offload and Timeout are as ErrorPrefix, Offload and AnswerTimeout of
	// Config. The Task that Offload gets has a token and nothing else.
	ErrorPrefix string
	Offload     func(ctx context.Context, t Task, output json.RawMessage) (json.RawMessage, error)
	Timeout     time.Duration
	// Rates bounds the answers: SendTaskSuccess and SendTaskFailure.
	Rates Rates
}

// Completer answers tasks by their tokens: tasks that a handler has parked, and tasks of states that
// wait for a callback. A Completer keeps the service's limits and retries as a Worker does, except
// that it does not wait through a refusal like AccessDeniedException. It is safe for concurrent use.
type Completer struct{ outbox outbox }

// NewCompleter returns a Completer, or an error that names every fault of cfg.
func NewCompleter(cfg CompleterConfig) (*Completer, error) {
	var faults []error
	if cfg.SFN == nil {
		faults = append(faults, errors.New("activities: CompleterConfig.SFN must be set"))
	}

	if strings.HasPrefix(cfg.ErrorPrefix, reservedPrefix) {
		faults = append(faults, fmt.Errorf(`activities: CompleterConfig.ErrorPrefix starts with %q, which is the service's own`, reservedPrefix))
	}

	if cfg.Timeout < 0 {
		faults = append(faults, fmt.Errorf("activities: CompleterConfig.Timeout is %v, want at least 0", cfg.Timeout))
	}

	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	full := Config{
		SFN:           cfg.SFN,
		ErrorPrefix:   cfg.ErrorPrefix,
		Offload:       cfg.Offload,
		AnswerTimeout: cfg.Timeout,
		Rates:         cfg.Rates,
	}

	o := newOutbox(full.withDefaults())
	o.waits = false // the caller decides whether it comes again

	return &Completer{o}, nil
}

// Succeed answers a task with an output, which is encoded as the output of a handler.
//
// The error is nil when the outcome is Succeeded. An output that cannot be sent is
// answered with a failure, as a worker does: the outcome is Failed, and the error says
// why. After Lost the task is over, and no retry helps: it timed out, was answered by
// someone else, or its execution has ended. After Unknown the task is over, too, and this very call
// may have answered it, if the first response was lost. After Unanswered the service could not be
// reached, or refuses the call; call again when the cause is repaired.
func (c *Completer) Succeed(ctx context.Context, token Token, output any) (Outcome, error) {
	return c.complete(ctx, token, Succeeded, output, nil)
}

// Fail answers a task with a failure, which is named as the error of a handler. The error
// is nil when the outcome is Failed; the other outcomes mean the same as for Succeed.
func (c *Completer) Fail(ctx context.Context, token Token, failure error) (Outcome, error) {
	if failure == nil {
		failure = errors.New("the task failed without an error")
	}

	return c.complete(ctx, token, Failed, nil, failure)
}

func (c *Completer) complete(ctx context.Context, token Token, want Outcome, output any, failure error) (Outcome, error) {
	if token == "" {
		return Unanswered, errors.New("activities: complete a task: the token is empty")
	}

	a := c.outbox.compose(ctx, Task{Token: token}, output, failure)

	var calls timeLimit
	defer calls.close()
	d := c.outbox.deliver(ctx, token, a, &calls, answerLimit(0), time.Now())

	switch {
	case d.outcome == want:
		return want, nil
	// An output that was too large, not JSON or refused was sent as a failure.
	case d.outcome == Failed:
		return Failed, fmt.Errorf("activities: complete %v: it was failed instead: %w", token, d.answer.err)
	}

	return d.outcome, fmt.Errorf("activities: complete %v: %s: %w", token, d.outcome, d.err)
}
