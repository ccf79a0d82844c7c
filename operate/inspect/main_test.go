package inspect_test

import (
	"testing"

	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// orders are the orders of a shop, on an embedded engine of their own.
type orders struct {
	*transitions.Orders
	*shop.Shop
}

// newOrders opens orders whose journal the test writes (see shop.Record).
func newOrders(t testing.TB) *orders { return newOrdersIn(t, transitions.JournalByStream) }

func newOrdersIn(t testing.TB, mode transitions.JournalMode) *orders {
	t.Helper()

	s := shop.Over(t, embeddedtest.Open(t).AWSConfig())

	return &orders{Orders: s.Orders(shop.Journal(mode)), Shop: s}
}

// place creates an order of two mugs.
func (s *orders) place(t testing.TB, id transitions.OrderID) {
	t.Helper()
	shop.Place(t, s.Orders, shop.Mugs(id, 2))
}

// want applies a request and checks the verdict.
func (s *orders) want(t testing.TB, r transitions.Request, want transitions.Verdict) {
	t.Helper()

	result, err := s.Apply(t.Context(), r)
	if err != nil || result.Verdict != want {
		t.Fatalf("apply %+v: verdict %s, error %v, want %s (order %+v)", r, result.Verdict, err, want, result.Order)
	}
}

func given(id transitions.OrderID, event workflow.Event, n transitions.TransitionID) transitions.Request {
	return transitions.Request{OrderID: id, Event: event, TransitionID: n}
}

func keyed(id transitions.OrderID, event workflow.Event, key transitions.RequestID) transitions.Request {
	return transitions.Request{OrderID: id, Event: event, RequestID: key}
}
