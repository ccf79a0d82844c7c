package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"ratchet/activities"
	"ratchet/activities/steps"
	"ratchet/activities/tasktoken"
	"ratchet/api/auth"
	"ratchet/embedded"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/operate/audit"
	"ratchet/operate/executions"
	"ratchet/operate/jobs"
	"ratchet/operate/processes"
	"ratchet/operate/questions"
	"ratchet/operate/telemetry"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/transitions/refusals"
	"ratchet/transitions/scheduled"
	"ratchet/transitions/timers"
)

// Backend has the SDK clients for the place where the data is, and the parts that use them. [Connect]
// and [Embed] make one.
type Backend struct {
	Config Config
	Tables Tables

	DynamoDB *dynamodb.Client
	Streams  *dynamodbstreams.Client
	SFN      *sfn.Client
	SQS      *sqs.Client
	// Engine is the embedded engine, nil if the backend is an endpoint or AWS.
	Engine *embedded.Engine
	// engineID is random, and in the names of the workers that have ended when Engine has.
	engineID string

	Orders *transitions.Orders
	Claims *once.Claims
	Locks  *once.Locks
	// Actions are the one-time actions of callers without a tenant.
	Actions  *actions.Actions
	Stock    *inventory.Stock
	Ledger   *ledger.Ledger
	Payments *payments.Payments
	// ParkedTasks holds the tokens of tasks that wait for a state of their order.
	ParkedTasks *tasktoken.Store
	// Executions looks after the orders' executions.
	Executions *executions.Executions
	// Completer answers parked tasks.
	Completer *activities.Completer
	// Booker books shipments at the carrier.
	Booker *shipping.Booker
	// Bank is the sandbox, nil if there is another bank, or none.
	Bank *banksandbox.Bank
	// Carrier is the sandbox, nil if there is another carrier, or none.
	Carrier *carriersandbox.Carrier
	// Reports judges the carrier's reports.
	Reports *reports.Receiver
	// Endpoints are the receivers of notifications. Deliveries sends the notifications to them.
	Endpoints  *notify.Endpoints
	Deliveries *notify.Deliveries
	// Timers makes the transitions that time makes.
	Timers *timers.Timers
	// Scheduled keeps the requests for later, and applies them.
	Scheduled *scheduled.Schedule
	// Lists are the lists of orders, nil without [Config.OrderLists].
	Lists *lists.Lists
	// Refusals has the refused requests of orders.
	Refusals *refusals.Log
	// APIKeys authenticates callers of the HTTP API.
	APIKeys *auth.Keys

	// Processes holds a row for each running process.
	Processes *processes.Store
	// Audit holds the acts of people.
	Audit *audit.Log
	// Jobs do one act to many subjects.
	Jobs *jobs.Store
	// Questions answers slow questions while this process serves the HTTP API.
	Questions *questions.Desk

	// Telemetry has the figures of this process.
	Telemetry *telemetry.Telemetry
	// Tracing makes its traces, nil if it makes none.
	Tracing *telemetry.Tracing

	health    health
	own       ownListeners
	presence  presence
	pulse     pulse
	lateness  lateness
	flow      *flow
	processor payments.Processor
	carrier   shipping.Carrier // nil if there is none
	reactions *reactions.Reactions
	// ownHandlers are the handlers of Parts.
	ownHandlers []streams.Handler
	// machineARN is the ARN of the state machine once it was found.
	machineARN atomic.Pointer[string]
	log        *slog.Logger
	seen       observed
	awsConfig  aws.Config
}

