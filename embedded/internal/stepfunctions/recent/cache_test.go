package recent

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ratchet/embedded/internal/stepfunctions/keys"
)

// TestTheLeastRecentlyUsedIsDropped compares recent with a list of the keys in the order of their use.
func TestTheLeastRecentlyUsedIsDropped(t *testing.T) {
	const size = most / 4 // of a state: four and what an entry takes do not fit

	state := make([]byte, size)

	rapid.Check(t, func(t *rapid.T) {
		var (
			r    Cache
			used []uint64 // newest first
		)

		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			id := rapid.Uint64Range(1, 5).Draw(t, "id")
			key := keys.Execution{Machine: 1, ID: id}
			known := slices.Contains(used, id)

			switch rapid.SampledFrom([]string{"get", "put", "remove"}).Draw(t, "what") {
			case "get":
				item, ok := r.Get(key)
				if ok != known || ok && (item.key != key || len(item.State) != size || item.Chunk != int64(id)) {
					t.Fatalf("%d: %v, %d bytes, chunk %d; known: %v", id, ok, len(item.State), item.Chunk, known)
				}

				if ok {
					used = slices.Insert(slices.DeleteFunc(used, func(u uint64) bool { return u == id }), 0, id)
				}
			case "put":
				chunk := int64(id)
				if known {
					chunk = 0 // keeps the turn
				}
				r.Put(key, state, chunk, nil)
				used = slices.Insert(slices.DeleteFunc(used, func(u uint64) bool { return u == id }), 0, id)
				used = used[:min(len(used), 3)]
			case "remove":
				r.Remove(key)
				used = slices.DeleteFunc(used, func(u uint64) bool { return u == id })
			}

			if len(r.items) != len(used) || r.bytes != len(used)*(size+itemOverhead) {
				t.Fatalf("%d entries of %d bytes, want %d", len(r.items), r.bytes, len(used))
			}

			at := r.newest
			for _, id := range used {
				if at == nil || at.key.ID != id || r.items[at.key] != at {
					t.Fatalf("the order of use is not %v", used)
				}
				at = at.older
			}
		}
	})
}
