package inspect_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a set of orders on an embedded engine of its own.
type shop struct {
	*transitions.Orders
	db *dynamodb.Client
}

// newShop opens a shop whose journal is written by the test (see record).
func newShop(t testing.TB) *shop { return newShopIn(t, transitions.JournalByStream) }

func newShopIn(t testing.TB, mode transitions.JournalMode) *shop {
	t.Helper()
	s := &shop{db: embeddedtest.DynamoDB(t, transitions.OrdersTable("orders"), transitions.JournalTable("events"))}
	s.reconfigure(t, func(c *transitions.Config) { c.Journal = mode })

	return s
}

// reconfigure gives the shop orders with another configuration.
func (s *shop) reconfigure(t testing.TB, change func(*transitions.Config)) {
	t.Helper()
	cfg := transitions.Config{DynamoDB: s.db, Table: "orders", JournalTable: "events", Log: embeddedtest.Quiet()}
	change(&cfg)

	var err error
	if s.Orders, err = transitions.New(cfg); err != nil {
		t.Fatal(err)
	}
}

// place creates an order with one line.
func (s *shop) place(t testing.TB, id transitions.OrderID) {
	t.Helper()

	result, err := s.Create(t.Context(), transitions.NewOrder{
		ID:    id,
		Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
		Total: transitions.Money{Amount: 2500, Currency: "EUR"},
	})
	if err != nil || result.Verdict != transitions.Applied {
		t.Fatalf("place %s: verdict %s, error %v", id, result.Verdict, err)
	}
}

// want applies a request and checks the verdict.
func (s *shop) want(t testing.TB, r transitions.Request, want transitions.Verdict) {
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

// item reads the order's raw item.
func (s *shop) item(t testing.TB, id transitions.OrderID) map[string]types.AttributeValue {
	t.Helper()

	out, err := s.db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String("orders"),
		Key:       map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(id)}},
	})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

// record writes the journal row of the order's newest transition, as the stream's
// reaction would.
func (s *shop) record(t testing.TB, old, now map[string]types.AttributeValue) {
	t.Helper()

	change, grew, err := transitions.FromRecord(old, now)
	if err != nil || !grew {
		t.Fatalf("FromRecord: grew %v, error %v", grew, err)
	}

	if err := s.Record(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

// toAndFro moves a delivered order between DELIVERED and RETURN_REQUESTED until its
// newest transition is to. Rows go into the journal up to the given id.
func (s *shop) toAndFro(t *testing.T, order transitions.OrderID, to, journalUpTo transitions.TransitionID) {
	t.Helper()
	s.place(t, order)
	now := s.item(t, order)
	s.record(t, nil, now)

	events := map[transitions.TransitionID]workflow.Event{2: workflow.Pay, 3: workflow.Ship, 4: workflow.Deliver}
	for id := transitions.TransitionID(2); id <= to; id++ {
		event := events[id]
		if event == "" {
			event = workflow.RequestReturn
			if id%2 == 0 {
				event = workflow.RejectReturn
			}
		}
		s.want(t, given(order, event, id), transitions.Applied)

		old := now
		if now = s.item(t, order); id <= journalUpTo {
			s.record(t, old, now)
		}
	}
}
