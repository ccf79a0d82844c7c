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
	"ratchet/internal/ids"
	"ratchet/shipping"
)

// ErrUnavailable means that the carrier is down (see [Faults.Down]).
var ErrUnavailable = errors.New("the sandbox carrier is down")

// dynamoDB has the methods of the SDK's client that this package calls.
type dynamoDB interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// ExpiryAttribute is the attribute of the table's time to live.
const ExpiryAttribute = "expiresAt"

// Table describes the table of a carrier, with the keys pk and sk.
func Table(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("pk"), dynamo.TextKey("sk"))
}

// Config configures a [Carrier].
type Config struct {
	// DynamoDB and Table are required. The function Table describes the table.
	DynamoDB dynamoDB
	Table    string
	// Delay is the time from the booking to the first report, and from one report to the next.
	// [Carrier.Run] looks for reports that are due after each fiftieth of it, at least 50 ms.
	// Default 0.
	Delay time.Duration
	// Deliver gives a report to the shop. Default: every report is accepted.
	Deliver DeliverFunc
	// Track makes the carrier store each milestone before it reports it, for [Carrier.Get]:
	// one write more for each report. Without it, Get knows no milestone after Shipped.
	Track bool
	// Faults are the carrier's faults. Default: none.
	Faults Faults
	// Log gets failed deliveries. Default slog.Default().
	Log *slog.Logger
}

const (
	// Run looks intervalsPerDelay times in a Delay for reports that are due, after minInterval or more.
	minInterval       = 50 * time.Millisecond
	intervalsPerDelay = 50

	// keepShipment is how long a shipment is kept after its newest change. During that time a repeat of
	// its booking or cancellation is recognized. Package reports keeps its rows about parcels equally
	// long.
	keepShipment = 400 * 24 * time.Hour
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

	faults = append(faults, c.Faults.check()...)

	if c.Deliver == nil {
		c.Deliver = func(context.Context, shipping.Report) (shipping.Answer, error) { return shipping.Accepted, nil }
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return errors.Join(faults...)
}

// Carrier books and reports shipments that do not exist. It is safe for concurrent use.
type Carrier struct {
	cfg    Config
	opened time.Time
}

// New returns a Carrier. The error names every field that breaks a rule.
func New(cfg Config) (*Carrier, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Carrier{cfg: cfg, opened: time.Now()}, nil
}

// Wrap replaces the function that delivers reports. Call it before Run.
func (c *Carrier) Wrap(wrap func(DeliverFunc) DeliverFunc) { c.cfg.Deliver = wrap(c.cfg.Deliver) }

// Statuses of a shipment. The texts are stored.
const (
	statusBooked   = "BOOKED"
	statusLeft     = "LEFT"
	statusCanceled = "CANCELED"
)

// The status of a shipment is in this attribute, whose name DynamoDB reserves.
const (
	attrStatus     = "status"
	attrStatusName = "#status"
	attrReached    = "reached" // the milestone that was reported last
	attrHeld       = "held"    // whether the parcel is held
	attrHeldBy     = "heldBy"  // the newest transition that has held it, or ended that
)

// expired is the condition that a shipment has expired. TTL may delete it later, but it counts as
// absent.
const expired = ExpiryAttribute + " <= :now"

// expiry returns when a shipment expires that is changed now.
func (c *Carrier) expiry() types.AttributeValue {
	return dynamo.Seconds(time.Now().Add(keepShipment))
}

func shipmentKey(key string) dynamo.Item {
	return dynamo.Item{"pk": dynamo.S("shipment#" + key), "sk": dynamo.S("-")}
}

// Book stores the booking and its first report in one transaction, and returns the
// tracking number.
func (c *Carrier) Book(ctx context.Context, key, orderID string) (string, error) {
	if err := c.misbehave(ctx); err != nil {
		return "", err
	}

	// An update, because a hold may have come before.
	booking := dynamo.NewUpdate(c.cfg.Table, shipmentKey(key)).
		If("attribute_not_exists("+attrStatusName+") OR "+expired).
		Alias(attrStatusName, attrStatus).
		Bind(":now", dynamo.Seconds(time.Now())).
		SetValue("orderId", dynamo.S(orderID)).
		SetValue(attrStatus, dynamo.S(statusBooked)).
		SetValue(ExpiryAttribute, c.expiry()).
		Part()

	report := c.reportItem(time.Now(), key, orderID, shipping.Shipped)

	_, err := c.cfg.DynamoDB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{
			{Update: booking},
			// In the same transaction: a booking without a report in the queue would never leave.
			{Put: &types.Put{TableName: &c.cfg.Table, Item: report}},
		},
	})
	if err == nil {
		return trackingNumber(key), nil
	}

	old, exists := dynamo.FailedPart(err, 0) // the write of the shipment
	switch {
	case !exists:
		return "", fmt.Errorf("book %s: %w", key, err)
	case dynamo.Text(old, attrStatus) == statusCanceled:
		return "", shipping.ErrCanceled
	}

	return trackingNumber(key), nil // a repeat
}

