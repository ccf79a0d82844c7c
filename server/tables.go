package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/actions"
	"ratchet/api/auth"
	"ratchet/inventory"
	"ratchet/ledger"
	"ratchet/once"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/streams"
	"ratchet/tasktoken"
	"ratchet/transitions"
)

// Tables are the names of the tables.
type Tables struct {
	Orders, Events, Once, Inventory, Parked, Leases, DeadLetters string
	Actions, InventoryDue                                        string
	Payments, PaymentsDue                                        string
	Ledger                                                       ledger.Tables
	// The sandboxes' own tables stand for the bank and the carrier.
	SandboxCharges, SandboxShipments string
	// APIKeys holds what callers of the HTTP API are known by.
	APIKeys string
}

func tablesFor(prefix string) Tables {
	return Tables{
		Orders: prefix + "orders", Events: prefix + "order-events", Once: prefix + "once", Inventory: prefix + "inventory",
		Parked: prefix + "parked-tasks", Leases: prefix + "leases", DeadLetters: prefix + "dead-letters",
		Actions: prefix + "actions", InventoryDue: prefix + "inventory-due",
		Ledger: ledger.Tables{Accounts: prefix + "accounts", Entries: prefix + "ledger", Transfers: prefix + "transfers",
			Holds: prefix + "holds"},
		Payments: prefix + "payments", PaymentsDue: prefix + "payments-due",
		SandboxCharges: prefix + "sandbox-charges", SandboxShipments: prefix + "sandbox-shipments",
		APIKeys: prefix + "api-keys",
	}
}

const (
	// effectRetention is how long an effect is remembered: longer than the stream's
	// 24 h and any redrive of a dead letter.
	effectRetention = 30 * 24 * time.Hour
	// tableWait bounds the wait for a new table to become active.
	tableWait = 2 * time.Minute
)

type table struct {
	input *dynamodb.CreateTableInput
	// expiry is the attribute of its time to live, if it has one.
	expiry string
}

func (t Tables) payments() payments.Tables {
	return payments.Tables{Payments: t.Payments, Due: t.PaymentsDue}
}

func (t Tables) all() []table {
	all := []table{
		{transitions.OrdersTable(t.Orders), ""}, {transitions.JournalTable(t.Events), ""},
		{once.TableInput(t.Once), once.ExpiryAttribute}, {inventory.TableInput(t.Inventory), ""}, {inventory.DueTableInput(t.InventoryDue), ""},
		{tasktoken.TableInput(t.Parked), tasktoken.ExpiryAttribute}, {actions.TableInput(t.Actions), actions.ExpiryAttribute},
		{streams.LeaseTableInput(t.Leases), ""}, {streams.DeadLetterTableInput(t.DeadLetters), ""},
		{banksandbox.Table(t.SandboxCharges), ""}, {carriersandbox.Table(t.SandboxShipments), ""},
		{auth.TableInput(t.APIKeys), ""},
	}
	for _, input := range append(t.Ledger.Inputs(), t.payments().Inputs()...) {
		all = append(all, table{input, ""})
	}

	return all
}

// CreateTables creates the tables that are missing and waits until all are active.
func (b *Backend) CreateTables(ctx context.Context) error {
	for _, t := range b.Tables.all() {
		_, err := b.DynamoDB.CreateTable(ctx, t.input)
		var exists *types.ResourceInUseException
		if err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("create table %s: %w", aws.ToString(t.input.TableName), err)
		}
	}

	for _, t := range b.Tables.all() {
		name := aws.ToString(t.input.TableName)
		waiter := dynamodb.NewTableExistsWaiter(b.DynamoDB, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = time.Second })
		if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, tableWait); err != nil {
			return fmt.Errorf("wait for table %s: %w", name, err)
		}

		if err := b.expire(ctx, name, t.expiry); err != nil {
			return err
		}
	}

	return nil
}

// expire switches on the table's time to live.
func (b *Backend) expire(ctx context.Context, name, attribute string) error {
	if attribute == "" {
		return nil
	}

	now, err := b.DynamoDB.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return fmt.Errorf("time to live of %s: %w", name, err)
	}

	if d := now.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		return nil
	}

	_, err = b.DynamoDB.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: aws.Bool(true)}})
	if err != nil {
		return fmt.Errorf("time to live of %s: %w", name, err)
	}

	return nil
}
