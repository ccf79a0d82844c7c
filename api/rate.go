package api

import (
	"container/heap"
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
	// own has the limits of callers that differ from limit.
	own map[string]rate.Limit

	mu      sync.Mutex // also held while a token is taken, so that no bucket in use is evicted
	buckets map[string]*bucket
	order   bucketOrder
}

// bucket holds the tokens of a caller.
type bucket struct {
	*rate.Limiter

	caller string
	// fullAt is when the bucket is full again, or an earlier time: it is not moved when a token is
	// taken, but when the bucket could be evicted.
	fullAt time.Time
}

// fullIn returns how long the bucket takes to be full again, 0 if it is.
func (b *bucket) fullIn(now time.Time) time.Duration {
	missing := float64(b.Burst()) - b.TokensAt(now)

	switch {
	case missing <= 0:
		return 0
	// Without a rate the bucket is never full again.
	case b.Limit() <= 0:
		return math.MaxInt64
	}

	// Bounded, because the caller adds it to a time.
	return time.Duration(min(missing/float64(b.Limit())*float64(time.Second), math.MaxInt64/2))
}

func newRateLimiter(perSecond float64, burst int) *rateLimiter {
	return &rateLimiter{limit: rate.Limit(perSecond), burst: burst, buckets: map[string]*bucket{}}
}

// newTenantLimiter limits all callers of a tenant together. The burst of a tenant is as large as its
// limit for two seconds.
func newTenantLimiter(perSecond float64, own map[string]float64) *rateLimiter {
	l := newRateLimiter(perSecond, burstOf(perSecond))

	l.own = make(map[string]rate.Limit, len(own))
	for tenant, limit := range own {
		l.own[tenant] = rate.Limit(limit)
	}

	return l
}

// burstOf returns the burst of a rate.
func burstOf(perSecond float64) int { return max(1, int(2*perSecond)) }

// limitOf returns the caller's limit, negative for none.
func (l *rateLimiter) limitOf(caller string) rate.Limit {
	if limit, has := l.own[caller]; has {
		return limit
	}

	return l.limit
}

// allow takes a token of the caller. If there is none, it returns the problem that says
// when there will be one.
func (l *rateLimiter) allow(caller string) *problem {
	if l.limitOf(caller) < 0 {
		return nil
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()

	b := l.bucket(caller, now)
	if b.AllowN(now, 1) {
		return nil
	}

	return limited(b.Limit(), b.TokensAt(now))
}

// exhausted returns the problem that allow would return, without taking a token.
func (l *rateLimiter) exhausted(caller string) *problem {
	if l.limit < 0 {
		return nil
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()
	if tokens := l.bucket(caller, now).TokensAt(now); tokens < 1 {
		return limited(l.limit, tokens)
	}

	return nil
}

// charge takes a token of the caller, even if there is none: the caller then waits longer.
func (l *rateLimiter) charge(caller string) {
	if l.limit > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()

		now := time.Now()
		// Unlike AllowN, a reservation takes a token that is not there yet.
		l.bucket(caller, now).ReserveN(now, 1)
	}
}

func limited(limit rate.Limit, tokens float64) *problem {
	seconds := math.Ceil((1 - tokens) / float64(limit))
	return newProblem(http.StatusTooManyRequests, "rate_limited", "Too many requests of this caller or its tenant.").retryAfter(max(1, int(seconds)))
}

// bucket returns the caller's bucket, a new and full bucket if there is none. l.mu must be held.
func (l *rateLimiter) bucket(caller string, now time.Time) *bucket {
	if b, found := l.buckets[caller]; found {
		return b
	}

	if len(l.buckets) >= maxBuckets {
		l.evict(now)
	}

	b := &bucket{Limiter: rate.NewLimiter(l.limit, l.burst), caller: caller, fullAt: now}
	if limit, has := l.own[caller]; has {
		b.Limiter = rate.NewLimiter(limit, burstOf(float64(limit)))
	}
	l.buckets[caller] = b
	heap.Push(&l.order, b)

	return b
}

// evict removes a full bucket, which changes nothing: the caller's next bucket is full, too. If no
// bucket is full, it removes the bucket that would be full first.
//
// The times in the heap were computed by earlier evictions. A bucket whose time has become wrong moves
// back, until the first bucket's time is right. A time becomes wrong only by a token that was taken
// since, so there are no more steps than tokens.
func (l *rateLimiter) evict(now time.Time) {
	for {
		first := l.order[0]

		wait := first.fullIn(now)
		if fullAt := now.Add(wait); wait > 0 && fullAt.After(first.fullAt) {
			first.fullAt = fullAt
			heap.Fix(&l.order, 0)

			continue
		}

		heap.Pop(&l.order)
		delete(l.buckets, first.caller)

		return
	}
}

// bucketOrder is a heap of buckets by fullAt.
type bucketOrder []*bucket

func (o bucketOrder) Len() int           { return len(o) }
func (o bucketOrder) Less(i, j int) bool { return o[i].fullAt.Before(o[j].fullAt) }
func (o bucketOrder) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }

// Push adds a bucket.
func (o *bucketOrder) Push(b any) { *o = append(*o, b.(*bucket)) } //nolint:forcetypeassert // only buckets are pushed

// Pop removes the last bucket.
func (o *bucketOrder) Pop() any {
	last := len(*o) - 1
	b := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]

	return b
}
