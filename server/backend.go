package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"

	"ratchet/actions"
	"ratchet/api/auth"
	"ratchet/embedded"
	"ratchet/inventory"
	"ratchet/ledger"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/payments"
	banksandbox "ratchet/payments/sandbox"
	"ratchet/shipping"
	carriersandbox "ratchet/shipping/sandbox"
	"ratchet/streams/reactions"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/webhooks"
	"ratchet/workflow"
)

// Hooks count what happens. Nil fields count nothing; none may block.
type Hooks struct {
	Decided func(transitions.OrderID, workflow.Event, transitions.Verdict)
	Reacted func(handler string, c transitions.Change)
	// Consumed is told the capacity units of every call that ended in a verdict.
	Consumed func(id transitions.OrderID, v transitions.Verdict, readUnits, writeUnits float64)
	// Billed is told what DynamoDB would bill for every request of anybody, by table. It
	// is called by the embedded engine only.
	Billed func(table string, readUnits, writeUnits float64)
}

// Backend is the place where the data is, and the parts that work on it.
type Backend struct {
	Config   Config
	Tables   Tables
	DynamoDB *dynamodb.Client
	Streams  *dynamodbstreams.Client
	SFN      *sfn.Client
	SQS      *sqs.Client
	// Engine is the embedded engine, nil when the backend is an endpoint or AWS.
	Engine *embedded.Engine

	Orders *transitions.Orders
	Claims *once.Claims
	Locks  *once.Locks
	// Actions are the one-time actions of the tenant without a name.
	Actions *actions.Actions
	Stock   *inventory.Stock
	Ledger  *ledger.Ledger
	// Payments are made at Gateway, which stands for the processor.
	Payments *payments.Payments
	Parked   *tasktoken.Store
	Booker   *shipping.Booker
	Gateway  *banksandbox.Bank
	Carrier  *carriersandbox.Carrier
	Sink     notify.Sink
	Keys     *auth.Keys

	reactions *reactions.Reactions
	hooks     Hooks
	log       *slog.Logger
}

// Connect opens the backend that cfg names. With an endpoint it is reached over
// HTTP; with none and a region from the SDK's default chain it is AWS; otherwise the
// embedded engine is opened over cfg.Data. Close it after use.
func Connect(ctx context.Context, cfg Config, log *slog.Logger, hooks Hooks) (*Backend, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	var awsConfig aws.Config
	var err error
	if cfg.EndpointURL != "" || regionConfigured(ctx) {
		if awsConfig, err = remote(ctx, cfg); err != nil {
			return nil, err
		}
		// The SDK warns of connections that end early: nothing that a caller can act on.
		awsConfig.Logger = logging.LoggerFunc(func(_ logging.Classification, format string, args ...any) {
			log.Debug("aws sdk", "message", fmt.Sprintf(format, args...))
		})

		return assemble(cfg, awsConfig, nil, log, hooks)
	}

	return Embed(cfg, log, hooks)
}

// Embed opens the embedded engine over cfg.Data, whatever else is configured.
func Embed(cfg Config, log *slog.Logger, hooks Hooks) (*Backend, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}

	engine, err := embedded.Open(embedded.Config{Dir: cfg.Data, Log: log, Consumed: hooks.Billed})
	if err != nil {
		return nil, err
	}

	b, err := assemble(cfg, engine.AWSConfig(), engine, log, hooks)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}

	return b, nil
}

// regionConfigured asks the SDK's default chain (environment, shared config).
func regionConfigured(ctx context.Context) bool {
	c, err := config.LoadDefaultConfig(ctx)
	return err == nil && c.Region != ""
}

// remote is the SDK configuration for an endpoint or AWS. A compatible endpoint
// needs no credentials; when the environment names none, the chain is not searched
// (it would end at the instance metadata service, which a laptop waits for in vain).
func remote(ctx context.Context, cfg Config) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost, t.MaxIdleConns = 256, 512 // one host takes all calls
		})),
	}
	if cfg.EndpointURL != "" {
		options = append(options, config.WithBaseEndpoint(cfg.EndpointURL))
		if !regionConfigured(ctx) {
			options = append(options, config.WithRegion("us-east-1"))
		}

		if os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
			options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("ratchet", "ratchet", "")))
		}
	}

	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load the AWS configuration: %w", err)
	}

	if cfg.EndpointURL != "" {
		c.HTTPClient = wholeBody{c.HTTPClient}
	}

	return c, nil
}

