package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/notify/webhooks"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
)

// dynamoDB has the methods of *dynamodb.Client that this package calls.
type dynamoDB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// payer has the methods of *payments.Payments that this package calls.
type payer interface {
	OfOrder(ctx context.Context, lives []string) (string, error)
	Get(ctx context.Context, id string) (payments.Payment, error)
	Refund(ctx context.Context, id string, r payments.StepRequest) (payments.Payment, error)
}

// verifier has the method of webhooks.Keys that this package calls.
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

// Config configures a [Receiver].
type Config struct {
	// DynamoDB, Table, Orders and Payments are required. The function Table describes the table.
	DynamoDB dynamoDB
	Table    string
	Orders   *transitions.Orders
	// Payments are the payments of the orders. A *payments.Payments.
	Payments payer
	// RefundReturns makes the Receiver refund a parcel that comes back while other parcels do not.
	// Without it, such a report needs a person, who refunds the parcel.
	RefundReturns bool
	// Asker confirms reports. If it is nil, Receive believes every report.
	Asker shipping.Asker
	// Callbacks verifies the signatures of [Receiver.Callback], for example a *webhooks.Keys. Optional.
	Callbacks verifier
	// Log gets reports that are refused and parcels that are lost. Default slog.Default().
	Log *slog.Logger
}

// waitFor is how long a report waits at least, until the carrier confirms it. As long as its order can
// still take it, a report waits without a deadline. The report of a return waits at least for keepReturns.
const waitFor = 7 * 24 * time.Hour

// Receiver judges reports. It is safe for concurrent use.
type Receiver struct {
	cfg Config
	now func() time.Time // time.Now, but for tests of waits that last for weeks
}

// New returns a Receiver. The error names every field that breaks a rule.
func New(cfg Config) (*Receiver, error) {
	var faults []error
	require := func(ok bool, rule string) {
		if !ok {
			faults = append(faults, errors.New("reports: Config."+rule))
		}
	}
	require(cfg.DynamoDB != nil, "DynamoDB: must be set")
	require(cfg.Table != "", "Table: must be set")
	require(cfg.Orders != nil, "Orders: must be set")
	require(cfg.Payments != nil, "Payments: must be set")

	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}

	return &Receiver{cfg, time.Now}, errors.Join(faults...)
}

// Effect says how a received report was handled.
type Effect string

// The effects of a report.
const (
	// Applied: the order is in the state that the report leads to, or has passed it, or the report moves
	// no order.
	Applied Effect = "applied"
	// Waiting: the report is stored until its order can take it, or the carrier confirms it.
	Waiting Effect = "waiting"
	// Attention: the report is stored, and a person has to do what its reason says. The report is tried
	// again like a waiting one. So it leaves the list after the person has acted, or has marked it as
	// done.
	Attention Effect = "attention"
	// Done: a person has dealt with the report.
	Done Effect = "done"
	// Refused: the order can never take the report. It is stored for a person.
	Refused Effect = "refused"
)

// Receive judges a report of a carrier that does not repeat it. It returns shipping.ErrInvalidReport
// for a report that breaks a rule. After another error the report is not stored, and the carrier has to
// send it again; the order may have moved already.
func (d *Receiver) Receive(ctx context.Context, r shipping.Report) (Effect, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}

	// The carrier confirms the shipment and not the order, so the shipment's key must name the order.
	if !isShipment(r) {
		return "", fmt.Errorf("%w: shipment: is not one of the order", shipping.ErrInvalidReport)
	}

	found, err := d.judgeUnlessDone(ctx, r)
	if err != nil {
		return "", fmt.Errorf("report %s of order %s: %w", r.ID, r.OrderID, err)
	}

	switch found.effect {
	case Waiting, Attention:
		err = d.wait(ctx, r, found)
	case Refused:
		err = d.refuse(ctx, r, found.reason)
	}

	return found.effect, err
}

// finding is the effect of a report, and the reason unless the effect is Applied or Done. With the
// effect Attention, the command is the one that a person may run.
type finding struct {
	effect          Effect
	reason, command string
}

// judgeUnlessDone judges the report, unless a person has dealt with it. If the same report was applied
// before, it is Applied again, even if the carrier does not confirm it any more.
func (d *Receiver) judgeUnlessDone(ctx context.Context, r shipping.Report) (finding, error) {
	done, err := d.isDone(ctx, r)
	if err != nil || done {
		return finding{effect: Done}, err
	}

	found, err := d.judge(ctx, r)
	if err != nil {
		return found, err
	}

	if found.effect == Applied {
		return found, d.noteApplied(ctx, r)
	}

	// Looked up only here, because nearly every report is applied at its first try and does not need this
	// read.
	if applied, err := d.wasApplied(ctx, r); err != nil || applied {
		return finding{effect: Applied}, err
	}

	return found, nil
}

// judge confirms the report and applies it.
func (d *Receiver) judge(ctx context.Context, r shipping.Report) (finding, error) {
	if doubt := d.askCarrier(ctx, r); doubt.effect != "" {
		return doubt, nil
	}

	rule, err := d.take(ctx, r)
	switch {
	case err != nil:
		return finding{}, err
	case rule.answer == shipping.Accepted:
		return finding{effect: Applied}, nil
	case rule.answer == shipping.Rejected:
		return finding{effect: Refused, reason: rule.reason}, nil
	case rule.command != "":
		return finding{Attention, rule.reason, rule.command}, nil
	}

	return finding{effect: Waiting, reason: rule.reason}, nil
}

// askCarrier asks the carrier about the report. It returns a finding without an effect if the carrier
// confirms the report, or if there is no Asker.
func (d *Receiver) askCarrier(ctx context.Context, r shipping.Report) finding {
	if d.cfg.Asker == nil || isOfParcels(r) {
		return finding{}
	}

	s, err := d.cfg.Asker.Get(ctx, r.Shipment)
	switch {
	// Waiting and not Refused: the carrier's records may be older than its report.
	case errors.Is(err, shipping.ErrUnknownShipment):
		return finding{effect: Waiting, reason: "the carrier does not know the shipment"}
	case err != nil:
		return finding{effect: Waiting, reason: "the carrier cannot be asked: " + err.Error()}
	case !s.Confirms(r):
		return finding{effect: Waiting, reason: fmt.Sprintf("the carrier says that the shipment is %q", s.Status)}
	case r.Milestone != shipping.Shipped || len(r.Lines) == 0: // the lines of a return are checked by linesOf
		return finding{}
	}

	switch lines, known := s.Lines[r.Parcel]; {
	case !known:
		return finding{effect: Waiting, reason: fmt.Sprintf("the carrier does not say what parcel %s holds", r.Parcel)}
	case !shipping.SameLines(lines, r.Lines):
		return finding{effect: Refused, reason: fmt.Sprintf("the carrier says that parcel %s holds other lines", r.Parcel)}
	}

	return finding{}
}
