package erasure_test

import (
	"context"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/erasure"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
)

// lateRequests places a request for later after the first requests were forgotten.
type lateRequests struct {
	*scheduled.Schedule
	place func()
}

func (l *lateRequests) Forget(ctx context.Context, id transitions.OrderID) (int, error) {
	n, err := l.Schedule.Forget(ctx, id)
	l.place()
	l.place = func() {}

	return n, err
}

// TestARequestThatIsPlacedDuringTheErasureIsForgotten: it is placed before the order counts as erased, and may name the
// person.
func TestARequestThatIsPlacedDuringTheErasureIsForgotten(t *testing.T) {
	a := newArchive(t)
	a.ended()
	embeddedtest.Create(t, a.db, scheduled.TableInput("scheduled"), timers.TableInput("orders-due"))
	later := must(scheduled.New(scheduled.Config{DynamoDB: a.db, Table: "scheduled", DueTable: "orders-due", Orders: a.orders, Log: embeddedtest.Quiet()}))(t)

	placed := 0
	place := func() {
		r := transitions.Request{OrderID: "o-1", Event: "cancel", RequestID: "late", Cause: transitions.Cause{Text: "ada asked"}}
		if _, err := later.Place(t.Context(), r, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		placed++
	}

	_, err := a.eraser(func(c *erasure.Config) { c.Scheduled = &lateRequests{later, place} }).Erase(t.Context(), "o-1")
	if err != nil || placed != 1 {
		t.Fatalf("%d requests were placed, %v", placed, err)
	}

	if left, _, err := later.OfOrder(t.Context(), "o-1"); err != nil || len(left) != 0 {
		t.Errorf("%d requests are left, %v", len(left), err)
	}
}
