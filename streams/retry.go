package streams

import (
	"cmp"
	"time"

	"ratchet/internal/worker"
)

// Retry says how failed calls of handlers are repeated. The pause before attempt n+1 is random,
// between one half and the whole of Base·2ⁿ⁻¹, and at most Max. It is longer if the error asks for
// it with RetryAfter.
//
// By default a record outlasts an outage of the far side: the calls are repeated for three days,
// and only then does the record become a dead letter.
type Retry struct {
	// Attempts is how many calls a record gets before it becomes a dead letter. 0 means any number
	// within For. A negative number means that the handler never gives up: neither a number of
	// calls nor For ends the retries.
	Attempts int
	// Base is the first pause. Default: 100 ms.
	Base time.Duration
	// Max is the longest pause. Default: 15 min.
	Max time.Duration
	// For is how long a record is retried after its first failure. Default: 72 h.
	For time.Duration
}

var defaultRetry = Retry{Base: 100 * time.Millisecond, Max: 15 * time.Minute, For: 72 * time.Hour}

// orRetry returns r with its zero fields set to the values of other.
func orRetry(r, other Retry) Retry {
	return Retry{
		Attempts: cmp.Or(r.Attempts, other.Attempts),
		Base:     cmp.Or(r.Base, other.Base),
		Max:      cmp.Or(r.Max, other.Max),
		For:      cmp.Or(r.For, other.For),
	}
}

// backoffOf returns the pauses between the calls.
func backoffOf(r Retry) worker.Backoff { return worker.Backoff{Base: r.Base, Max: max(r.Base, r.Max)} }

// retryPause returns how long to wait after the nth failed call, which returned err.
func retryPause(r Retry, attempts int, err error) time.Duration {
	return max(backoffOf(r).Delay(attempts), retryAfterOf(err))
}

// exhausted reports whether a record that first failed at since gets no call at next,
// after the given number of attempts.
func exhausted(r Retry, attempts int, since, next time.Time) bool {
	switch {
	case r.Attempts < 0:
		return false
	case r.Attempts > 0 && attempts >= r.Attempts:
		return true
	}

	return next.Sub(since) > r.For
}
