package notify_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"ratchet/transitions"
)

// TestVersionTwoSaysWhy: the cause is a new optional member, and version 1 does not have it.
func TestVersionTwoSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.everyFormat()
		d := h.worker()
		defer h.run(d)()

		canceled := notice("o-1", 2, "CANCELLED")
		canceled.Cause = transitions.Cause{
			Code: "out-of-stock", Text: "out of stock: mug, wanted 2, 1 left", Actor: "execution:o-1", Source: "execution",
			Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		}
		h.accept(d, canceled)

		for id, s := range formats() {
			messages := h.at(id).messages
			if len(messages) != 1 {
				t.Fatalf("%s: %d messages", id, len(messages))
			}

			body := messages[0].Body

			if err := check(t, s, body); err != nil {
				t.Errorf("%s: %v", id, err)
			}

			shown := strings.Contains(string(body), `"cause":{"code":"out-of-stock","text":"out of stock: mug, wanted 2, 1 left"`)
			if shown != (s.Version == 2) {
				t.Errorf("%s: %s", id, body)
			}
		}

		stored, err := d.OfOrder(t.Context(), "o-1")
		if err != nil || len(stored) == 0 {
			t.Fatal(stored, err)
		}

		for _, delivery := range stored {
			if delivery.Cause != canceled.Cause {
				t.Errorf("stored: %+v", delivery.Cause)
			}
		}
	})
}
