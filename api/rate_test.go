package api

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnlyFullBucketsAreForgotten: of 10,000 tenants that have used a token each, the tenant whose bucket
// is full again is forgotten for a new tenant, wherever the bucket is. So no tenant gets new tokens by
// being forgotten, as long as there is a full bucket.
func TestOnlyFullBucketsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTenantLimiter(1, nil)
		random := rand.New(rand.NewPCG(1, 2))

		tenant := func(i int) string { return fmt.Sprintf("tenant-%d", i) }
		for i := range maxBuckets {
			l.allow(tenant(i))
		}

		rounds := 40
		if testing.Short() {
			rounds = 20
		}

		for i := range rounds {
			time.Sleep(10 * time.Second) // every bucket is full again

			now := time.Now()
			idle := random.IntN(maxBuckets)
			for caller := range l.buckets {
				if b := l.buckets[caller]; idle != 0 {
					b.AllowN(now, 2)
					idle--
				}
			}

			full := map[string]bool{}
			for caller, b := range l.buckets {
				if b.fullIn(now) == 0 {
					full[caller] = true
				}
			}

			l.allow(tenant(maxBuckets + i))

			if len(l.buckets) != maxBuckets || len(l.order) != maxBuckets {
				t.Fatalf("%d buckets, %d in their order, want %d", len(l.buckets), len(l.order), maxBuckets)
			}

			forgotten := 0
			for caller := range full {
				if _, found := l.buckets[caller]; !found {
					forgotten++
				}
			}

			if forgotten != 1 {
				t.Fatalf("round %d: %d of %d full buckets are forgotten for a new one, want 1", i, forgotten, len(full))
			}
		}
	})
}

// TestTheBucketThatIsFullFirstIsForgotten if none is full.
func TestTheBucketThatIsFullFirstIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTenantLimiter(1, map[string]float64{"slow": 0.001, "fast": 1000})

		l.allow("slow")
		l.allow("fast")

		for i := range maxBuckets - 2 {
			l.allow(fmt.Sprintf("tenant-%d", i))
		}

		l.allow("new")
		l.allow("newer")

		if _, found := l.buckets["fast"]; found {
			t.Error("the bucket that is full in a millisecond was kept")
		}

		if _, found := l.buckets["slow"]; !found || len(l.buckets) != maxBuckets {
			t.Errorf("the bucket that is full in 1,000 s was forgotten; %d buckets", len(l.buckets))
		}
	})
}
