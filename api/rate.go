package api

import (
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets is the largest number of remembered callers.
const maxBuckets = 10_000

// rateLimiter holds one token bucket per caller. With a negative limit it allows
// everything.
type rateLimiter struct {
	limit rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

func newRateLimiter(perSecond float64, burst int, now func() time.Time) *rateLimiter {
	return &rateLimiter{limit: rate.Limit(perSecond), burst: burst, now: now, buckets: map[string]*rate.Limiter{}}
}

// allow takes a token of the caller. If there is none, it returns the problem that says
// when there will be one.
func (l *rateLimiter) allow(caller string) *problem {
	if l.limit < 0 {
		return nil
	}

	now := l.now()

	bucket := l.bucket(caller, now)
	if bucket.AllowN(now, 1) {
		return nil
	}

	return l.limited(bucket.TokensAt(now))
}

// exhausted returns the problem that allow would return, without taking a token.
func (l *rateLimiter) exhausted(caller string) *problem {
	if l.limit < 0 {
		return nil
	}

	now := l.now()
	if tokens := l.bucket(caller, now).TokensAt(now); tokens < 1 {
		return l.limited(tokens)
	}

	return nil
}

// charge takes a token of the caller, even if there is none: the caller then waits longer.
func (l *rateLimiter) charge(caller string) {
	if l.limit > 0 {
		now := l.now()
		l.bucket(caller, now).ReserveN(now, 1)
	}
}

func (l *rateLimiter) limited(tokens float64) *problem {
	seconds := math.Ceil((1 - tokens) / float64(l.limit))
	return newProblem(http.StatusTooManyRequests, "rate_limited", "Too many requests of this caller.").retryAfter(max(1, int(seconds)))
}

func (l *rateLimiter) bucket(caller string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()

	if bucket, found := l.buckets[caller]; found {
		return bucket
	}

	if len(l.buckets) >= maxBuckets {
		l.evict(now)
	}

	bucket := rate.NewLimiter(l.limit, l.burst)
	l.buckets[caller] = bucket

	return bucket
}

// evict removes the fullest of a few buckets. Removing a full bucket changes nothing: the
// caller's next one is full, too.
func (l *rateLimiter) evict(now time.Time) {
	const sample = 32

	fullest, most, n := "", -1.0, 0
	for caller, bucket := range l.buckets {
		if tokens := bucket.TokensAt(now); tokens > most {
			fullest, most = caller, tokens
		}

		if n++; n == sample {
			break
		}
	}

	delete(l.buckets, fullest)
}
