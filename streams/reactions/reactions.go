package reactions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ratchet/activities"
	"ratchet/internal/dynamo"
	"ratchet/inventory"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

// completer is what this package needs of an *activities.Completer.
type completer interface {
	Succeed(ctx context.Context, token activities.Token, output any) (activities.Outcome, error)
	Fail(ctx context.Context, token activities.Token, failure error) (activities.Outcome, error)
}

// notifier is what this package needs of a *notify.Deliveries.
type notifier interface {
	// Accept stores the notification for everyone who wants it. A repeat changes nothing.
	Accept(ctx context.Context, n notify.Notification) error
}

// Config configures [Reactions]. All fields up to Notifier are required.
type Config struct {
	Orders *transitions.Orders
	Booker *shipping.Booker
	Stock  *inventory.Stock
	// Payments captures what was authorized when an order is shipped.
	Payments *payments.Payments
	// Parked holds the tokens of waiting executions, which Completer answers.
	Parked    *tasktoken.Store
	Completer completer
	// Notifier notifies customers.
	Notifier notifier

	// Awaited are the states that executions wait for. Default: PENDING, SHIPPED and
	// DELIVERED, which statemachine.asl.json waits for.
	Awaited []workflow.State
	// FreshFor is how long after a transition its first delivery is trusted: after that,
	// and in every later attempt, a shipment is booked only if the order as it is now still
	// wants one. Default 10 s.
	FreshFor time.Duration
	// RefundReturns gives the money of returned orders back, and moves them to REFUNDED.
	RefundReturns bool
	// Events are optional.
	Events Events
	// Log gets one line per effect at debug level, with order and transition and without
	// personal data. Default slog.Default().
	Log *slog.Logger
}

// Events are called by the handlers. They must not block.
type Events struct {
	// Reacted is called after a handler has handled a change.
	Reacted func(handler string, c transitions.Change)
}

const defaultFreshFor = 10 * time.Second

func (c *Config) check() error {
	var faults []error
	require := func(set bool, name string) {
		if !set {
			faults = append(faults, errors.New("reactions: Config."+name+": must be set"))
		}
	}
	require(c.Orders != nil, "Orders")
	require(c.Booker != nil, "Booker")
	require(c.Stock != nil, "Stock")
	require(c.Payments != nil, "Payments")
	require(c.Parked != nil, "Parked")
	require(c.Completer != nil, "Completer")
	require(c.Notifier != nil, "Notifier")

	if c.FreshFor < 0 {
		faults = append(faults, fmt.Errorf("reactions: Config.FreshFor %v: must not be negative", c.FreshFor))
	}

	if c.FreshFor == 0 {
		c.FreshFor = defaultFreshFor
	}

	if c.Awaited == nil {
		c.Awaited = []workflow.State{workflow.Pending, workflow.Shipped, workflow.Delivered}
	}

	if c.Events.Reacted == nil {
		c.Events.Reacted = func(string, transitions.Change) {}
	}

	if c.Log == nil {
		c.Log = slog.Default()
	}

	return errors.Join(faults...)
}

// Reactions reacts to applied transitions. It is safe for concurrent use.
type Reactions struct {
	cfg Config
}

// New returns Reactions. The error names every field that is missing.
func New(cfg Config) (*Reactions, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Reactions{cfg: cfg}, nil
}

// Names of the handlers. A name is part of effect keys and dead letters and never changes.
const (
	JournalHandler  = "journal"
	ShippingHandler = shipping.Effect
	StockHandler    = "stock"
	PaymentHandler  = "payment"
	NotifyHandler   = "notify"
	ParkedHandler   = "parked"
	RefundHandler   = "refund"
)

// change is an applied transition that is delivered to a handler.
type change struct {
	transitions.Change
	// attempt counts the deliveries, from 1. A redrive is a later attempt.
	attempt int
	// late is set by the poller: see streams.Record.Late.
	late bool
	// group is the poller's group, again set for a replay that repeats effects: see
	// streams.Record.Group and streams.Replayed.Again.
	group, again string
}

// effectKey returns the key of the handler's effect of a transition. The default group has
// that of transitions.EffectKey; another group, which has handlers of the same names, has
// keys of its own.
func (c change) effectKey(t transitions.TransitionID, handler string) string {
	key := c.New.ID.EffectKey(t, handler)
	if c.group != "" {
		key += "/group-" + c.group
	}

	return key
}

