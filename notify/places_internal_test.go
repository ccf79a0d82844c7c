package notify

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPlacesAreNeitherLostNorMade: whatever endpoints take, exchange and give back, each kind of place
// stays as many as there were, and no endpoint holds less than none.
func TestPlacesAreNeitherLostNorMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := places{quick: rapid.IntRange(0, 4).Draw(t, "quick"), slow: rapid.IntRange(0, 4).Draw(t, "slow")}
		p, endpoints := total, make([]held, 3)

		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			h := &endpoints[rapid.IntRange(0, len(endpoints)-1).Draw(t, "endpoint")]
			slow := rapid.Bool().Draw(t, "is slow")

			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				if p.has(slow) {
					p.take(h, slow)
				}
			case 1:
				if h.quick+h.slow > 0 {
					p.giveBack(h)
				}
			default:
				p.slowDown(h)
			}

			sum := p
			for _, h := range endpoints {
				if h.quick < 0 || h.slow < 0 {
					t.Fatalf("an endpoint holds %+v", h)
				}
				sum.quick, sum.slow = sum.quick+h.quick, sum.slow+h.slow
			}

			if sum != total || p.quick < 0 || p.slow < 0 {
				t.Fatalf("%+v are free and %+v held of %+v", p, endpoints, total)
			}
		}
	})
}
