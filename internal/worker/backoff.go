package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Backoff is the policy for the waits between retries: after the nth failure in a row,
// between half and all of Base * 2^(n-1), and of Max at most. The random part keeps
// callers that failed together from retrying together; the lower half keeps the wait
// from being pointless.
//
// A caller that races others for one item, and wants to come back as soon as one of
// them is done, uses [WaitRetry] with limits of its own.
type Backoff struct {
	Base time.Duration // more than 0
	Max  time.Duration // Base or more
}

// Delay returns the wait after the nth failure in a row. An n below 1 counts as 1.
func (b Backoff) Delay(n int) time.Duration {
	limit := b.Base
	for ; n > 1 && limit < b.Max; n-- {
		// The loop stops at Max, so a large n does not overflow.
		limit *= 2
	}
	limit = min(limit, b.Max)

	return limit/2 + rand.N(limit/2+1) //nolint:gosec // jitter, not a secret
}

// Wait waits for Delay(n). It reports false when ctx ends first.
func (b Backoff) Wait(ctx context.Context, n int) bool { return Wait(ctx, b.Delay(n)) }

// Retry calls op until it returns nil or an error that IsPermanent, or tries calls have failed, or
// ctx ends; tries of 0 means no bound. The waits between two calls are b's. Retry returns the error
// of the last call, together with the cause of ctx's end if that was the reason to stop.
func Retry(ctx context.Context, b Backoff, tries uint, op func() error) error {
	var last error

	// No limit of the elapsed time: the library's default would stop after 15 minutes.
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = op()

		return struct{}{}, last
	}, backoff.WithBackOff(&sequence{backoff: b}), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(0))

	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !IsPermanent(last):
		return fmt.Errorf("%w: %w", context.Cause(ctx), last)
	}

	// The library unwraps a permanent error and so drops the text around it.
	return last
}

// sequence gives the delays of a Backoff in the library's form.
type sequence struct {
	backoff Backoff
	failed  int
}

func (s *sequence) Reset() { s.failed = 0 }

func (s *sequence) NextBackOff() time.Duration {
	s.failed++

	return s.backoff.Delay(s.failed)
}
