package lineage

import (
	"fmt"
	"testing"
	"time"

	"ratchet/streams/leases"
)

// TestSinceWhenAFirstListingAsksForRecords: from when reading began, or a shard was created after that.
// Otherwise a shard that is young would count as unread for a day.
func TestSinceWhenAFirstListingAsksForRecords(t *testing.T) {
	begunAt := time.Now().Add(-30 * time.Hour).Truncate(time.Millisecond)
	state := &leases.StreamState{BegunAt: begunAt}
	d := &Discovery{Cfg: &Config{Horizon: Horizon}}

	for _, test := range []struct {
		name            string
		createdAt, want time.Time
	}{
		{"a shard that was there", begunAt.Add(-time.Hour), begunAt},
		{"one of the same moment", begunAt, begunAt},
		{"one that has come since", begunAt.Add(time.Hour), begunAt.Add(time.Hour)},
	} {
		lease := d.firstLeases(Listing{}, state)(fmt.Sprintf("shardId-%020d-0a", test.createdAt.UnixMilli()), "")
		if !lease.ListedAt.Equal(test.want) {
			t.Errorf("%s, created at %v: asked for since %v, want %v", test.name, test.createdAt, lease.ListedAt, test.want)
		}
	}

	// An id that does not say when the shard was created.
	if lease := d.firstLeases(Listing{}, state)("shard", ""); !lease.ListedAt.Equal(begunAt) {
		t.Errorf("asked for since %v, want %v", lease.ListedAt, begunAt)
	}
}
