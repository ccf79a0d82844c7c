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
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// orderSystem is an engine with the parts that reactions work on. Each call is sent once.
type orderSystem struct {
	*shop.Shop
	claims   *once.Claims
	carrier  *sandbox.Carrier
	booker   *shipping.Booker
	stock    *inventory.Stock
	ledger   *ledger.Ledger
	payments *payments.Payments
	bank     *bank
	parked   *tasktoken.Store

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

func (s *orderSystem) Accept(_ context.Context, n notify.Notification) error {
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

func (s *orderSystem) Erase(_ context.Context, order string) (int, error) {
	s.erased = append(s.erased, order)

	return 1, nil
}

// sent returns the states of the notifications that were accepted.
func (s *orderSystem) sent() (states []workflow.State) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, n := range s.notices {
		if !n.Named {
			states = append(states, n.State)
		}
	}

	return states
}

// reactions returns the handlers that have handled a change, sorted.
func (s *orderSystem) reactions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Sorted(slices.Values(s.reacted))
}

func newOrderSystem(t *testing.T) *orderSystem {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)
	cfg := engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries

	kit := shop.Over(t, cfg)
	s := &orderSystem{
		Shop: kit, claims: kit.Claims(), carrier: kit.Carrier(), stock: kit.Stock(), ledger: kit.Ledger(),
		bank: &bank{Bank: kit.Bank()}, parked: kit.ParkedTasks(),
	}
	s.booker = kit.Booker(s.claims, s.carrier)
	s.payments = kit.Payments(s.ledger, s.bank)

	return s
}

// at returns the orders and reactions of workers of a version of the definition.
func (s *orderSystem) at(t *testing.T, version int, edit ...func(*reactions.Config)) (*transitions.Orders, map[string]streams.HandlerFunc) {
	t.Helper()
	orders := s.Orders(shop.Version(t, version), shop.WithoutRequests)

	completer, err := activities.NewCompleter(activities.CompleterConfig{SFN: s.SFN})
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
func (s *orderSystem) change(t *testing.T, fn func()) streams.Record {
	t.Helper()
	old := s.Item(t, "o-1")
	fn()

	return streams.Record{Old: old, New: s.Item(t, "o-1"), Attempt: 1}
}

const total = 1250

// life names o-1 and its life, as its payment, its reservation and its parked tasks are named.
const life = "o-1.06h1hnv0clhti"

func place(t *testing.T, orders *transitions.Orders) {
	t.Helper()

	if _, err := orders.Create(t.Context(), transitions.NewOrder{
		ID: "o-1", Incarnation: "06h1hnv0clhti",
		Items: []transitions.Item{{SKU: "mug", Quantity: 2, Price: total / 2}},
		Total: transitions.Money{Amount: total, Currency: "EUR"},
	}); err != nil {
		t.Fatal(err)
	}
}

// move applies the event to the order and returns the record.
func (s *orderSystem) move(t *testing.T, orders *transitions.Orders, event workflow.Event) streams.Record {
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
func (s *orderSystem) booked(t *testing.T) (keys []string) {
	t.Helper()

	out, err := s.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(shop.CarrierTable)})
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
