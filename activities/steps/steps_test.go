package steps_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/transitions"
	"ratchet/workflow"
)

// The sandboxes implement the contracts.
var (
	_ steps.Gateway      = (*banksandbox.Bank)(nil)
	_ payments.Processor = (*banksandbox.Bank)(nil)
	_ shipping.Carrier   = (*carriersandbox.Carrier)(nil)
)

// shop is the steps of a worker and what they change.
type shop struct {
	orders   *transitions.Orders
	stock    *inventory.Stock
	ledger   *ledger.Ledger
	payments *payments.Payments
	booker   *shipping.Booker
	parked   *tasktoken.Store
	steps    *steps.Steps
	moves    int
}

var (
	ledgerTables  = ledger.Tables{Accounts: "accounts", Entries: "entries", Transfers: "transfers", Holds: "holds"}
	paymentTables = payments.Tables{Payments: "payments", Due: "payments-due"}
)

func newTables(t *testing.T) *dynamodb.Client {
	t.Helper()

	db, _ := newTablesBehind(t)

	return db
}

// newTablesBehind returns a client whose calls pass a transport that the test controls.
func newTablesBehind(t *testing.T) (*dynamodb.Client, *embeddedtest.Transport) {
	t.Helper()

	cfg := embeddedtest.Backend(t)
	transport := embeddedtest.Intercept(&cfg)
	db := dynamodb.NewFromConfig(cfg)

	tables := []*dynamodb.CreateTableInput{
		transitions.OrdersTable("orders"), transitions.JournalTable("events"), tasktoken.TableInput("parked"),
		inventory.TableInput("stock"), inventory.DueTableInput("due"), once.TableInput("once"),
		banksandbox.Table("bank"), carriersandbox.Table("carrier"),
	}
	embeddedtest.Create(t, db, slices.Concat(tables, ledgerTables.Inputs(), paymentTables.Inputs())...)

	return db, transport
}

// sides are the bank and the carrier of a shop. A test may stand in front of them.
type sides struct {
	bank    *banksandbox.Bank
	process payments.Processor
	carrier shipping.Carrier
	capture bool
}

// newShop returns the steps of a worker that has this version of the definition.
func newShop(t *testing.T, db *dynamodb.Client, version int, edit ...func(*sides)) *shop {
	t.Helper()

	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	spec := workflow.Order().Spec()
	spec.Version = version
	definition, err := workflow.New(spec)
	must(err)

	s := &shop{}
	s.orders, err = transitions.New(transitions.Config{
		DynamoDB: db, Table: "orders", JournalTable: "events", Journal: transitions.JournalTransactional,
		Definition: definition, Log: embeddedtest.Quiet(),
	})
	must(err)
	s.stock, err = inventory.New(inventory.Config{DynamoDB: db, Table: "stock", DueTable: "due"})
	must(err)
	s.parked, err = tasktoken.New(tasktoken.Config{DynamoDB: db, Table: "parked"})
	must(err)
	claims, err := once.New(once.Config{DynamoDB: db, Table: "once"})
	must(err)
	far := sides{}
	far.bank, err = banksandbox.New(banksandbox.Config{DynamoDB: db, Table: "bank"})
	must(err)
	far.process = far.bank
	far.carrier, err = carriersandbox.New(carriersandbox.Config{DynamoDB: db, Table: "carrier"})
	must(err)

	for _, e := range edit {
		e(&far)
	}

	s.booker, err = shipping.New(shipping.Config{Claims: claims, Carrier: far.carrier})
	must(err)
	s.ledger, err = ledger.New(ledger.Config{DynamoDB: db, Tables: ledgerTables})
	must(err)
	s.payments, err = payments.New(payments.Config{DynamoDB: db, Tables: paymentTables, Ledger: s.ledger, Processor: far.process})
	must(err)

	s.steps, err = steps.New(steps.Config{
		Orders:   s.orders,
		Stock:    s.stock,
		Payments: s.payments,
		Ledger:   s.ledger,
		Capture:  far.capture,
		Booker:   s.booker,
		Gateway:  far.bank,
		Parked:   s.parked,
		ParkFor:  time.Hour,
	})
	must(err)

	return s
}

// run runs a step with an input and returns its output as JSON.
func (s *shop) run(t *testing.T, name, input string) (string, error) {
	t.Helper()

	return s.runIn(t.Context(), t, name, input)
}

