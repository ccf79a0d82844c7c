package transitions_test

import (
	"os"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// placeID is the transitionId of placing an order.
const placeID transitions.TransitionID = 1

// ringSize is how many transitions an order's item remembers.
const ringSize = 8

// orders are the orders of a shop, in a database of their own.
type orders struct {
	*transitions.Orders
	*shop.Shop
	mode transitions.JournalMode
}

// moves are the operations that may move an order.
var moves = []string{"UpdateItem", "TransactWriteItems"}

// maker opens orders.
type maker = func(testing.TB) *orders

// inBothModes runs a part of the acceptance suite with each journal mode: what a caller
// sees does not depend on it.
func inBothModes(t *testing.T, test func(*testing.T, maker)) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		t.Run(mode.String(), func(t *testing.T) {
			test(t, func(t testing.TB) *orders { return newOrdersIn(t, mode) })
		})
	}
}

// inEveryMapping is inBothModes for each mapping of the orders' table, with other entities beside the orders. The
// test does not look at items.
func inEveryMapping(t *testing.T, test func(*testing.T, maker)) {
	for name, mapping := range shop.Mappings() {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
				t.Run(mode.String(), func(t *testing.T) {
					test(t, func(t testing.TB) *orders { return newMappedOrders(t, mode, mapping) })
				})
			}
		})
	}
}

// inBothModesOnVirtualTime is inBothModes where the waits between attempts take no time. The
// test must not call t.Run.
func inBothModesOnVirtualTime(t *testing.T, test func(*testing.T, maker)) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		onVirtualTime(t, func(t *testing.T) { test(t, newOrders) })
	})
}

// onVirtualTime runs a test in a bubble of synctest. With DynamoDB Local it runs on real time:
// the clock of a bubble stands still while there are connections.
func onVirtualTime(t *testing.T, test func(*testing.T)) {
	t.Helper()

	if os.Getenv(embeddedtest.LocalURL) != "" {
		test(t)
		return
	}
	synctest.Test(t, test)
}

// bubbled hides the test's deadline from rapid: inside a bubble testing.T panics when it is
// asked for.
type bubbled struct{ rapid.TB }

func newOrders(t testing.TB) *orders { return newOrdersIn(t, transitions.JournalByStream) }

func newOrdersIn(t testing.TB, mode transitions.JournalMode) *orders {
	t.Helper()

	return newMappedOrders(t, mode, transitions.Mapping{})
}

func newMappedOrders(t testing.TB, mode transitions.JournalMode, mapping transitions.Mapping) *orders {
	t.Helper()

	s := &orders{Shop: shop.Over(t, embeddedtest.Backend(t)), mode: mode}
	s.Shop.Mapping = mapping
	s.reconfigure(shop.Journal(mode))
	s.OtherEntities()

	return s
}

// reconfigure opens the orders with another configuration.
func (s *orders) reconfigure(change ...func(*transitions.Config)) {
	s.Orders = s.Shop.Orders(change...)
}

// forgetRequests opens the orders without the table of requests, so that only the journal knows
// the requests that the rings have forgotten.
func (s *orders) forgetRequests() {
	s.reconfigure(shop.Journal(s.mode), shop.WithoutRequests)
}

// place creates an order of two mugs.
func (s *orders) place(t testing.TB, id transitions.OrderID) {
	t.Helper()
	shop.Place(t, s.Orders, shop.Mugs(id, 2))
}

// want applies a request and checks the verdict.
func (s *orders) want(t testing.TB, r transitions.Request, want transitions.Verdict) transitions.Result {
	t.Helper()

	result, err := s.Apply(t.Context(), r)
	if err != nil {
		t.Fatalf("apply %+v: %v", r, err)
	}

	if result.Verdict != want {
		t.Fatalf("apply %+v: verdict %s, want %s (order %+v)", r, result.Verdict, want, result.Order)
	}

	return result
}

func given(id transitions.OrderID, event workflow.Event, n transitions.TransitionID) transitions.Request {
	return transitions.Request{OrderID: id, Event: event, TransitionID: n}
}

func keyed(id transitions.OrderID, event workflow.Event, key transitions.RequestID) transitions.Request {
	return transitions.Request{OrderID: id, Event: event, RequestID: key}
}