// assemble builds the clients and the parts that use them.
func assemble(cfg Config, awsConfig aws.Config, engine *embedded.Engine, seen observed, events Events) (_ *Backend, err error) {
	// Before the clients are made, because they copy the configuration.
	seen.figures.MeasureAWS(&awsConfig)
	seen.tracing.TraceAWS(&awsConfig)

	b := &Backend{
		Config:   cfg,
		Tables:   tablesFor(cfg),
		DynamoDB: dynamodb.NewFromConfig(awsConfig),
		Streams:  dynamodbstreams.NewFromConfig(awsConfig),
		SFN:      sfn.NewFromConfig(awsConfig),
		SQS:      sqs.NewFromConfig(awsConfig),
		Engine:   engine,
		engineID: rand.Text()[:8],
		log:      seen.log,

		Telemetry: seen.figures,
		Tracing:   seen.tracing,

		seen:      seen,
		awsConfig: awsConfig,
	}

	if b.flow, err = newFlow(cfg); err != nil {
		return nil, err
	}

	// The order matters: each part may use the parts above it, and the handlers of Parts may use every
	// part.
	assembly := []func() error{
		b.assembleRefusals,
		func() error { return b.assembleOrders(events) },
		b.assembleLists,
		b.assembleTimers,
		b.assembleScheduled,
		b.assembleExecutions,
		b.assembleOnce,
		b.assembleActions,
		b.assembleStock,
		b.assembleAPIKeys,
		b.assembleProcesses,
		b.assembleAudit,
		b.assembleJobs,
		b.assembleQuestions,
		b.assemblePayments,
		b.assembleShipping,
		b.assembleNotify,
		func() error { return b.assembleReactions(events) },
		b.assembleHandlers,
	}
	for _, part := range assembly {
		if err := part(); err != nil {
			return nil, err
		}
	}

	return b, nil
}

func (b *Backend) assembleOrders(events Events) (err error) {
	cfg := b.Config.ordersConfig(b.flow)
	cfg.DynamoDB, cfg.Table, cfg.JournalTable = b.DynamoDB, b.Tables.Orders, b.Tables.Events
	cfg.RequestsTable = b.Tables.Requests
	cfg.Log = b.log
	cfg.Events = b.orderEvents(events)
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
		Events:   inventory.Events{Swept: b.reservationsSwept},
	})

	return err
}

func (b *Backend) assembleAPIKeys() (err error) {
	b.APIKeys, err = auth.NewKeys(auth.KeysConfig{DynamoDB: b.DynamoDB, Table: b.Tables.APIKeys})
	return err
}

// completeTimeout bounds the answer to a parked task, with its retries. It is shorter than a call of a
// stream's handler may take, because such a handler gives the answer.
const completeTimeout = 20 * time.Second

// assembleReactions builds the reactions, which the poller of the orders' stream calls, and the store
// and the completer of parked tasks.
func (b *Backend) assembleReactions(events Events) (err error) {
	if b.ParkedTasks, err = tasktoken.New(tasktoken.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Parked}); err != nil {
		return err
	}

	if b.Completer, err = activities.NewCompleter(activities.CompleterConfig{SFN: b.SFN, Timeout: completeTimeout}); err != nil {
		return err
	}

	cfg := reactions.Config{
		Orders:    b.Orders,
		Booker:    b.Booker,
		Stock:     b.Stock,
		Payments:  b.Payments,
		Parked:    b.ParkedTasks,
		Completer: b.Completer,
		Notifier:  b.Deliveries,
		FreshFor:  b.Config.FreshFor,

		RefundReturns: b.Config.RefundReturns,
		Parcels:       b.Reports,

		Events: reactions.Events{Reacting: b.Tracing.Reacting, Reacted: events.Reacted, MovedByOther: b.Telemetry.MovedByOther},
		Log:    b.log,
	}

	if b.flow.changed {
		// A state machine that cannot be read is refused before it runs.
		cfg.Awaited, _ = steps.Awaited(b.flow.asl)
	}

	// The default of Notified has states of the shop. In another workflow, every state is notified.
	if b.flow.own {
		for _, s := range b.flow.definition.States() {
			cfg.Notified = append(cfg.Notified, s.State)
		}
	}
	b.reactions, err = reactions.New(cfg)

	return err
}

// Close writes the refusals that were noted, and closes the embedded engine and the notification file,
// if there are any. It also exports the spans, figures and log lines that were not exported yet; this
// takes at most 3 s.
func (b *Backend) Close() error {
	_ = b.Refusals.Flush(context.Background()) // Refusals itself counts the refusals that are lost

	err := b.Deliveries.Close()
	if b.Engine != nil {
		err = errors.Join(err, b.Engine.Close())
	}

	return errors.Join(err, b.seen.close())
}