// assemble builds the parts over the clients.
func assemble(cfg Config, c aws.Config, engine *embedded.Engine, log *slog.Logger, hooks Hooks) (*Backend, error) {
	if log == nil {
		log = slog.Default()
	}
	b := &Backend{
		Config: cfg, Tables: tablesFor(cfg.Prefix), Engine: engine, hooks: hooks, log: log,
		DynamoDB: dynamodb.NewFromConfig(c), Streams: dynamodbstreams.NewFromConfig(c), SFN: sfn.NewFromConfig(c),
		SQS: sqs.NewFromConfig(c),
	}

	orders, err := cfg.orders()
	if err != nil {
		return nil, err
	}

	orders.DynamoDB, orders.Table, orders.JournalTable = b.DynamoDB, b.Tables.Orders, b.Tables.Events
	orders.Log = log
	orders.Events = transitions.Events{Decided: hooks.Decided, Consumed: hooks.Consumed}
	if b.Orders, err = transitions.New(orders); err != nil {
		return nil, err
	}

	if b.Claims, err = once.New(once.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Once,
		Lease: cfg.EffectLease, Retention: effectRetention}); err != nil {
		return nil, err
	}
	dev := engine != nil || local(cfg.EndpointURL)

	keys, err := actionKeys(cfg, engine != nil)
	if err != nil {
		return nil, err
	}

	if b.Actions, err = actions.New(actions.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Actions, Keys: keys}); err != nil {
		return nil, err
	}

	if b.Locks, err = once.NewLocks(once.LocksConfig{DynamoDB: b.DynamoDB, Table: b.Tables.Once}); err != nil {
		return nil, err
	}

	if b.Sink, err = sinkFor(cfg, dev, log); err != nil {
		return nil, err
	}

	if b.Stock, err = inventory.New(inventory.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Inventory, DueTable: b.Tables.InventoryDue,
		Events: inventory.Events{Swept: b.swept}}); err != nil {
		return nil, err
	}

	if b.Keys, err = auth.NewKeys(auth.KeysConfig{DynamoDB: b.DynamoDB, Table: b.Tables.APIKeys}); err != nil {
		return nil, err
	}

	if err = b.assembleMoney(cfg); err != nil {
		return nil, err
	}

	if b.Parked, err = tasktoken.New(tasktoken.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Parked}); err != nil {
		return nil, err
	}

	b.Carrier, err = carriersandbox.New(carriersandbox.Config{
		DynamoDB: b.DynamoDB,
		Table:    b.Tables.SandboxShipments,
		Delay:    cfg.CarrierDelay,
		Deliver:  b.takeReport,
		Log:      log,
	})
	if err != nil {
		return nil, err
	}

	if b.Booker, err = shipping.New(shipping.Config{Claims: b.Claims, Carrier: b.Carrier}); err != nil {
		return nil, err
	}

	b.reactions, err = reactions.New(reactions.Config{
		Orders: b.Orders,
		Claims: b.Claims,
		Booker: b.Booker,
		Parked: b.Parked,
		SFN:    b.SFN,
		Sink:   b.Sink,
		Events: reactions.Events{Reacted: hooks.Reacted},
		Log:    log,
	})
	if err != nil {
		return nil, err
	}

	return b, nil
}

// sinkFor builds the sink that cfg.Notify names.
func sinkFor(cfg Config, dev bool, log *slog.Logger) (notify.Sink, error) {
	kind, path, _ := strings.Cut(cfg.Notify, ":")
	switch {
	case cfg.Notify == "log":
		return notify.NewLog(log), nil
	case kind == "file" && path != "":
		return notify.OpenFile(path)
	case kind == "dir" && path != "":
		return notify.NewDir(path)
	case strings.HasPrefix(cfg.Notify, "http://"), strings.HasPrefix(cfg.Notify, "https://"):
		return webhookTo(cfg, dev)
	}

	return nil, fmt.Errorf(notifyRule, cfg.Notify)
}

// webhookTo is a sink that delivers to cfg.Notify.
func webhookTo(cfg Config, dev bool) (notify.Sink, error) {
	keys, err := webhookKeys("webhook-secret", cfg.WebhookSecret)
	if err != nil {
		return nil, err
	}

	reach := webhooks.Reach(cfg.WebhookReach)
	if reach == "" {
		reach = webhooks.ReachPublic
		if dev {
			reach = webhooks.ReachLoopback
		}
	}

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: reach})
	if err != nil {
		return nil, fmt.Errorf("webhook-reach: %w", err)
	}

	sink, err := notify.NewWebhook(notify.WebhookConfig{Client: client, URL: cfg.Notify})
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}

	return sink, nil
}

// Close releases the embedded engine and the notification file, if there are any.
func (b *Backend) Close() (err error) {
	if sink, ok := b.Sink.(io.Closer); ok {
		err = sink.Close()
	}

	if b.Engine != nil {
		err = errors.Join(err, b.Engine.Close())
	}

	return err
}
