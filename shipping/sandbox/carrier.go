package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
)

// dynamoDB is what this package needs of the SDK's client.
type dynamoDB interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Table describes the table of a carrier, with the keys pk and sk.
func Table(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("pk"), dynamo.TextKey("sk"))
}

// Config configures a [Carrier].
type Config struct {
	// DynamoDB and Table are required. The table is one that the function Table describes.
	DynamoDB dynamoDB
	Table    string
	// Delay is the time from the booking to the first report, and from that to the second.
	Delay time.Duration
	// Interval is how often Run looks for reports that are due. Default: a fiftieth of
	// Delay, at least 50 ms.
	Interval time.Duration
	// Deliver gives a report to the shop. Default: every report is accepted.
	Deliver DeliverFunc
	// Log gets failed deliveries. Default slog.Default().
	Log *slog.Logger
}

const (
	minDefaultInterval = 50 * time.Millisecond
	intervalsPerDelay  = 50
)

func (c *Config) check() error {
	var faults []error
	if c.DynamoDB == nil {
		faults = append(faults, errors.New("sandbox: Config.DynamoDB: must be set"))
	}

	if c.Table == "" {
		faults = append(faults, errors.New("sandbox: Config.Table: must be set"))
	}

	if c.Delay < 0 {
		faults = append(faults, fmt.Errorf("sandbox: Config.Delay %v: must not be negative", c.Delay))
	}

	if c.Interval < 0 {
		faults = append(faults, fmt.Errorf("sandbox: Config.Interval %v: must not be negative", c.Interval))
	}

	if c.Interval == 0 {
		c.Interval = max(minDefaultInterval, c.Delay/intervalsPerDelay)
	}

	if c.Deliver == nil {
		c.Deliver = func(context.Context, Report) (Answer, error) { return Accepted, nil }
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return errors.Join(faults...)
}

// Carrier books and reports shipments that do not exist. It is safe for concurrent use.
type Carrier struct{ cfg Config }

// New returns a Carrier. The error names every field that breaks a rule.
func New(cfg Config) (*Carrier, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Carrier{cfg}, nil
}

// Wrap replaces the function that delivers reports. Call it before Run.
func (c *Carrier) Wrap(wrap func(DeliverFunc) DeliverFunc) { c.cfg.Deliver = wrap(c.cfg.Deliver) }

// Statuses of a shipment. The texts are stored.
const (
	statusBooked   = "BOOKED"
	statusCanceled = "CANCELED"
)

func shipmentKey(key string) dynamo.Item {
	return dynamo.Item{"pk": dynamo.S("shipment#" + key), "sk": dynamo.S("-")}
}

// Book stores the booking and its first report in one transaction, and returns the
// tracking number.
func (c *Carrier) Book(ctx context.Context, key, orderID string) (string, error) {
	shipment := shipmentKey(key)
	shipment["orderId"] = dynamo.S(orderID)
	shipment["status"] = dynamo.S(statusBooked)

	report := c.reportItem(time.Now(), key, orderID, Shipped)

	_, err := c.cfg.DynamoDB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{
				TableName:                           &c.cfg.Table,
				Item:                                shipment,
				ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			}},
			{Put: &types.Put{TableName: &c.cfg.Table, Item: report}},
		},
	})
	if err == nil {
		return trackingNumber(key), nil
	}

	old, exists := failedBooking(err)
	switch {
	case !exists:
		return "", fmt.Errorf("book %s: %w", key, err)
	case dynamo.Text(old, "status") == statusCanceled:
		return "", shipping.ErrCanceled
	}

	return trackingNumber(key), nil // a repeat
}

// failedBooking returns the shipment that made the condition of a booking fail.
func failedBooking(err error) (old dynamo.Item, exists bool) {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) || len(canceled.CancellationReasons) == 0 {
		return nil, false
	}

	first := canceled.CancellationReasons[0]

	return first.Item, aws.ToString(first.Code) == "ConditionalCheckFailed"
}

// Cancel closes the key, so that a later booking returns ErrCanceled. Reports of a
// shipment that was booked before are still made.
func (c *Carrier) Cancel(ctx context.Context, key string) error {
	update := dynamo.NewUpdate(c.cfg.Table, shipmentKey(key)).SetValue("status", dynamo.S(statusCanceled))
	_, err := c.cfg.DynamoDB.UpdateItem(ctx, update.Input())

	return err
}

func trackingNumber(key string) string { return "trk-" + strings.ReplaceAll(key, "/", "-") }
