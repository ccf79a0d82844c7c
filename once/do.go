package once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// settle bounds a write that ends a claim after the caller's context has ended.
const settle = 10 * time.Second

// Work is what is done once: it gets the claim that it is done under.
type Work func(context.Context, *Claim) ([]byte, error)

// Do runs fn once in effect for the key and returns what it returned, now or in an
// earlier call (then replayed is true). The context given to fn ends with the lease,
// or, with Config.Heartbeat, when the claim is lost. When ctx has a deadline, the
// lease is no longer than what is left of it and the time to end the claim.
//
// What becomes of the key when fn fails depends on the error: what [Fail] made, or
// Config.Failures registers, is final and replayed to later callers; one that wraps
// [ErrAmbiguous] leaves the outcome unknown; with any other one the claim is
// released, and a later call runs fn again. When fn panics, the claim is released,
// or its outcome unknown under Config.ExpiredIsUnknown, and the panic goes on.
func (c *Claims) Do(ctx context.Context, key string, payload []byte, fn Work) (result []byte, replayed bool, err error) {
	claim, err := c.claim(ctx, key, payload, c.leaseIn(ctx))
	if errors.Is(err, ErrUnknownOutcome) && c.cfg.Reconcile != nil {
		if err = c.reconcile(ctx, key); err == nil {
			claim, err = c.claim(ctx, key, payload, c.leaseIn(ctx))
		}
	}

	var failure *Failure
	switch {
	case c.cfg.FailOpen && down(ctx, err):
		claim = &Claim{Outcome: Untracked, key: key, claims: c}
		_ = c.tell("do", key, Untracked, nil)
		result, err := fn(ctx, claim)
		return result, false, err
	case err != nil:
		return nil, errors.As(err, &failure) || errors.Is(err, ErrResultUnavailable), err
	case claim.Outcome == Replayed:
		return claim.Result, true, nil
	}
	result, err = claim.run(ctx, fn)

	return result, false, err
}

// Do is [Claims.Do] for values: the payload and the result are written as JSON.
func Do[T any](ctx context.Context, c *Claims, key string, payload any, fn func(context.Context, *Claim) (T, error)) (value T, replayed bool, err error) {
	in, err := json.Marshal(payload)
	if err != nil {
		return value, false, fmt.Errorf("%w: payload: %w", ErrInvalid, err)
	}

	out, replayed, err := c.Do(ctx, key, in, func(ctx context.Context, claim *Claim) ([]byte, error) {
		v, err := fn(ctx, claim)
		if err != nil {
			return nil, err
		}

		text, err := json.Marshal(v)
		if err != nil {
			// The work was done: nobody may do it again for want of its result.
			return nil, errors.Join(ErrResultUnavailable, err)
		}

		return text, nil
	})
	if err != nil {
		return value, replayed, err
	}

	if err := json.Unmarshal(out, &value); err != nil {
		return value, replayed, fmt.Errorf("result under key#%s: %w", c.Ref(key), err)
	}

	return value, replayed, nil
}

// leaseIn is the lease for work under ctx: no longer than the work can take.
func (c *Claims) leaseIn(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(c.cfg.Lease, max(time.Until(end), 0)+settle)
	}
	return c.cfg.Lease
}

// run does the work and ends the claim as the work's error tells.
func (c *Claim) run(ctx context.Context, fn Work) (result []byte, err error) {
	finished := false
	work, stop := c.working(ctx)
	defer func() {
		if !finished { // a panic or runtime.Goexit
			stop()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settle)
			defer cancel()
			err = errors.Join(err, c.abandon(ctx))
		}
	}()
	result, err = fn(work, c)
	finished = true
	stop()

	return result, c.conclude(ctx, result, err)
}

// abandon ends a claim whose work did not return.
func (c *Claim) abandon(ctx context.Context) error {
	switch {
	case c.state.Load() != claimHeld:
		return nil
	case c.claims.cfg.ExpiredIsUnknown:
		return c.Unknown(ctx)
	}

	return c.Release(ctx)
}

// conclude ends the claim as the work's error tells. The write is tried again until
// the lease ends, with all its extensions: once it has, the next caller would repeat
// the work.
func (c *Claim) conclude(ctx context.Context, result []byte, err error) error {
	failure, final := c.claims.final(err)
	var verb func(context.Context) error
	switch {
	case c.state.Load() == claimEnded: // by the work itself
		return err
	case errors.Is(err, ErrResultUnavailable), err == nil && len(result) > MaxResult:
		verb = c.completeWithout

		if err == nil {
			err = fmt.Errorf("%w: %d bytes, at most %d", ErrResultUnavailable, len(result), MaxResult)
		}
	case err == nil:
		verb = func(ctx context.Context) error { return c.Complete(ctx, result) }
	case final:
		verb = func(ctx context.Context) error { return c.Fail(ctx, failure) }
	case errors.Is(err, ErrAmbiguous):
		verb = c.Unknown
	default:
		verb = c.Release
	}

	if ended := c.insist(ctx, *c.end.Load(), verb); ended != nil {
		if err == nil {
			return ended
		}
		return fmt.Errorf("%w (and the claim was not ended: %w)", err, ended)
	}

	if final {
		return failure
	}

	return err
}

// insist repeats a write that was not answered until the lease ends, or, when the
// caller's own context has ended, for as long as one write may take.
func (c *Claim) insist(caller context.Context, end time.Time, verb func(context.Context) error) error {
	ctx, began := context.WithoutCancel(caller), time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		once, cancel := context.WithTimeout(ctx, settle)
		err := verb(once)
		cancel()

		if err == nil || outcomeOf(err) != Unavailable || time.Until(end) < pause || caller.Err() != nil && time.Since(began) > settle {
			return err
		}
		time.Sleep(pause)
	}
}

// down reports that DynamoDB could not be asked: no answer, an answer that is its own
// fault, or throttling. A refusal that it gave, such as a missing permission, is not.
func down(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || outcomeOf(err) != Unavailable {
		return false
	}

	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) {
		return true
	}
	status := answer.HTTPStatusCode()

	return status == 0 || status >= http.StatusInternalServerError || throttled(err)
}
