package shop

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/transitions"
	"ratchet/workflow"
)

// Journal is a change of the configuration: who writes the journal.
func Journal(mode transitions.JournalMode) func(*transitions.Config) {
	return func(c *transitions.Config) { c.Journal = mode }
}

// WithoutRequests is a change of the configuration: a request that has left the ring of its order leaves
// no row.
func WithoutRequests(c *transitions.Config) { c.RequestsTable = "" }

// Version is a change of the configuration: orders have the usual definition under the version.
func Version(t testing.TB, version int) func(*transitions.Config) {
	t.Helper()

	spec := workflow.Order().Spec()
	spec.Version = version

	definition, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	return func(c *transitions.Config) { c.Definition = definition }
}

// Mugs returns an order with one line: mugs at 12.50 EUR each.
func Mugs(id transitions.OrderID, quantity int64) transitions.NewOrder {
	return transitions.NewOrder{
		ID:    id,
		Items: []transitions.Item{{SKU: "mug", Quantity: quantity, Price: 1250}},
		Total: transitions.Money{Amount: 1250 * quantity, Currency: "EUR"},
	}
}

// Place creates an order, which must be new.
func Place(t testing.TB, orders *transitions.Orders, order transitions.NewOrder) {
	t.Helper()

	result, err := orders.Create(t.Context(), order)
	if err != nil || result.Verdict != transitions.Applied {
		t.Fatalf("place %s: verdict %s, error %v", order.ID, result.Verdict, err)
	}
}

// Item reads the order's raw item.
func (s *Shop) Item(t testing.TB, id transitions.OrderID) map[string]types.AttributeValue {
	t.Helper()

	out, err := s.DB.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(OrdersTable),
		Key:       s.Mapping.ItemKey(id),
	})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

// Record writes the journal row of the newest transition between two images of an order, as a handler
// of the stream does.
func Record(t testing.TB, orders *transitions.Orders, old, now map[string]types.AttributeValue) {
	t.Helper()

	change, grew, err := orders.Mapping().FromRecord(old, now)
	if err != nil || !grew {
		t.Fatalf("FromRecord: grew %v, error %v", grew, err)
	}

	if err := orders.Record(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

// ToAndFro places an order of two mugs, moves it to DELIVERED, and then between RETURN_REQUESTED and
// DELIVERED until its transitionId is to. The journal gets the rows up to the given id.
func (s *Shop) ToAndFro(t testing.TB, orders *transitions.Orders, id transitions.OrderID, to, journalUpTo transitions.TransitionID) {
	t.Helper()
	Place(t, orders, Mugs(id, 2))
	now := s.Item(t, id)
	Record(t, orders, nil, now)

	events := map[transitions.TransitionID]workflow.Event{2: workflow.Pay, 3: workflow.Ship, 4: workflow.Deliver}
	for n := transitions.TransitionID(2); n <= to; n++ {
		event := events[n]
		if event == "" {
			event = workflow.RequestReturn
			if n%2 == 0 {
				event = workflow.RejectReturn
			}
		}

		result, err := orders.Apply(t.Context(), transitions.Request{OrderID: id, Event: event, TransitionID: n})
		if err != nil || result.Verdict != transitions.Applied {
			t.Fatalf("%s as transition %d of %s: verdict %s, error %v", event, n, id, result.Verdict, err)
		}

		old := now
		if now = s.Item(t, id); n <= journalUpTo {
			Record(t, orders, old, now)
		}
	}
}