// notificationKey is the effect key of a notification, a new one if a replay asks for it.
func (c change) notificationKey() string {
	key := c.effectKey(c.Transition.ID, NotifyHandler)
	if c.again != "" {
		key += "/again-" + c.again
	}

	return key
}

// Handlers returns the handlers for one poller. The journal's handler retries without end:
// it never gives a record up as a dead letter unless the record cannot be decoded. The
// others retry as the poller's configuration says.
func (r *Reactions) Handlers() []streams.Handler {
	record := func(ctx context.Context, c change) error { return r.cfg.Orders.Record(ctx, c.Change) }

	all := []streams.Handler{
		r.handler(JournalHandler, always, record),
		r.handler(ShippingHandler, startsShipping, r.ship),
		r.handler(StockHandler, ships, r.commitStock),
		r.handler(PaymentHandler, ships, r.capture),
		r.handler(NotifyHandler, concernsCustomer, r.notify),
		r.handler(ParkedHandler, r.concernsWaits, r.answerParked),
	}
	all[0].Attempts = -1

	if r.cfg.RefundReturns {
		all = append(all, r.handler(RefundHandler, comesBack, r.refund))
	}

	return all
}

// transitionID returns the transitionId of the order after the change, as a repair of the
// stream counts versions.
func transitionID(record streams.Record) int64 { return dynamo.Number(record.New, "transitionId") }

// handler returns a handler that calls react for the changes that the filter selects.
func (r *Reactions) handler(name string, filter func(transitions.Change) bool, react func(context.Context, change) error) streams.Handler {
	selects := func(d *decoded) bool { return d.grew && filter(d.change) }

	return streams.Handler{
		Name:    name,
		Version: transitionID,
		Filter: func(record streams.Record) bool {
			d := decode(record)
			return d.err != nil || selects(d)
		},
		Handle: r.handle(name, selects, react),
	}
}

// handle returns a function that decodes the record and calls react if the change is
// selected. A record that is redriven has passed no filter.
func (r *Reactions) handle(name string, selects func(*decoded) bool, react func(context.Context, change) error) streams.HandlerFunc {
	return func(ctx context.Context, record streams.Record) error {
		d := decode(record)
		switch {
		case d.err != nil:
			return streams.Permanent(d.err) // a retry reads the same images
		case !selects(d):
			return nil
		}
		c := d.change

		// A newer definition may have states that this worker does not know. It leaves the
		// effect to a newer worker. The journal needs no definition.
		if name != JournalHandler && c.New.DefinitionVersion > r.cfg.Orders.Definition().Version() {
			if err := r.cfg.Orders.CheckVersion(c.New); err != nil {
				return err
			}
		}

		delivered := change{Change: c, attempt: record.Attempt, late: record.Late, group: record.Group}
		if record.Replay != nil {
			delivered.again = record.Replay.Again
		}

		err := react(ctx, delivered)
		if err == nil {
			r.cfg.Events.Reacted(name, c)
		}

		if isClaimed(err) {
			return streams.NotYet(err)
		}

		return err
	}
}

// isClaimed reports whether the effect's claim is held by another worker, or whether this
// machine's clock cannot tell. The claim ends with its lease, so the record is retried
// without counting an attempt.
func isClaimed(err error) bool {
	return errors.Is(err, once.ErrInProgress) || errors.Is(err, once.ErrStaleOwner) || errors.Is(err, once.ErrLeaseExpired) ||
		errors.Is(err, once.ErrClockSkew)
}

func always(transitions.Change) bool { return true }

// enters reports whether the change leads the order to the state. A migration moves no
// order.
func enters(c transitions.Change, state workflow.State) bool {
	return c.Transition.Event != workflow.Migrate && c.New.State == state && (c.Old == nil || c.Old.State != state)
}

// isRelease reports whether the change ends the hold of a paid order.
func isRelease(c transitions.Change) bool {
	return c.Old != nil && c.Old.State == workflow.PaidOnHold && c.New.State == workflow.PaymentReceived
}

// ships selects the changes after which every parcel of an order has left.
func ships(c transitions.Change) bool { return enters(c, workflow.Shipped) }
