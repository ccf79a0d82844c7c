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
	// ErrorPrefix and Offload are as in Config. In the Task that Offload gets, only the token is set.
	ErrorPrefix string
	Offload     func(ctx context.Context, t Task, output json.RawMessage) (json.RawMessage, error)
	// Timeout bounds the delivery of an answer, with its retries. Default 5 min.
	Timeout time.Duration
}

// Completer answers tasks by their tokens: tasks that a handler has parked, and tasks of states that
// wait for a callback. A Completer respects the service's limits and retries like a Worker, with one
// difference: a refusal such as AccessDeniedException ends the call. It is safe for concurrent use.
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
		answerTimeout: cfg.Timeout,
	}

	o := newOutbox(full.withDefaults())
	o.waits = false // the caller decides whether to call again

	return &Completer{o}, nil
}

// Succeed answers a task with an output, which is encoded like the output of a handler. The error is
// nil if the outcome is Succeeded. The other outcomes are:
//
//   - Failed: the output could not be sent, so the task was answered with a failure, as a worker
//     does. The error says why.
//   - Lost: the task is over, and no retry helps. It timed out, another caller answered it, or its
//     execution has ended.
//   - Unknown: the task is over, and this call may have answered it: an attempt got no response.
//   - Unanswered: the service could not be reached, or refuses the call. Call again when the cause is
//     repaired.
func (c *Completer) Succeed(ctx context.Context, token Token, output any) (Outcome, error) {
	return c.complete(ctx, token, Succeeded, output, nil)
}

// Fail answers a task with a failure, which gets its name like the error of a handler. The error is
// nil if the outcome is Failed. The other outcomes mean the same as for Succeed.
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