// runIn is run with a context of its own.
func (s *shop) runIn(ctx context.Context, t *testing.T, name, input string) (string, error) {
	t.Helper()

	all := append(s.steps.All(), s.steps.Old()...)
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

// TestUnknownVersionStopsTheExecution: the failure has a name of its own, is not retried, and
// leaves no parked task. The execution may be redriven after the migration.
func TestUnknownVersionStopsTheExecution(t *testing.T) {
	db := newTables(t)
	newer, older := newShop(t, db, 2), newShop(t, db, 1)

	if _, err := newer.orders.Create(t.Context(), transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
		t.Fatal(err)
	}

	for step, input := range map[string]string{
		"accept":           `{"order":{"orderId":"o-1","total":{"amount":5,"currency":"EUR"}},"started":"then"}`,
		"pay":              `{"orderId":"o-1","transitionId":2}`,
		"apply-transition": `{"orderId":"o-1","event":"pay","transitionId":2}`,
		"await-order":      `{"orderId":"o-1","awaited":"SHIPPED","since":1}`,
	} {
		_, err := older.run(t, step, input)
		if got := name(err); got != "Order.UnknownVersion" || slices.Contains(steps.RetryableErrors(), got) {
			t.Errorf("%s: %v", step, err)
		}
	}

	if tasks, err := older.parked.Waiting(t.Context(), "o-1"); err != nil || len(tasks) > 0 {
		t.Errorf("%d tasks are parked, %v", len(tasks), err)
	}
}

// TestEachOldStepMayRunTwice runs the steps of an order that is paid, shipped and undone, each
// of them twice.
func TestEachOldStepMayRunTwice(t *testing.T) {
	s := newShop(t, newTables(t), 1)
	if err := s.stock.Set(t.Context(), "sku-1", 3); err != nil {
		t.Fatal(err)
	}

	const order = `"orderId":"o-1"`
	for _, c := range []struct{ step, input, want string }{
		{"place-order", `{"orderId":"o-1","total":{"amount":5,"currency":"EUR"}}`, `"state":"PENDING","transitionId":1`},
		{"reserve-stock", `{` + order + `,"items":[{"sku":"sku-1","quantity":2}]}`, `{"status":"reserved"}`},
		{"take-payment", `{` + order + `,"total":{"amount":5,"currency":"EUR"}}`, `{"chargeId":"ch_o-1/payment"}`},
		{"apply-transition", `{` + order + `,"event":"pay","transitionId":2}`, `"state":"PAYMENT_RECEIVED","transitionId":2`},
		{"request-shipment", `{` + order + `,"transitionId":2}`, `{"tracking":"trk-o-1-2-shipping"}`},
		{"await-order", `{` + order + `,"awaited":"PAYMENT_RECEIVED","since":1}`, `"state":"PAYMENT_RECEIVED"`},
		{"cancel-shipment", `{` + order + `}`, `{"status":"cancelled"}`},
		{"void-payment", `{` + order + `}`, `{"status":"voided"}`},
		{"release-stock", `{` + order + `}`, `{"status":"released"}`},
	} {
		for range 2 {
			if got, err := s.run(t, c.step, c.input); err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%s: got %s, %v; want %s", c.step, got, err, c.want)
			}
		}
	}

	for _, c := range []struct{ step, input, want string }{
		{"take-payment", `{` + order + `,"total":{"amount":5,"currency":"EUR"}}`, "Order.Closed"},
		{"commit-stock", `{` + order + `}`, "Order.Closed"},
		{"apply-transition", `{` + order + `,"event":"ship","transitionId":2}`, "Order.Conflict"},
		{"apply-transition", `{` + order + `,"event":"deliver","transitionId":3}`, "Order.WrongState"},
		{"apply-transition", `{"orderId":"o-2","event":"pay","transitionId":2}`, "Order.NotFound"},
		{"await-order", `{` + order + `,"awaited":"NOWHERE","since":1}`, "Order.InvalidInput"},
		{"await-order", `{"orderId":"o-2","awaited":"SHIPPED","since":1}`, "Order.NotFound"},
		{"cancel-shipment", `{"orderId":"o-2"}`, "Order.NotFound"},
		{"void-payment", `{` + order + `,"unknown":1}`, "Order.InvalidInput"},
		{"void-payment", `{` + order + `}{}`, "Order.InvalidInput"},
	} {
		if _, err := s.run(t, c.step, c.input); name(err) != c.want {
			t.Errorf("%s %s: got %v, want %s", c.step, c.input, err, c.want)
		}
	}
}

// TestAwaitOrderParksItsToken: the order has not reached the state yet, but may.
func TestAwaitOrderParksItsToken(t *testing.T) {
	s := newShop(t, newTables(t), 1)
	if _, err := s.run(t, "place-order", `{"orderId":"o-1","total":{"amount":5,"currency":"EUR"}}`); err != nil {
		t.Fatal(err)
	}

	if _, err := s.run(t, "await-order", `{"orderId":"o-1","awaited":"SHIPPED","since":1}`); !errors.Is(err, activities.ErrParked) {
		t.Errorf("got %v", err)
	}

	if tasks, err := s.parked.Waiting(t.Context(), "o-1"); err != nil || len(tasks) != 1 || tasks[0].Token != "token" {
		t.Errorf("parked tasks %v, %v", tasks, err)
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := steps.New(steps.Config{})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"Orders", "Stock", "Payments", "Ledger", "Gateway", "Booker", "Parked", "ParkFor"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
