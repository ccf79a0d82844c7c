package steps_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

// The sandboxes implement the contracts.
var (
	_ payments.Processor = (*banksandbox.Bank)(nil)
	_ shipping.Carrier   = (*carriersandbox.Carrier)(nil)
)

// orderSteps has the steps of a worker and the systems that they change.
type orderSteps struct {
	orders   *transitions.Orders
	stock    *inventory.Stock
	ledger   *ledger.Ledger
	payments *payments.Payments
	booker   *shipping.Booker
	parked   *tasktoken.Store
	steps    *steps.Steps
	general  *steps.General
	moves    int
}

func newKit(t *testing.T) *shop.Shop {
	t.Helper()

	return shop.Over(t, embeddedtest.Backend(t))
}

// sides are the bank and the carrier of the steps. A test may stand in front of them.
type sides struct {
	bank    *banksandbox.Bank
	process payments.Processor
	carrier shipping.Carrier
	capture bool
}

// order returns o-1.
func (s *orderSteps) order(t *testing.T) *transitions.Order {
	t.Helper()

	order, found, err := s.orders.Get(context.Background(), "o-1")
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return order
}

// life names o-1 and its life, as its payment and its reservation are named.
func (s *orderSteps) life(t *testing.T) string { return s.order(t).LifeID() }

// shipment is the key of the shipment of o-1.
func (s *orderSteps) shipment(t *testing.T) string { return s.order(t).EffectKey(2, shipping.Effect) }

// newOrderSteps returns the steps of a worker that has this version of the definition.
func newOrderSteps(t *testing.T, kit *shop.Shop, version int, edit ...func(*sides)) *orderSteps {
	t.Helper()

	s := &orderSteps{stock: kit.Stock(), ledger: kit.Ledger(), parked: kit.ParkedTasks()}
	s.orders = kit.Orders(shop.Version(t, version), shop.Journal(transitions.JournalTransactional), shop.WithoutRequests)

	far := sides{bank: kit.Bank(), carrier: kit.Carrier()}
	far.process = far.bank

	for _, e := range edit {
		e(&far)
	}

	s.booker = kit.Booker(kit.Claims(), far.carrier)
	s.payments = kit.Payments(s.ledger, far.process)

	var err error
	if s.steps, err = steps.New(steps.Config{
		Orders:   s.orders,
		Stock:    s.stock,
		Payments: s.payments,
		Ledger:   s.ledger,
		Capture:  far.capture,
		Booker:   s.booker,
		Parked:   s.parked,
	}); err != nil {
		t.Fatal(err)
	}

	if s.general, err = steps.NewGeneral(steps.GeneralConfig{Orders: s.orders, Parked: s.parked}); err != nil {
		t.Fatal(err)
	}

	return s
}

// run runs a step with an input and returns its output as JSON.
func (s *orderSteps) run(t *testing.T, name, input string) (string, error) {
	t.Helper()

	return s.runIn(t.Context(), t, name, input)
}

// runIn is run with a context of its own.
func (s *orderSteps) runIn(ctx context.Context, t *testing.T, name, input string) (string, error) {
	t.Helper()

	all := append(s.steps.All(), s.general.All()...) // the shop's look comes first
	i := slices.IndexFunc(all, func(s steps.Step) bool { return s.Name == name })

	out, err := all[i].Handle(ctx, activities.Task{Token: "token", Input: json.RawMessage(input)})
	if err != nil {
		return "", err
	}

	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}

	return string(text), nil
}

// name returns the error name that the state machine sees.
func name(err error) string {
	var failure *activities.Error
	if !errors.As(err, &failure) {
		return ""
	}

	return failure.Name
}

// TestUnknownVersionStopsTheExecution: the failure has a name of its own and is not retried. The
// execution may be redriven after the migration.
func TestUnknownVersionStopsTheExecution(t *testing.T) {
	kit := newKit(t)
	newer, older := newOrderSteps(t, kit, 2), newOrderSteps(t, kit, 1)

	if _, err := newer.orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	for step, input := range map[string]string{
		"accept": `{"order":{"orderId":"o-1","total":{"amount":5,"currency":"EUR"}},"started":"then"}`,
		"pay":    `{"orderId":"o-1","transitionId":2}`,
		"apply":  `{"orderId":"o-1","event":"pay","transitionId":2}`,
	} {
		_, err := older.run(t, step, input)
		if got := name(err); got != "Order.UnknownVersion" || slices.Contains(steps.RetryableErrors(), got) {
			t.Errorf("%s: %v", step, err)
		}
	}

}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := steps.New(steps.Config{})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"Orders", "Stock", "Payments", "Ledger", "Booker", "Parked"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
