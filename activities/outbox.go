package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/worker"
)

// answerBackoff has the waits between attempts to deliver an answer.
var answerBackoff = worker.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}

// outbox composes and delivers answers. A Worker and a Completer each have one.
type outbox struct {
	client  Client
	prefix  string        // Config.ErrorPrefix
	timeout time.Duration // for the delivery of an answer, with its retries
	offload func(ctx context.Context, t Task, output json.RawMessage) (json.RawMessage, error)
	// waits says that a delivery is retried even after a refusal that lasts until an operator acts.
	waits bool
	// The budgets of SendTaskSuccess and SendTaskFailure.
	successes, failures *budget
}

func newOutbox(cfg Config) outbox {
	return outbox{
		client:    cfg.SFN,
		prefix:    cfg.ErrorPrefix,
		timeout:   cfg.answerTimeout,
		offload:   cfg.Offload,
		waits:     true,
		successes: newBudget(cfg.Rates.SendTaskSuccess, burstSeconds),
		failures:  newBudget(cfg.Rates.SendTaskFailure, burstSeconds),
	}
}

// answerLimit returns how long one call may take that delivers an answer. The period is
// HeartbeatSeconds, 0 for none. The limit is a third of it, from 1 to 10 s, so that there is time for a
// second call even if heartbeats fail.
func answerLimit(period time.Duration) time.Duration {
	if period == 0 {
		return 10 * time.Second
	}

	return min(max(period/3, time.Second), 10*time.Second)
}

// delivery is the result of deliver.
type delivery struct {
	outcome Outcome
	answer  answer // the answer that was sent last
	err     error  // why it was not accepted
}

// deliver sends the answer until the service accepts it, the task is lost or time is up.
// Each call may take limit; calls provides its context. If the service refuses the output, deliver
// sends a failure instead. When answers have to wait for their turns, the one with the earliest
// deadline goes first.
func (o *outbox) deliver(ctx context.Context, token Token, a answer, calls *timeLimit, limit time.Duration, deadline time.Time) delivery {
	timeUp := time.Now().Add(o.timeout)

	if turn := o.turns(a).enqueue(deadline); turn != nil {
		if err := o.awaitTurn(ctx, a, turn, timeUp); err != nil {
			return delivery{Unanswered, a, err}
		}
	}

	// Set after an attempt with an unknown outcome: the service may have accepted it although the
	// response is missing.
	doubtful := false

	for attempt := 1; ; attempt++ {
		err := o.send(ctx, token, a, calls, min(limit, time.Until(timeUp)))

		var invalid *sfntypes.InvalidOutput
		switch {
		case err == nil && a.failure:
			return delivery{outcome: Failed, answer: a}
		case err == nil:
			return delivery{outcome: Succeeded, answer: a}
		// The task may be over because an earlier attempt was accepted, or because the task timed out.
		case isLost(err) && doubtful:
			return delivery{Unknown, a, err}
		case isLost(err):
			return delivery{Lost, a, err}
		case errors.As(err, &invalid) && !a.failure:
			a = o.fail(&Error{own: NameOutput, Err: err})
			// The failure is a new answer, so its first attempt waits for no backoff.
			attempt = 0
		case !isAnswer(err):
			doubtful = true
		case !o.waits && refusalCode(err) != "":
			return delivery{Unanswered, a, err}
		}

		if !o.retries(ctx, a, attempt, timeUp, deadline) {
			return delivery{Unanswered, a, err}
		}
	}
}

// awaitTurn waits for the turn of the first attempt.
func (o *outbox) awaitTurn(ctx context.Context, a answer, turn *turn, timeUp time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, timeUp)
	defer cancel()

	if err := o.turns(a).await(ctx, turn); err != nil {
		return fmt.Errorf("no turn for an answer: %w", err)
	}

	return nil
}

// retries waits before the next attempt. It reports false when time is up.
func (o *outbox) retries(ctx context.Context, a answer, attempt int, timeUp, deadline time.Time) bool {
	ctx, cancel := context.WithDeadline(ctx, timeUp)
	defer cancel()

	if attempt > 0 && !answerBackoff.Wait(ctx, attempt) {
		return false
	}

	return o.turns(a).take(ctx, deadline) == nil
}

// turns returns the budget that an answer needs.
func (o *outbox) turns(a answer) *budget {
	if a.failure {
		return o.failures
	}

	return o.successes
}

// send makes one attempt to deliver the answer. The caller has taken a turn for it.
func (o *outbox) send(ctx context.Context, token Token, a answer, calls *timeLimit, limit time.Duration) error {
	ctx = calls.begin(ctx, limit)
	defer calls.end()

	if a.failure {
		_, err := o.client.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
			TaskToken: aws.String(string(token)),
			Error:     &a.name,
			Cause:     &a.cause,
		}, withoutRetries)

		return err
	}

	_, err := o.client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{
		TaskToken: aws.String(string(token)),
		Output:    &a.output,
	}, withoutRetries)

	return err
}

// isLost reports whether err is the service's answer that the token does not, or no longer, stand for
// a running task.
func isLost(err error) bool {
	var timedOut *sfntypes.TaskTimedOut
	var unknown *sfntypes.TaskDoesNotExist
	var invalid *sfntypes.InvalidToken

	return errors.As(err, &timedOut) || errors.As(err, &unknown) || errors.As(err, &invalid)
}

// isAnswer reports whether the service has refused the request (status 4xx): then it was not carried
// out. After any other error, of the service or the network, the request may have been carried out.
func isAnswer(err error) bool {
	var answer interface{ HTTPStatusCode() int }
	return errors.As(err, &answer) && answer.HTTPStatusCode() >= 400 && answer.HTTPStatusCode() < 500
}
