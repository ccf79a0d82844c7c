package server

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/actions"
	"ratchet/activities"
	"ratchet/api/auth"
	"ratchet/embedded"
	"ratchet/executions"
	"ratchet/inventory"
	"ratchet/ledger"
	"ratchet/lists"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/streams/reactions"
	"ratchet/tasktoken"
	"ratchet/transitions"
)

// Backend is the SDK clients for the place where the data is, and the parts that work on
// it. [Connect] and [Embed] make one.
type Backend struct {
	Config Config
	Tables Tables

	DynamoDB *dynamodb.Client
	Streams  *dynamodbstreams.Client
	SFN      *sfn.Client
	SQS      *sqs.Client
	// Engine is the embedded engine, nil if the backend is an endpoint or AWS.
	Engine *embedded.Engine

	Orders *transitions.Orders
	Claims *once.Claims
	Locks  *once.Locks
	// Actions are the one-time actions of the tenant without a name.
	Actions *actions.Actions
	Stock   *inventory.Stock
	Ledger  *ledger.Ledger
	// Payments uses Bank as its processor.
	Payments *payments.Payments
	// ParkedTasks holds the tokens of tasks that wait for a state of their order.
	ParkedTasks *tasktoken.Store
	// Executions looks after the orders' executions.
	Executions *executions.Executions
	// Completer answers parked tasks.
	Completer *activities.Completer
	// Booker books shipments at the carrier.
	Booker *shipping.Booker
	// Bank is the sandbox: the payment gateway of the steps and the processor of Payments.
	Bank *banksandbox.Bank
	// Carrier is the sandbox, nil if another carrier is configured.
	Carrier *carriersandbox.Carrier
	// Reports judges what the carrier reports.
	Reports *reports.Desk
	// Endpoints get the notifications to customers, which Deliveries brings to them.
	Endpoints  *notify.Endpoints
	Deliveries *notify.Deliveries
	// Lists are the lists of orders, nil without [Config.OrderLists].
	Lists *lists.Lists
	// APIKeys authenticates callers of the HTTP API.
	APIKeys *auth.Keys

	reactions *reactions.Reactions
	// machineARN is that of the state machine once it was found.
	machineARN atomic.Pointer[string]
	log        *slog.Logger
	awsConfig  aws.Config
}

// assemble builds the parts over the clients. A later part uses the earlier ones.
func assemble(cfg Config, awsConfig aws.Config, engine *embedded.Engine, log *slog.Logger, events Events) (*Backend, error) {
	b := &Backend{
		Config:   cfg,
		Tables:   tablesFor(cfg.Prefix),
		DynamoDB: dynamodb.NewFromConfig(awsConfig),
		Streams:  dynamodbstreams.NewFromConfig(awsConfig),
		SFN:      sfn.NewFromConfig(awsConfig),
		SQS:      sqs.NewFromConfig(awsConfig),
		Engine:   engine,
		log:      log,

		awsConfig: awsConfig,
	}

	steps := []func() error{
		func() error { return b.assembleOrders(events) },
		b.assembleLists,
		b.assembleExecutions,
		b.assembleOnce,
		b.assembleActions,
		b.assembleStock,
		b.assembleAPIKeys,
		b.assemblePayments,
		b.assembleShipping,
		b.assembleNotify,
		func() error { return b.assembleReactions(events) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}

	return b, nil
}

func (b *Backend) assembleOrders(events Events) error {
	cfg, err := b.Config.ordersConfig()
	if err != nil {
		return err
	}

	cfg.DynamoDB, cfg.Table, cfg.JournalTable = b.DynamoDB, b.Tables.Orders, b.Tables.Events
	cfg.RequestsTable = b.Tables.Requests
	cfg.Log = b.log
	cfg.Events = transitions.Events{Decided: events.Decided, Consumed: events.Consumed}
	b.Orders, err = transitions.New(cfg)

	return err
}

// assembleOnce builds the claims and the locks, which share a table.
func (b *Backend) assembleOnce() (err error) {
	b.Claims, err = once.New(once.Config{
		DynamoDB:  b.DynamoDB,
		Table:     b.Tables.Once,
		Lease:     b.Config.EffectLease,
		Retention: effectRetention,
	})
	if err != nil {
		return err
	}

	b.Locks, err = once.NewLocks(once.LocksConfig{DynamoDB: b.DynamoDB, Table: b.Tables.Once})

	return err
}

func (b *Backend) assembleActions() error {
	keys, err := actionKeys(b.Config, b.Engine != nil)
	if err != nil {
		return err
	}

	b.Actions, err = actions.New(actions.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Actions, Keys: keys})

	return err
}

func (b *Backend) assembleStock() (err error) {
	b.Stock, err = inventory.New(inventory.Config{
		DynamoDB: b.DynamoDB,
		Table:    b.Tables.Inventory,
		DueTable: b.Tables.InventoryDue,
		Events:   inventory.Events{Swept: b.logSweep},
	})

	return err
}

func (b *Backend) assembleAPIKeys() (err error) {
	b.APIKeys, err = auth.NewKeys(auth.KeysConfig{DynamoDB: b.DynamoDB, Table: b.Tables.APIKeys})
	return err
}

// completeTimeout bounds the answer to a parked task, with its retries. It is shorter than a
// call of a stream's handler.
const completeTimeout = 20 * time.Second

// assembleReactions builds what the poller of the orders' stream calls, and the parked tasks
// that only it needs.
func (b *Backend) assembleReactions(events Events) (err error) {
	if b.ParkedTasks, err = tasktoken.New(tasktoken.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Parked, SFN: b.SFN}); err != nil {
		return err
	}

	if b.Completer, err = activities.NewCompleter(activities.CompleterConfig{SFN: b.SFN, Timeout: completeTimeout}); err != nil {
		return err
	}

	b.reactions, err = reactions.New(reactions.Config{
		Orders:    b.Orders,
		Booker:    b.Booker,
		Stock:     b.Stock,
		Payments:  b.Payments,
		Parked:    b.ParkedTasks,
		Completer: b.Completer,
		Notifier:  b.Deliveries,
		FreshFor:  b.Config.FreshFor,

		RefundReturns: b.Config.RefundReturns,

		Events: reactions.Events{Reacted: events.Reacted},
		Log:    b.log,
	})

	return err
}

// Close closes the embedded engine and the notification file, if there are any.
func (b *Backend) Close() error {
	err := b.Deliveries.Close()

	if b.Engine != nil {
		err = errors.Join(err, b.Engine.Close())
	}

	return err
}
