package calls

import (
	"cmp"
	"errors"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
)

var DefaultRetry = streams.Retry{Base: 100 * time.Millisecond, Max: 15 * time.Minute, For: 72 * time.Hour}

// Merge returns r with its zero fields set to the values of other.
func Merge(r, other streams.Retry) streams.Retry {
	return streams.Retry{
		Attempts: cmp.Or(r.Attempts, other.Attempts),
		Base:     cmp.Or(r.Base, other.Base),
		Max:      cmp.Or(r.Max, other.Max),
		For:      cmp.Or(r.For, other.For),
	}
}

// Backoff returns the pauses between the calls.
func Backoff(r streams.Retry) worker.Backoff {
	return worker.Backoff{Base: r.Base, Max: max(r.Base, r.Max)}
}

// Pause returns how long to wait after the nth failed call, which returned err.
func Pause(r streams.Retry, attempts int, err error) time.Duration {
	pause := Backoff(r).Delay(attempts)

	var asks interface{ RetryAfter() time.Duration }
	if errors.As(err, &asks) {
		pause = max(pause, asks.RetryAfter())
	}

	return pause
}

// Exhausted reports whether a record that first failed at since gets no call at next,
// after the given number of attempts.
func Exhausted(r streams.Retry, attempts int, since, next time.Time) bool {
	switch {
	case r.Attempts < 0:
		return false
	case r.Attempts > 0 && attempts >= r.Attempts:
		return true
	}

	return next.Sub(since) > r.For
}
