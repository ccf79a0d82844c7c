// Package shop opens the parts of an order system over one DynamoDB, for tests: orders, stock, claims,
// money, a sandbox bank and a sandbox carrier. Tests on every floor use it, in external test packages.
//
//	s := shop.Over(t, embeddedtest.Backend(t))
//	orders := s.Orders()
//	other := s.Orders(shop.Journal(transitions.JournalTransactional), func(c *transitions.Config) { c.Attempts = 1 })
//
// Each method makes the tables of its part at the first call, and returns a new instance over the
// same tables each time, as another process would have. A change of the configuration applies to that
// instance alone.
package shop

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

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
	"ratchet/transitions/lists"
)

// Names of the tables.
const (
	OrdersTable      = "orders"
	JournalTable     = "order-events"
	RequestsTable    = "order-requests"
	ListsTable       = "order-lists"
	ClaimsTable      = "once"
	StockTable       = "stock"
	StockDueTable    = "stock-due"
	ParkedTasksTable = "parked-tasks"
	BankTable        = "bank"
	CarrierTable     = "shipments"
)

// LedgerTables returns the names of the tables of the ledger.
func LedgerTables() ledger.Tables {
	return ledger.Tables{Accounts: "accounts", Entries: "ledger", Transfers: "transfers", Holds: "holds"}
}

// PaymentTables returns the names of the tables of payments.
func PaymentTables() payments.Tables {
	return payments.Tables{Payments: "payments", Due: "payments-due"}
}

// Shop opens parts. It is not safe for concurrent use; the parts are.
type Shop struct {
	t testing.TB
	// DB and SFN are the clients of every part.
	DB  *dynamodb.Client
	SFN *sfn.Client
	// Mapping says how the orders stand in their table. It is set before the first call of Orders.
	Mapping transitions.Mapping
	// Wire carries every call of the two clients. A test may interfere with it.
	Wire *embeddedtest.Transport

	direct *dynamodb.Client // past Wire, so that making tables meets no fault and is not counted
	made   map[string]bool
}

// Over returns a Shop on the service of cfg, such as embeddedtest.Backend or the configuration of an
// engine.
func Over(t testing.TB, cfg aws.Config) *Shop {
	direct := cfg
	wire := embeddedtest.Intercept(&cfg)

	return &Shop{
		t: t, DB: dynamodb.NewFromConfig(cfg), SFN: sfn.NewFromConfig(cfg), Wire: wire,
		direct: dynamodb.NewFromConfig(direct), made: map[string]bool{},
	}
}

// Tables makes the tables that are not there yet.
func (s *Shop) Tables(inputs ...*dynamodb.CreateTableInput) {
	s.t.Helper()

	for _, input := range inputs {
		if !s.made[*input.TableName] {
			embeddedtest.Create(s.t, s.direct, input)
			s.made[*input.TableName] = true
		}
	}
}

// Orders opens the orders with their journal, which the stream writes, and the table of requests.
func (s *Shop) Orders(change ...func(*transitions.Config)) *transitions.Orders {
	s.t.Helper()
	s.Tables(s.Mapping.OrdersTable(OrdersTable), transitions.JournalTable(JournalTable), transitions.RequestsTable(RequestsTable))

	return open(s.t, transitions.New, transitions.Config{
		DynamoDB: s.DB, Table: OrdersTable, Mapping: s.Mapping, JournalTable: JournalTable, RequestsTable: RequestsTable, Log: embeddedtest.Quiet(),
	}, change)
}

// Lists opens the lists of the orders.
func (s *Shop) Lists(orders *transitions.Orders, change ...func(*lists.Config)) *lists.Lists {
	s.t.Helper()
	s.Tables(lists.TableInput(ListsTable))

	return open(s.t, lists.New, lists.Config{DynamoDB: s.DB, Table: ListsTable, Orders: orders}, change)
}

// Claims opens the claims.
func (s *Shop) Claims(change ...func(*once.Config)) *once.Claims {
	s.t.Helper()
	s.Tables(once.TableInput(ClaimsTable))

	return open(s.t, once.New, once.Config{DynamoDB: s.DB, Table: ClaimsTable}, change)
}

// Stock opens the inventory.
func (s *Shop) Stock(change ...func(*inventory.Config)) *inventory.Stock {
	s.t.Helper()
	s.Tables(inventory.TableInput(StockTable), inventory.DueTableInput(StockDueTable))

	return open(s.t, inventory.New, inventory.Config{DynamoDB: s.DB, Table: StockTable, DueTable: StockDueTable}, change)
}

// ParkedTasks opens the task tokens of waiting executions.
func (s *Shop) ParkedTasks(change ...func(*tasktoken.Config)) *tasktoken.Store {
	s.t.Helper()
	s.Tables(tasktoken.TableInput(ParkedTasksTable))

	return open(s.t, tasktoken.New, tasktoken.Config{DynamoDB: s.DB, Table: ParkedTasksTable}, change)
}

// Bank opens the sandbox bank.
func (s *Shop) Bank(change ...func(*banksandbox.Config)) *banksandbox.Bank {
	s.t.Helper()
	s.Tables(banksandbox.Table(BankTable))

	return open(s.t, banksandbox.New, banksandbox.Config{DynamoDB: s.DB, Table: BankTable}, change)
}

// Ledger opens the ledger.
func (s *Shop) Ledger(change ...func(*ledger.Config)) *ledger.Ledger {
	s.t.Helper()
	s.Tables(LedgerTables().Inputs()...)

	return open(s.t, ledger.New, ledger.Config{DynamoDB: s.DB, Tables: LedgerTables()}, change)
}

// Accounts makes accounts of the ledger.
func (s *Shop) Accounts(l *ledger.Ledger, accounts ...ledger.NewAccount) {
	s.t.Helper()

	for _, a := range accounts {
		if _, _, err := l.CreateAccount(s.t.Context(), a); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Payments opens the payments of the ledger at the processor.
func (s *Shop) Payments(l *ledger.Ledger, p payments.Processor, change ...func(*payments.Config)) *payments.Payments {
	s.t.Helper()
	s.Tables(PaymentTables().Inputs()...)

	return open(s.t, payments.New, payments.Config{DynamoDB: s.DB, Tables: PaymentTables(), Ledger: l, Processor: p}, change)
}

// Carrier opens the sandbox carrier.
func (s *Shop) Carrier(change ...func(*carriersandbox.Config)) *carriersandbox.Carrier {
	s.t.Helper()
	s.Tables(carriersandbox.Table(CarrierTable))

	return open(s.t, carriersandbox.New, carriersandbox.Config{DynamoDB: s.DB, Table: CarrierTable, Log: embeddedtest.Quiet()}, change)
}

// Booker opens the bookings at the carrier.
func (s *Shop) Booker(claims *once.Claims, carrier shipping.Carrier, change ...func(*shipping.Config)) *shipping.Booker {
	s.t.Helper()

	return open(s.t, shipping.New, shipping.Config{Claims: claims, Carrier: carrier}, change)
}

// open changes the configuration, calls the constructor and ends the test if it refuses.
func open[C, P any](t testing.TB, construct func(C) (P, error), cfg C, changes []func(*C)) P {
	t.Helper()

	for _, change := range changes {
		change(&cfg)
	}

	part, err := construct(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return part
}
