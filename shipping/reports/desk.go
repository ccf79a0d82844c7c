package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/webhooks"
)

// dynamoDB is what this package calls of *dynamodb.Client.
type dynamoDB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// verifier is what this package needs of webhooks.Keys.
type verifier interface {
	Verify(h http.Header, body []byte) (webhooks.Message, error)
}

// The keys of the table, and the attribute of its time to live.
const (
	partitionKey    = "pk"
	sortKey         = "sk"
	ExpiryAttribute = "expiresAt"
)

// Table describes the table of reports.
func Table(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(partitionKey), dynamo.TextKey(sortKey))
}

// Config configures a [Desk].
type Config struct {
	// DynamoDB, Table, Orders and Locks are required. The table is one that the function Table
	// describes.
	DynamoDB dynamoDB
	Table    string
	Orders   *transitions.Orders
	// Locks record lost parcels.
	Locks *once.Locks
	// Asker confirms reports. Without one, Receive believes a report as it is.
	Asker shipping.Asker
	// Callbacks verifies the signatures of [Desk.Callback], for example a *webhooks.Keys. Optional.
	Callbacks verifier
	// WaitFor is how long a report waits for its order. Default 7 days.
	WaitFor time.Duration
	// Now is the clock of pauses and ends. Default time.Now.
	Now func() time.Time
	// Log gets reports that are refused and parcels that are lost. Default slog.Default().
	Log *slog.Logger
}

const defaultWaitFor = 7 * 24 * time.Hour

// Desk judges reports. It is safe for concurrent use.
type Desk struct{ cfg Config }

// New returns a Desk. The error names every field that breaks a rule.
func New(cfg Config) (*Desk, error) {
	var faults []error
	require := func(ok bool, rule string) {
		if !ok {
			faults = append(faults, errors.New("reports: Config."+rule))
		}
	}
	require(cfg.DynamoDB != nil, "DynamoDB: must be set")
	require(cfg.Table != "", "Table: must be set")
	require(cfg.Orders != nil, "Orders: must be set")
	require(cfg.Locks != nil, "Locks: must be set")
	require(cfg.WaitFor >= 0, fmt.Sprintf("WaitFor %v: must not be negative", cfg.WaitFor))

	if cfg.WaitFor == 0 {
		cfg.WaitFor = defaultWaitFor
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	return &Desk{cfg}, errors.Join(faults...)
}

// Effect is what a received report has led to.
type Effect string

// The effects of a report.
const (
	// Applied: the order is where the report says, or was before, or the report moves no order.
	Applied Effect = "applied"
	// Waiting: the report is stored until its order can take it, or the carrier confirms it.
	Waiting Effect = "waiting"
	// Refused: the order can never take the report. It is stored for a person.
	Refused Effect = "refused"
)

// Receive judges a report of a carrier that does not repeat it. It returns
// shipping.ErrInvalidReport for one that breaks a rule. After another error nothing is stored,
// and the carrier has to send the report again.
func (d *Desk) Receive(ctx context.Context, r shipping.Report) (Effect, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}

	if !strings.HasPrefix(r.Shipment, r.OrderID+"/") {
		return "", fmt.Errorf("%w: shipment: is not one of the order", shipping.ErrInvalidReport)
	}

	effect, reason, err := d.judge(ctx, r)
	if err != nil {
		return "", fmt.Errorf("report %s of order %s: %w", r.ID, r.OrderID, err)
	}

	switch effect {
	case Waiting:
		err = d.wait(ctx, r, reason)
	case Refused:
		err = d.refuse(ctx, r, reason)
	}

	return effect, err
}

// judge confirms the report and applies it. The reason is that of a report which waits or is
// refused.
func (d *Desk) judge(ctx context.Context, r shipping.Report) (effect Effect, reason string, err error) {
	if reason := d.doubt(ctx, r); reason != "" {
		return Waiting, reason, nil
	}

	rule, err := d.take(ctx, r)
	switch {
	case err != nil:
		return "", "", err
	case rule.answer == shipping.Accepted:
		return Applied, "", nil
	case rule.answer == shipping.Retry:
		return Waiting, rule.reason, nil
	}

	return Refused, rule.reason, nil
}

// doubt returns why the report is not believed yet, "" if it is.
func (d *Desk) doubt(ctx context.Context, r shipping.Report) string {
	if d.cfg.Asker == nil {
		return ""
	}

	s, err := d.cfg.Asker.Get(ctx, r.Shipment)
	switch {
	case errors.Is(err, shipping.ErrUnknownShipment):
		return "the carrier does not know the shipment"
	case err != nil:
		return "the carrier cannot be asked: " + err.Error()
	case !s.Confirms(r):
		return fmt.Sprintf("the carrier says that the shipment is %q", s.Status)
	}

	return ""
}