// Cancel stops the shipment unless its parcel has left, and closes the key, so that a later
// booking returns ErrCanceled. A canceled shipment makes no report.
func (c *Carrier) Cancel(ctx context.Context, key string) (left bool, err error) {
	if err := c.misbehave(ctx); err != nil {
		return false, err
	}

	update := dynamo.NewUpdate(c.cfg.Table, shipmentKey(key)).
		// A key without a shipment is canceled, too, so that a later booking is refused.
		If("attribute_not_exists("+attrStatusName+") OR "+attrStatusName+" <> :left OR "+expired).
		Bind(":left", dynamo.S(statusLeft)).
		Bind(":now", dynamo.Seconds(time.Now())).
		SetValue(attrStatus, dynamo.S(statusCanceled)).
		SetValue(ExpiryAttribute, c.expiry())

	_, err = c.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, left := dynamo.FailedCondition(err); left {
		return true, nil
	}

	if err != nil {
		return false, fmt.Errorf("cancel %s: %w", key, err)
	}

	return false, nil
}

// Hold keeps the parcel from leaving, or ends that, as shipping.Holder describes.
func (c *Carrier) Hold(ctx context.Context, key string, at int64, held bool) (left bool, err error) {
	if err := c.misbehave(ctx); err != nil {
		return false, err
	}

	update := dynamo.NewUpdate(c.cfg.Table, shipmentKey(key)).
		If("(attribute_not_exists("+attrStatusName+") OR "+attrStatusName+" <> :left) AND (attribute_not_exists("+attrHeldBy+") OR "+attrHeldBy+" < :at) OR "+expired).
		Bind(":left", dynamo.S(statusLeft)).
		Bind(":at", dynamo.N(at)).
		Bind(":now", dynamo.Seconds(time.Now())).
		Alias(attrStatusName, attrStatus).
		SetValue(attrHeld, dynamo.Bool(held)).
		SetValue(attrHeldBy, dynamo.N(at)).
		SetValue(ExpiryAttribute, c.expiry())

	_, err = c.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if old, refused := dynamo.FailedCondition(err); refused {
		return dynamo.Text(old, attrStatus) == statusLeft, nil
	}

	if err != nil {
		return false, fmt.Errorf("hold %s: %w", key, err)
	}

	return false, nil
}

// Get returns the shipment, as shipping.Asker describes. Without Config.Track no milestone after
// Shipped is known.
func (c *Carrier) Get(ctx context.Context, key string) (shipping.Shipment, error) {
	if err := c.misbehave(ctx); err != nil {
		return shipping.Shipment{}, err
	}

	item, err := c.shipment(ctx, key)
	if err != nil {
		return shipping.Shipment{}, fmt.Errorf("get %s: %w", key, err)
	}

	s := shipping.Shipment{Status: shipping.Booked, Tracking: trackingNumber(key)}
	switch status, reached := dynamo.Text(item, attrStatus), dynamo.Text(item, attrReached); {
	case status == "":
		return shipping.Shipment{}, fmt.Errorf("get %s: %w", key, shipping.ErrUnknownShipment)
	case status == statusCanceled:
		s.Status = shipping.Canceled
	// With Track the milestone says more than the status, which stays LEFT after the parcel has left.
	case reached != "":
		s.Status = shipping.Milestone(reached)
	case status == statusLeft:
		s.Status = shipping.Shipped
	}

	return s, nil
}

// shipment reads the item of a shipment, nil if there is none or it has expired.
func (c *Carrier) shipment(ctx context.Context, key string) (dynamo.Item, error) {
	out, err := c.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &c.cfg.Table,
		Key:            shipmentKey(key),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("read the shipment: %w", err)
	}

	if dynamo.HasExpired(out.Item, ExpiryAttribute, time.Now()) {
		return nil, nil
	}

	return out.Item, nil
}

func trackingNumber(key string) string {
	return ids.Fit("trk-"+strings.ReplaceAll(key, "/", "-"), maxTracking)
}

// maxTracking is how many bytes the tracking number of a report may have.
const maxTracking = 200
