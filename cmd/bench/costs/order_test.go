package costs

import "testing"

// attempts is how often a bound is measured at most.
const attempts = 5

// TestAnOrderIsCheap bounds the consumption of an order of one SKU, without its payment. A busy machine adds
// renewals and repeats, which the order does not need, so one of five measurements has to be within
// the bounds.
func TestAnOrderIsCheap(t *testing.T) {
	for attempt := 1; ; attempt++ {
		use, err := PerOrder(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", use)

		within, report := true, t.Logf
		if attempt == attempts {
			report = t.Errorf
		}

		for _, c := range []struct {
			what      string
			got, most float64
		}{
			{"calls", use.Calls, 22},
			{"write units", use.Write, 24},
			{"state transitions", use.Transitions, 7},
			{"state transitions in five days", use.LongTransitions, 20},
		} {
			if c.got == 0 || c.got > c.most {
				within = false
				report("%s: %.1f, at most %.0f", c.what, c.got, c.most)
			}
		}

		if within || attempt == attempts {
			return
		}
	}
}

// TestAnOrderOfTheScenarioTakesFewCalls bounds the calls of an order in the demo's scenario, the sandbox
// carrier's included. A busy machine adds repeats and polls, so one of five measurements has to be
// within the bounds.
func TestAnOrderOfTheScenarioTakesFewCalls(t *testing.T) {
	const most, mostWritten = 31, 36

	for attempt := 1; ; attempt++ {
		use, err := PerOrderOfScenario(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s", use)

		if use.Calls > 0 && use.Calls-use.ByMinute <= most && use.Write <= mostWritten {
			return
		}

		if attempt == attempts {
			t.Fatalf("%.1f calls without those by the minute, at most %d; %.1f write units, at most %d", use.Calls-use.ByMinute, most, use.Write, mostWritten)
		}
	}
}
