package orders

import (
	"bytes"
	"context"
	"testing"
	"time"

	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/transitions"
)

// TestVerifyCountsWhatTheWorkersHaveNotHandled: a journal that ends early is no mismatch while the stream is
// behind, however long, or while the change waits in the journal's retry queue.
func TestVerifyCountsWhatTheWorkersHaveNotHandled(t *testing.T) {
	handled := time.Now().Add(-5 * time.Minute)

	for _, row := range []struct {
		name    string
		since   time.Time
		waits   bool
		lagging int
	}{
		{"after what was handled", handled.Add(time.Second), false, 1},
		{"before it", handled.Add(-time.Second), false, 0},
		{"before it, and it waits", handled.Add(-time.Second), true, 1},
	} {
		v := &verification{
			context: t.Context(), out: &bytes.Buffer{},
			lag: server.JournalLag{
				Since: handled,
				Waits: func(context.Context, transitions.OrderID) (bool, error) { return row.waits, nil },
			},
		}

		err := v.add(inspect.Check{OrderID: "o-1", Findings: []inspect.Finding{{Kind: inspect.FindingBehind, Since: row.since}}})
		if err != nil || v.counts.Lagging != row.lagging || v.counts.Mismatched != 1-row.lagging {
			t.Errorf("%s: %+v, %v", row.name, v.counts, err)
		}
	}
}
