package reactions_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"go.uber.org/goleak"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is an engine with the tables and the far sides of the reactions.
type shop struct {
	db        *dynamodb.Client // through the transport
	sfn       *sfn.Client      // through the transport
	transport *embeddedtest.Transport
	carrier   *sandbox.Carrier
	claims    *once.Claims
	booker    *shipping.Booker
	stock     *inventory.Stock
	ledger    *ledger.Ledger
	payments  *payments.Payments
	bank      *bank
	parked    *tasktoken.Store

	mu      sync.Mutex
	accept  error    // what Accept returns
	stored  func()   // called by Accept in the end, if set
	erased  []string // orders that Erase was called with
	notices []notify.Notification
	reacted []string // handlers
}

// bank is the sandbox, which can be told how to answer captures and refunds.
type bank struct {
	*banksandbox.Bank
	captures error
	refunds  error
}

func (b *bank) Refund(ctx context.Context, r payments.Request) (string, error) {
	if b.refunds != nil {
		return "", b.refunds
	}

	return b.Bank.Refund(ctx, r)
}

func (b *bank) Capture(ctx context.Context, r payments.Request) (string, error) {
	if b.captures != nil {
		return "", b.captures
	}

	return b.Bank.Capture(ctx, r)
}

func (s *shop) Accept(_ context.Context, n notify.Notification) error {
	if s.stored != nil {
		defer s.stored()
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if !slices.ContainsFunc(s.notices, func(known notify.Notification) bool { return known.Key == n.Key }) {
		s.notices = append(s.notices, n)
	}

	return s.accept
}

func (s *shop) Erase(_ context.Context, order string) (int, error) {
	s.erased = append(s.erased, order)

	return 1, nil
}

// sent returns the states of the notifications that were accepted.
func (s *shop) sent() (states []workflow.State) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, n := range s.notices {
		states = append(states, n.State)
	}

	return states
}

// reactions returns the handlers that have handled a change, sorted.
func (s *shop) reactions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Sorted(slices.Values(s.reacted))
}

func newShop(t *testing.T) *shop {
	t.Helper()

	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)
	cfg := engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	s := &shop{transport: embeddedtest.Intercept(&cfg), bank: &bank{}}
	s.db, s.sfn = dynamodb.NewFromConfig(cfg), sfn.NewFromConfig(cfg)

	books := ledger.Tables{Accounts: "accounts", Entries: "entries", Transfers: "transfers", Holds: "holds"}
	paid := payments.Tables{Payments: "payments", Due: "payments-due"}
	tables := []*dynamodb.CreateTableInput{
		transitions.OrdersTable("orders"), transitions.JournalTable("events"), once.TableInput("once"), tasktoken.TableInput("parked"),
		sandbox.Table("shipments"), inventory.TableInput("stock"), inventory.DueTableInput("stock-due"), banksandbox.Table("bank"),
	}
	embeddedtest.Create(t, s.db, append(append(tables, books.Inputs()...), paid.Inputs()...)...)

	var err error
	s.carrier, err = sandbox.New(sandbox.Config{DynamoDB: s.db, Table: "shipments", Log: embeddedtest.Quiet()})
	must(err)
	s.claims, err = once.New(once.Config{DynamoDB: s.db, Table: "once"})
	must(err)
	s.booker, err = shipping.New(shipping.Config{Claims: s.claims, Carrier: s.carrier})
	must(err)
	s.stock, err = inventory.New(inventory.Config{DynamoDB: s.db, Table: "stock", DueTable: "stock-due"})
	must(err)
	s.ledger, err = ledger.New(ledger.Config{DynamoDB: s.db, Tables: books})
	must(err)
	s.bank.Bank, err = banksandbox.New(banksandbox.Config{DynamoDB: s.db, Table: "bank"})
	must(err)
	s.payments, err = payments.New(payments.Config{DynamoDB: s.db, Tables: paid, Ledger: s.ledger, Processor: s.bank})
	must(err)
	s.parked, err = tasktoken.New(tasktoken.Config{DynamoDB: s.db, Table: "parked"})
	must(err)

	return s
}

// at returns the orders and reactions of workers of a version of the definition.
func (s *shop) at(t *testing.T, version int, edit ...func(*reactions.Config)) (*transitions.Orders, map[string]streams.HandlerFunc) {
	t.Helper()
	spec := workflow.Order().Spec()
	spec.Version = version

	definition, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	orders, err := transitions.New(transitions.Config{DynamoDB: s.db, Table: "orders", JournalTable: "events", Definition: definition, Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	completer, err := activities.NewCompleter(activities.CompleterConfig{SFN: s.sfn})
	if err != nil {
		t.Fatal(err)
	}

	cfg := reactions.Config{
		Orders:    orders,
		Booker:    s.booker,
		Stock:     s.stock,
		Payments:  s.payments,
		Parked:    s.parked,
		Completer: completer,
		Notifier:  s,
		Events: reactions.Events{Reacted: func(handler string, _ transitions.Change) {
			s.mu.Lock()
			defer s.mu.Unlock()

			s.reacted = append(s.reacted, handler)
		}},
		Log: embeddedtest.Quiet(),
	}
	for _, e := range edit {
		e(&cfg)
	}

	r, err := reactions.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	handlers := map[string]streams.HandlerFunc{}
	for _, h := range r.Handlers() {
		handlers[h.Name] = h.Handle
	}

	return orders, handlers
}

// change runs fn and returns its change of the order as a record.
func (s *shop) change(t *testing.T, fn func()) streams.Record {
	t.Helper()
	item := func() map[string]types.AttributeValue {
		out, err := s.db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"),
			Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}}})
		if err != nil {
			t.Fatal(err)
		}

		return out.Item
	}
	old := item()
	fn()

	return streams.Record{Old: old, New: item(), Attempt: 1}
}

const total = 1250

func place(t *testing.T, orders *transitions.Orders) {
	t.Helper()

	if _, err := orders.Create(t.Context(), transitions.NewOrder{
		ID:    "o-1",
		Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: total / 2}},
		Total: transitions.Money{Amount: total, Currency: "EUR"},
	}); err != nil {
		t.Fatal(err)
	}
}

// move applies the event to the order and returns the record.
func (s *shop) move(t *testing.T, orders *transitions.Orders, event workflow.Event) streams.Record {
	t.Helper()

	return s.change(t, func() {
		order, _, err := orders.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		r, err := orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: event, TransitionID: order.TransitionID + 1})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatalf("%s: %s, %v", event, r.Verdict, err)
		}
	})
}

func placeAndPay(t *testing.T, orders *transitions.Orders) {
	t.Helper()
	place(t, orders)

	if r, err := orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Pay, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
}

// handle gives the record to a handler, which must succeed.
func handle(t *testing.T, handler streams.HandlerFunc, record streams.Record) {
	t.Helper()

	if err := handler(t.Context(), record); err != nil {
		t.Fatal(err)
	}
}

// booked returns the effect keys under which shipments are booked.
func (s *shop) booked(t *testing.T) (keys []string) {
	t.Helper()

	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("shipments")})
	if err != nil {
		t.Fatal(err)
	}

	for _, item := range out.Items {
		status, _ := item["status"].(*types.AttributeValueMemberS)
		pk, _ := item["pk"].(*types.AttributeValueMemberS)
		if status != nil && status.Value == "BOOKED" {
			keys = append(keys, pk.Value[len("shipment#"):])
		}
	}
	slices.Sort(keys)

	return keys
}

var errUnavailable = errors.New("unavailable")
