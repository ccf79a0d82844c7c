package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/activities/tasktoken"
	"ratchet/api/auth"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/operate/audit"
	"ratchet/operate/doctor"
	"ratchet/operate/jobs"
	"ratchet/operate/processes"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping/reports"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/store"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/transitions/refusals"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
)

// Tables are the names of the tables. `ratchet init --json` prints the struct, so the field
// names are part of its output.
type Tables struct {
	Orders, Events, Requests, Once, Inventory, Parked, Leases, DeadLetters string
	Actions, InventoryDue                                                  string
	Payments, PaymentsDue                                                  string
	Ledger                                                                 ledger.Tables
	// SandboxCharges is the data of the sandbox bank, SandboxShipments the data of the sandbox carrier.
	SandboxCharges, SandboxShipments string
	// APIKeys holds digests of the API keys, and the secrets of the HTTP API.
	APIKeys string
	// CarrierReports holds the stored reports of the carrier, and the parcels of each order as reported.
	CarrierReports string
	// Deliveries holds the notifications that wait or were sent. Endpoints holds their receivers.
	Deliveries, Endpoints string
	// Processes holds the running processes, Audit the acts of people.
	Processes, Audit string
	// Jobs holds the jobs, and a row for each of their subjects.
	Jobs string
	// Refusals holds the refused requests of orders.
	Refusals string
	// OrdersDue holds the rows of orders that time moves.
	OrdersDue string
	// Scheduled holds the requests for later. Their due rows are in OrdersDue.
	Scheduled string
	// OrderLists holds lists of orders. The table exists only if [Config.OrderLists] is set.
	OrderLists string
}

// tablesFor returns the names of the configuration's tables.
func tablesFor(cfg Config) Tables {
	prefix := cfg.Prefix

	return Tables{
		Orders:      cmp.Or(cfg.OrdersTable.Name, prefix+ordersTable),
		Events:      prefix + "order-events",
		Requests:    prefix + "order-requests",
		Once:        prefix + "once",
		Inventory:   prefix + "inventory",
		Parked:      prefix + "parked-tasks",
		Leases:      prefix + "leases",
		DeadLetters: prefix + "dead-letters",

		Actions:      prefix + "actions",
		InventoryDue: prefix + "inventory-due",
		Payments:     prefix + "payments",
		PaymentsDue:  prefix + "payments-due",
		Ledger: ledger.Tables{
			Accounts:  prefix + "accounts",
			Entries:   prefix + "ledger",
			Transfers: prefix + "transfers",
			Holds:     prefix + "holds",
		},

		SandboxCharges:   prefix + "sandbox-charges",
		SandboxShipments: prefix + "sandbox-shipments",

		APIKeys:        prefix + "api-keys",
		CarrierReports: prefix + "carrier-reports",
		Deliveries:     prefix + "deliveries",
		Endpoints:      prefix + "endpoints",

		Processes:  prefix + "processes",
		Audit:      prefix + "audit",
		Jobs:       prefix + "jobs",
		Refusals:   prefix + "refusals",
		OrdersDue:  prefix + "orders-due",
		Scheduled:  prefix + "scheduled-requests",
		OrderLists: prefix + "order-lists",
	}
}

const (
	// effectRetention is how long the claim of an effect is kept. It must be longer than the stream keeps
	// a record (24 h) and than an operator may take to redrive a dead letter.
	effectRetention = 30 * 24 * time.Hour
	// tableWait is how long CreateTables waits for one new table to become active.
	tableWait = 2 * time.Minute
)

// tableSpec is a table to create.
type tableSpec struct {
	input *dynamodb.CreateTableInput
	// expiryAttribute is the attribute of the table's time to live; empty for none.
	expiryAttribute string
	// given: the table is another program's, which creates it.
	given bool
	// sandbox: only the sandbox bank and carrier need the table.
	sandbox bool
}

func (t Tables) payments() payments.Tables {
	return payments.Tables{Payments: t.Payments, Due: t.PaymentsDue}
}

