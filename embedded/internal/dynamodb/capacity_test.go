package dynamodb

import (
	"testing"

	"ratchet/embedded/internal/dynamodb/capacity"
)

func TestCapacityUnits(t *testing.T) {
	for bytes, want := range map[int]capacity.Units{0: 2, 1: 2, 4096: 2, 4097: 4, 8192: 4, 400 << 10: 200} {
		if got := capacity.Read(bytes, true); got != want {
			t.Errorf("consistent read of %d bytes: %d halves, want %d", bytes, got, want)
		}

		if got := capacity.Read(bytes, false); got != want/2 {
			t.Errorf("eventually consistent read of %d bytes: %d halves, want %d", bytes, got, want/2)
		}
	}
}
