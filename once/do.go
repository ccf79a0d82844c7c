package once

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"ratchet/internal/worker"
)

// endTimeout bounds a write that ends a claim after the caller's context has ended.
const endTimeout = 10 * time.Second

// Do runs fn once in effect for the key. It returns what fn returned, now or in an earlier
// call; in the latter case replayed is true. The context of fn ends with the lease, or,
// with Config.Heartbeat, when the claim is lost. If ctx has a deadline, the lease is no
// longer than the time until then, plus the time to end the claim.
//
// What is known of the work decides about the key:
//
//	fn                                        the next caller
//	returns nil                               gets the result
//	returns an error that wraps ErrAmbiguous  gets ErrUnknownOutcome
//	returns an error that [Fail] made, or     gets the failure
//	  that Config.Failures registers
//	returns an error that [NotBegun] made     runs fn; Acquired if this caller was
//	returns any other error                   runs fn, TakenOver: there may have been an effect
//	returns an error after it was cut off,    runs fn, TakenOver, or gets ErrUnknownOutcome under
//	  or panics, or calls runtime.Goexit        Config.ExpiredIsUnknown
//	returns a result that cannot be stored,   gets ErrResultUnavailable
//	  or an error that [WithoutResult] made
//
// Work is cut off when its lease or ctx ends, or when its claim is lost. A panic continues.
func (c *Claims) Do(ctx context.Context, key string, payload []byte, fn func(context.Context, *Claim) ([]byte, error)) (result []byte, replayed bool, err error) {
	claim, err := c.claim(ctx, key, payload, c.leaseIn(ctx))

	// The record forbids the work, even if the reconciler or DynamoDB does not answer after that.
	unknown := errors.Is(err, ErrUnknownOutcome)
	if unknown && c.cfg.Reconcile != nil {
		if err = c.reconcile(ctx, key); err == nil {
			claim, err = c.claim(ctx, key, payload, c.leaseIn(ctx))
		}
	}

	switch {
	case c.cfg.FailOpen && !unknown && unreachable(ctx, err):
		claim = &Claim{Outcome: Untracked, key: key, claims: c}
		_ = c.observe("do", key, Untracked, nil)
		result, err := fn(ctx, claim)

		return result, false, err
	case err != nil || claim.Outcome == Replayed:
		return answered(claim, err)
	}
	result, err = claim.run(ctx, fn)

	return result, false, err
}

// Do is [Claims.Do] for values: it encodes the payload and the result as JSON.
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
			// The work was done, and must not be repeated because its result is missing.
			return nil, WithoutResult(err)
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

// leaseIn returns the lease for work under ctx, which is no longer than the work can take.
func (c *Claims) leaseIn(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(c.cfg.Lease, max(time.Until(deadline), 0)+endTimeout)
	}

	return c.cfg.Lease
}

// run runs fn under the claim and ends the claim.
func (c *Claim) run(ctx context.Context, fn func(context.Context, *Claim) ([]byte, error)) (result []byte, err error) {
	returned := false
	work, stop := c.workContext(ctx)
	defer func() {
		if !returned { // fn panicked or called runtime.Goexit
			stop()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
			defer cancel()
			err = errors.Join(err, c.abandon(ctx))
		}
	}()

	result, err = fn(work, c)
	returned = true
	cutOff := work.Err() != nil // before stop ends it
	stop()

	return result, c.finish(ctx, result, err, cutOff)
}

// abandon ends a claim whose work may have begun and will not say how it ended.
func (c *Claim) abandon(ctx context.Context) error {
	switch {
	case c.state.Load() != claimHeld:
		return nil
	case c.claims.cfg.ExpiredIsUnknown:
		return c.Unknown(ctx)
	}

	return c.release(ctx, true)
}

