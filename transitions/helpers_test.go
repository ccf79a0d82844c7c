package transitions_test

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// placeID is the transitionId of placing an order.
const placeID transitions.TransitionID = 1

// ringSize is how many transitions an order's item remembers.
const ringSize = 8

// shop is a set of orders in a database of its own.
type shop struct {
	*transitions.Orders
	db *dynamodb.Client
	// wire carries every call of db; a test may interfere with it.
	wire *embeddedtest.Transport
	mode transitions.JournalMode
}

// moves are the operations that may move an order.
var moves = []string{"UpdateItem", "TransactWriteItems"}

// maker opens a shop.
type maker = func(testing.TB) *shop

// inBothModes runs a part of the acceptance suite with each journal mode: what a caller
// sees does not depend on it.
func inBothModes(t *testing.T, test func(*testing.T, maker)) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		t.Run(mode.String(), func(t *testing.T) {
			test(t, func(t testing.TB) *shop { return newShopIn(t, mode) })
		})
	}
}

// inBothModesOnVirtualTime is inBothModes where the waits between attempts take no time. The
// test must not call t.Run.
func inBothModesOnVirtualTime(t *testing.T, test func(*testing.T, maker)) {
	inBothModes(t, func(t *testing.T, newShop maker) {
		onVirtualTime(t, func(t *testing.T) { test(t, newShop) })
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

func newShop(t testing.TB) *shop { return newShopIn(t, transitions.JournalByStream) }

func newShopIn(t testing.TB, mode transitions.JournalMode) *shop {
	t.Helper()

	cfg := embeddedtest.Backend(t)
	s := &shop{mode: mode, wire: embeddedtest.Intercept(&cfg)}
	s.db = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, s.db, transitions.OrdersTable("orders"), transitions.JournalTable("events"), transitions.RequestsTable("requests"))
	s.reconfigure(t, func(c *transitions.Config) { c.Journal = mode })

	return s
}

// reconfigure gives the shop orders with another configuration.
func (s *shop) reconfigure(t testing.TB, change func(*transitions.Config)) {
	t.Helper()
	cfg := transitions.Config{DynamoDB: s.db, Table: "orders", JournalTable: "events", RequestsTable: "requests", Log: embeddedtest.Quiet()}
	change(&cfg)

	var err error
	if s.Orders, err = transitions.New(cfg); err != nil {
		t.Fatal(err)
	}
}

// forgetRequests takes the table of requests from the shop, so that only the journal knows
// the requests that the rings have forgotten.
func (s *shop) forgetRequests(t testing.TB) {
	t.Helper()
	s.reconfigure(t, func(c *transitions.Config) { c.Journal, c.RequestsTable = s.mode, "" })
}

// place creates an order with one line.
func (s *shop) place(t testing.TB, id transitions.OrderID) {
	t.Helper()

	result, err := s.Create(t.Context(), transitions.NewOrder{ID: id, Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: 1250}},
		Total: transitions.Money{Amount: 2500, Currency: "EUR"}})
	if err != nil || result.Verdict != transitions.Applied {
		t.Fatalf("place %s: verdict %s, error %v", id, result.Verdict, err)
	}
}

// want applies a request and checks the verdict.
func (s *shop) want(t testing.TB, r transitions.Request, want transitions.Verdict) transitions.Result {
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

// item reads the order's raw item.
func (s *shop) item(t testing.TB, id transitions.OrderID) map[string]types.AttributeValue {
	t.Helper()

	out, err := s.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"),
		Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: string(id)}}})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

// record writes the journal row of the order's newest transition, as a handler of the
// stream does.
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
