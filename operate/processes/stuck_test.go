package processes_test

import (
	"fmt"
	"testing"
	"time"

	"ratchet/operate/processes"
)

// TestStuckOrdersAreOfTheirOwnerAndEnd: a page has one owner's orders; what a later survey has not found again, has
// expired or was erased is not listed, and a slow survey does not replace a later one.
func TestStuckOrdersAreOfTheirOwnerAndEnd(t *testing.T) {
	s := newFleet(t)
	now := time.Now().Truncate(time.Millisecond)

	store := func(order, kind string, found, expires time.Time) {
		t.Helper()

		err := s.StoreStuck(t.Context(), processes.StuckOrder{OrderID: order, Kind: kind, Cause: "ada fell ill", FoundAt: found, ExpiresAt: expires})
		if err != nil {
			t.Fatal(err)
		}
	}
	list := func(owner string) (ids string) {
		t.Helper()

		for after, pages := "", 0; pages < 20; pages++ {
			page, next, err := s.Stuck(t.Context(), owner, now, after, 2)
			if err != nil {
				t.Fatal(err)
			}

			for _, o := range page {
				ids += fmt.Sprint(o.OrderID, "/", o.Kind, " ")
			}

			if after = next; after == "" {
				return ids
			}
		}
		t.Fatal("no end")

		return ""
	}

	later := now.Add(time.Hour)
	for i := range 5 {
		store(fmt.Sprintf("o-%d", i), "failed", now, later)
	}
	store("o-1", "lost_parcel", now, later)
	store("acme:o-1", "failed", now, later)
	store("o-6", "failed", now.Add(-time.Hour), later)                 // not found again
	store("o-7", "failed", now, now.Add(-time.Minute))                 // expired
	store("o-8", "failed", now.Add(time.Minute), later)                // of a later survey
	store("o-8", "failed", now.Add(-time.Hour), now.Add(-1*time.Hour)) // a slow one comes late

	if got := list("acme"); got != "acme:o-1/failed " {
		t.Errorf("acme: %s", got)
	}

	if got := list(""); got != "o-0/failed o-1/failed o-1/lost_parcel o-2/failed o-3/failed o-4/failed o-8/failed " {
		t.Errorf("%s", got)
	}

	if err := s.ForgetStuck(t.Context(), "o-1"); err != nil {
		t.Fatal(err)
	}

	if got := list(""); got != "o-0/failed o-2/failed o-3/failed o-4/failed o-8/failed " {
		t.Errorf("after the erasure: %s", got)
	}
}
