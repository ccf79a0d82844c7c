package sandbox_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/shipping"
)

// TestAHeldParcelDoesNotLeave, also if the hold came before the booking, until the hold ends. A late call
// undoes none that was made after it.
func TestAHeldParcelDoesNotLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t)

		var (
			mu   sync.Mutex // the reports of several shipments come at once
			left []string
		)

		carrier := newCarrier(t, db, func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, r.Shipment+" "+string(r.Milestone))

			return shipping.Accepted, nil
		})
		hold := func(key string, at int64, held, wantLeft bool) {
			t.Helper()

			if gone, err := carrier.Hold(t.Context(), key, at, held); err != nil || gone != wantLeft {
				t.Errorf("hold of %s by %d: left %t, %v", key, at, gone, err)
			}
		}
		run := func() {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()

			if err := carrier.Run(ctx); err != nil {
				t.Error(err)
			}
		}

		hold("early", 3, true, false)
		book(t, carrier, "early", "o-1")
		book(t, carrier, "late", "o-2")
		hold("late", 3, true, false)
		book(t, carrier, "free", "o-3")
		hold("free", 4, false, false)
		hold("free", 3, true, false) // it was sent before the end of the hold, and comes after it
		run()

		if want := []string{"free shipped", "free delivered"}; !slices.Equal(left, want) {
			t.Fatalf("reported %q, want %q", left, want)
		}
		hold("free", 5, true, true)
		hold("early", 4, false, false)
		hold("late", 4, false, false)
		run()

		if !slices.Contains(left, "early delivered") || !slices.Contains(left, "late delivered") {
			t.Errorf("reported %q", left)
		}
	})
}
