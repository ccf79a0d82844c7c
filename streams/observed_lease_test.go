package streams

import (
	"testing"
	"time"
)

func TestLeasesAreReadAgainWhenOneExpires(t *testing.T) {
	const lease, interval = 10 * time.Second, time.Second
	now := time.Now()

	for _, c := range []struct {
		name  string
		lease Lease
		age   time.Duration // since the lease last changed
		want  time.Duration
	}{
		{name: "renewed lately", lease: Lease{Shard: "s", Owner: "a"}, age: 3 * time.Second, want: interval},
		{name: "about to expire", lease: Lease{Shard: "s", Owner: "a"}, age: 9700 * time.Millisecond, want: 300 * time.Millisecond},
		{name: "expired, and taken by another worker perhaps", lease: Lease{Shard: "s", Owner: "a"}, age: 11 * time.Second, want: interval},
		{name: "free", lease: Lease{Shard: "s"}, age: 9700 * time.Millisecond, want: interval},
		{name: "finished", lease: Lease{Shard: "s", Owner: "a", FinishedAt: now}, age: 9700 * time.Millisecond, want: interval},
	} {
		observed := map[string]*observedLease{"s": {Lease: c.lease, unchangedSince: now.Add(-c.age)}}
		if got := pauseUntilExpiry(observed, now, lease, interval); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
