package steps_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

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
	_ payments.Processor = (*banksandbox.Bank)(nil)
	_ shipping.Carrier   = (*carriersandbox.Carrier)(nil)
)

// shop has the steps of a worker and the systems that they change.
type shop struct {
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
		Parked:   s.parked,
	})
	must(err)
	s.general, err = steps.NewGeneral(steps.GeneralConfig{Orders: s.orders, Parked: s.parked})
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
	db := newTables(t)
	newer, older := newShop(t, db, 2), newShop(t, db, 1)

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
