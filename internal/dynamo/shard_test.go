package dynamo_test

import (
	"testing"

	"ratchet/internal/dynamo"
)

// TestTheShardOfATextNeverChanges: rows are stored under these numbers.
func TestTheShardOfATextNeverChanges(t *testing.T) {
	for text, want := range map[string]int{"": 5, "o-1": 8, "o-2": 1, "order-ä": 9} {
		if got := dynamo.Shard(text, 16); got != want {
			t.Errorf("%q: shard %d, want %d", text, got, want)
		}
	}
}
