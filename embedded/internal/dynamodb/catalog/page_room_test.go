package catalog

import "testing"

// The memory of a page follows the needs of the pages before it, within bounds.
func TestRoomOfPages(t *testing.T) {
	var r pageRoom
	if got := r.First(); got != firstRoom {
		t.Errorf("before any page: %d", got)
	}

	for range 30 {
		r.Learn(40_000)
	}

	if got := r.First(); got < 40_000 || got > 50_000 {
		t.Errorf("after pages of 40,000 bytes: %d", got)
	}

	for range 30 {
		r.Learn(4_000_000)
	}

	if got := r.First(); got != maxFirstRoom {
		t.Errorf("after pages of 4,000,000 bytes: %d", got)
	}

	for range 60 {
		r.Learn(300)
	}

	if got := r.First(); got != firstRoom {
		t.Errorf("after pages of 300 bytes: %d", got)
	}
}