// all returns the specification of every table but that of the orders, which has a mapping.
func (t Tables) all() []tableSpec {
	specs := []tableSpec{
		{input: transitions.JournalTable(t.Events)},
		{input: transitions.RequestsTable(t.Requests)},
		{input: once.TableInput(t.Once), expiryAttribute: once.ExpiryAttribute},
		{input: inventory.TableInput(t.Inventory)},
		{input: inventory.DueTableInput(t.InventoryDue)},
		{input: tasktoken.TableInput(t.Parked), expiryAttribute: tasktoken.ExpiryAttribute},
		{input: actions.TableInput(t.Actions), expiryAttribute: actions.ExpiryAttribute},
		{input: leases.TableInput(t.Leases)},
		{input: deadletters.TableInput(t.DeadLetters), expiryAttribute: store.Expiry},
		{input: banksandbox.Table(t.SandboxCharges), sandbox: true},
		{input: carriersandbox.Table(t.SandboxShipments), expiryAttribute: carriersandbox.ExpiryAttribute, sandbox: true},
		{input: reports.Table(t.CarrierReports), expiryAttribute: reports.ExpiryAttribute},
		{input: auth.TableInput(t.APIKeys)},
		{input: notify.DeliveryTableInput(t.Deliveries), expiryAttribute: notify.DeliveryExpiryAttribute},
		{input: notify.EndpointTableInput(t.Endpoints)},
		{input: audit.TableInput(t.Audit), expiryAttribute: audit.ExpiryAttribute},
		{input: processes.TableInput(t.Processes), expiryAttribute: processes.ExpiryAttribute},
		{input: jobs.TableInput(t.Jobs), expiryAttribute: jobs.ExpiryAttribute},
		{input: refusals.TableInput(t.Refusals), expiryAttribute: refusals.ExpiryAttribute},
		{input: timers.TableInput(t.OrdersDue)},
		{input: scheduled.TableInput(t.Scheduled), expiryAttribute: scheduled.ExpiryAttribute},
	}
	for _, input := range append(t.Ledger.Inputs(), t.payments().Inputs()...) {
		specs = append(specs, tableSpec{input: input})
	}

	return specs
}

// tables returns the specifications of the tables that the configuration needs.
func (b *Backend) tables() []tableSpec {
	all := append([]tableSpec{{input: b.Orders.Mapping().OrdersTable(b.Tables.Orders), given: b.Config.OrdersTable.Name != ""}}, b.Tables.all()...)
	if b.Config.OrderLists {
		all = append(all, tableSpec{input: lists.TableInput(b.Tables.OrderLists), expiryAttribute: lists.ExpiryAttribute})
	}

	return all
}

// differencesOf says in what a table differs from its specification, as the doctor compares it.
func (b *Backend) differencesOf(ctx context.Context, spec tableSpec) (all []string, err error) {
	name := aws.ToString(spec.input.TableName)

	is, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})

	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		return []string{"table " + name + " is missing"}, nil
	case err != nil:
		return nil, fmt.Errorf("describe table %s: %w", name, err)
	}

	for _, what := range (doctor.Table{Input: spec.input, TTL: spec.expiryAttribute}).Differences(is.Table) {
		all = append(all, "table "+name+": "+what)
	}

	return all, nil
}

// CreateTables creates the tables that are missing and waits until all are active, up to
// two minutes for each. It is idempotent.
func (b *Backend) CreateTables(ctx context.Context) error {
	// All tables are requested before the first wait, so that DynamoDB creates them at the same time.
	for _, t := range b.tables() {
		if t.given {
			continue
		}

		_, err := b.DynamoDB.CreateTable(ctx, t.input)

		var exists *types.ResourceInUseException
		if err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("create table %s: %w", aws.ToString(t.input.TableName), err)
		}
	}

	for _, t := range b.tables() {
		name := aws.ToString(t.input.TableName)

		if t.given {
			if _, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}); err != nil {
				return fmt.Errorf("table %s, which the setting orders-table names: %w", name, err)
			}

			continue
		}

		waiter := dynamodb.NewTableExistsWaiter(b.DynamoDB, func(o *dynamodb.TableExistsWaiterOptions) {
			o.MinDelay = time.Second
		})
		if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, tableWait); err != nil {
			return fmt.Errorf("wait for table %s: %w", name, err)
		}

		if err := b.enableTTL(ctx, name, t.expiryAttribute); err != nil {
			return err
		}
	}

	return nil
}

// enableTTL switches on the table's time to live, unless it is on. An empty attribute means that the
// table needs none.
func (b *Backend) enableTTL(ctx context.Context, name, attribute string) error {
	if attribute == "" {
		return nil
	}

	// UpdateTimeToLive fails if the setting is on already.
	now, err := b.DynamoDB.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return fmt.Errorf("time to live of %s: %w", name, err)
	}

	if d := now.TimeToLiveDescription; d != nil {
		switch d.TimeToLiveStatus {
		case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
			return nil
		}
	}

	_, err = b.DynamoDB.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: &attribute,
			Enabled:       aws.Bool(true),
		},
	})
	if err != nil {
		return fmt.Errorf("time to live of %s: %w", name, err)
	}

	return nil
}
