package api

import (
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds how many callers are remembered.
const maxBuckets = 10_000

// buckets holds one token bucket per caller.
type buckets struct {
	rate  rate.Limit
	burst int
	now   func() time.Time

	mu sync.Mutex
	of map[string]*rate.Limiter
}

func newBuckets(perSecond float64, burst int, now func() time.Time) *buckets {
	return &buckets{rate: rate.Limit(perSecond), burst: burst, now: now, of: map[string]*rate.Limiter{}}
}

// take takes a token of the caller, or says when there will be one.
func (b *buckets) take(caller string) *problem {
	if b.rate < 0 {
		return nil
	}

	now := b.now()
	bucket := b.bucket(caller, now)
	if bucket.AllowN(now, 1) {
		return nil
	}

	return b.limited(bucket.TokensAt(now))
}

// spent says when there will be a token, if the caller has none. It takes none.
func (b *buckets) spent(caller string) *problem {
	if b.rate < 0 {
		return nil
	}

	now := b.now()
	if tokens := b.bucket(caller, now).TokensAt(now); tokens < 1 {
		return b.limited(tokens)
	}

	return nil
}

// owe takes a token, also one that is not there yet.
func (b *buckets) owe(caller string) {
	if b.rate > 0 {
		now := b.now()
		b.bucket(caller, now).ReserveN(now, 1)
	}
}

func (b *buckets) limited(tokens float64) *problem {
	wait := math.Ceil((1 - tokens) / float64(b.rate))
	return newProblem(http.StatusTooManyRequests, "rate_limited", "Too many requests of this caller.").later(max(1, int(wait)))
}

func (b *buckets) bucket(caller string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()

	if known, found := b.of[caller]; found {
		return known
	}

	if len(b.of) >= maxBuckets {
		b.forget(now)
	}
	fresh := rate.NewLimiter(b.rate, b.burst)
	b.of[caller] = fresh

	return fresh
}

// forget drops the fullest of a few buckets: one that is full is as good as new.
func (b *buckets) forget(now time.Time) {
	const looked = 32
	fullest, most, n := "", -1.0, 0
	for caller, bucket := range b.of {
		if tokens := bucket.TokensAt(now); tokens > most {
			fullest, most = caller, tokens
		}

		if n++; n == looked {
			break
		}
	}
	delete(b.of, fullest)
}