// finish ends the claim as the work's error says, and returns the error of the call.
func (c *Claim) finish(ctx context.Context, result []byte, err error, cutOff bool) error {
	failure, final := c.claims.finalFailure(err)
	final = final && !errors.Is(err, ErrAmbiguous) // what may have had an effect has not failed for good
	end := func(ctx context.Context) error { return c.release(ctx, true) }

	switch {
	case c.state.Load() == claimEnded: // by the work itself
		return err
	case err == nil && len(result) <= maxResult:
		return c.keepResult(ctx, result)
	case err == nil:
		err = fmt.Errorf("%w: %d bytes, at most %d", ErrResultUnavailable, len(result), maxResult)
		end = c.completeWithoutResult
	case isWithoutResult(err):
		err, end = errors.Join(err), c.completeWithoutResult // the mark is about this claim only
	case IsNotBegun(err):
		end, final = c.Release, false
	case final:
		end = func(ctx context.Context) error { return c.Fail(ctx, failure) }
	case errors.Is(err, ErrAmbiguous):
		end = c.Unknown
	case cutOff:
		end = c.abandon
	}

	// When the lease has ended, the next caller would repeat the work. So retry until the
	// lease, with all its extensions, ends.
	if endErr := retryUntil(ctx, *c.end.Load(), end); endErr != nil {
		return fmt.Errorf("%w (and the claim was not ended: %w)", err, endErr)
	}

	switch {
	case final:
		return failure
	case IsNotBegun(err):
		return errors.Join(err) // the mark is about this work, and not about the work that this is a part of
	}

	return err
}

// keepResult completes the claim. If the result cannot be stored, it completes the claim without the
// result: the work must not be repeated because its result is missing.
func (c *Claim) keepResult(ctx context.Context, result []byte) error {
	end := *c.end.Load()
	complete := func(ctx context.Context) error { return c.Complete(ctx, result) }
	if len(result) <= c.claims.cfg.Inline {
		return retryUntil(ctx, end, complete)
	}

	// Half of the lease is left for the completion without the result.
	storeUntil := time.Now().Add(time.Until(end) / 2)

	err := retryUntil(ctx, storeUntil, func(ctx context.Context) error {
		ctx, cancel := context.WithDeadline(ctx, storeUntil)
		defer cancel()

		return complete(ctx)
	})
	if err == nil || outcomeOf(err) != outcomeUnavailable {
		return err
	}

	switch endErr := retryUntil(ctx, end, c.completeWithoutResult); {
	case endErr == nil:
		return fmt.Errorf("%w: %w", ErrResultUnavailable, err)
	case errors.Is(endErr, endedError{StatusCompleted}):
		return nil // by a completion whose answer was lost
	default:
		return fmt.Errorf("%w (and the claim was not ended: %w)", err, endErr)
	}
}

// retryUntil repeats a write that has no answer until the deadline. If the caller's
// context has ended, it stops endTimeout after it began. Once an attempt had no answer, only the record
// decides.
func retryUntil(caller context.Context, deadline time.Time, write func(context.Context) error) error {
	// The work is done: its end is stored even if the caller has gone.
	ctx, began := context.WithoutCancel(caller), time.Now()

	var lost error // of the first attempt without an answer
	for n := 1; ; n++ {
		limited, cancel := context.WithTimeout(ctx, endTimeout)
		err := write(limited)
		cancel()

		if err == nil || outcomeOf(err) != outcomeUnavailable {
			return err
		}

		if lost == nil && errors.Is(err, ErrUnanswered) {
			lost = err
		}

		pause := pollBackoff.Delay(n)
		callerGone := caller.Err() != nil && time.Since(began) > endTimeout

		switch {
		case time.Until(deadline) >= pause && !callerGone:
			worker.Wait(ctx, pause)
		case lost != nil && !errors.Is(err, ErrUnanswered):
			return errors.Join(err, lost)
		default:
			return err
		}
	}
}

// throttling recognizes the errors of a service that had no capacity for the request.
var throttling = retry.IsErrorThrottles(retry.DefaultThrottles)

// unreachable reports whether DynamoDB could not be asked: there was no answer, or the answer
// reports a fault of DynamoDB or throttling. A refusal, such as a missing permission, does not
// count.
func unreachable(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || outcomeOf(err) != outcomeUnavailable {
		return false
	}

	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) {
		return true
	}
	status := answer.HTTPStatusCode()

	return status == 0 || status >= http.StatusInternalServerError || throttling.IsErrorThrottle(err).Bool()
}
