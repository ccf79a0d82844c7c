package costs

import "testing"

// TestAnOrderIsCheap bounds the consumption of an order of one SKU, without its payment.
func TestAnOrderIsCheap(t *testing.T) {
	use, err := PerOrder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", use)

	for _, c := range []struct {
		what      string
		got, most float64
	}{
		{"calls", use.Calls, 28},
		{"write units", use.Write, 24},
		{"state transitions", use.Transitions, 7},
		{"state transitions in five days", use.LongTransitions, 20},
	} {
		if c.got == 0 || c.got > c.most {
			t.Errorf("%s: %.1f, at most %.0f", c.what, c.got, c.most)
		}
	}
}
