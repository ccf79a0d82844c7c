package replay

import (
	"testing"

	"ratchet/streams/leases"
)

func TestParentsComeBeforeTheirChildren(t *testing.T) {
	t.Parallel()

	ordered := parentsFirst([]leases.Lease{{Shard: "c", Parent: "b"}, {Shard: "a"}, {Shard: "b", Parent: "a"}})
	for i, shard := range []string{"a", "b", "c"} {
		if ordered[i].Shard != shard {
			t.Errorf("place %d has shard %s, want %s", i, ordered[i].Shard, shard)
		}
	}
}
