package reactions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/notify"
	"ratchet/once"
	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// completer has the methods of an *activities.Completer that this package calls.
type completer interface {
	Succeed(ctx context.Context, token activities.Token, output any) (activities.Outcome, error)
	Fail(ctx context.Context, token activities.Token, failure error) (activities.Outcome, error)
}

// notifier has the methods of a *notify.Deliveries that this package calls.
type notifier interface {
	// Accept stores the notification for every endpoint that wants it. A repeat changes nothing.
	Accept(ctx context.Context, n notify.Notification) error
	// Erase removes the person from all that is stored for the order.
	Erase(ctx context.Context, order string) (changed int, err error)
}

// parcels has the method of a *reports.Receiver that this package calls.
type parcels interface {
	// ApplyParcels moves an order whose parcels have all left to the state that the parcels'
	// reports show. A repeat changes nothing.
	ApplyParcels(ctx context.Context, id transitions.OrderID) error
}

// Config configures [Reactions]. All fields up to Notifier are required.
type Config struct {
	Orders *transitions.Orders
	Booker *shipping.Booker
	Stock  *inventory.Stock
	// Payments captures the authorized amount when an order is shipped.
	Payments *payments.Payments
	// Parked holds the tokens of waiting executions, which Completer answers.
	Parked    *tasktoken.Store
	Completer completer
	// Notifier notifies customers.
	Notifier notifier

	// Awaited are the states that executions wait for. Default: PENDING, SHIPPED and
	// DELIVERED, which statemachine.asl.json waits for.
	Awaited []workflow.State
	// Notified are the states that customers are notified of when an order enters them. Of other changes
	// only the endpoints are notified that name the event. Default: the states of a shop, from
	// PAYMENT_RECEIVED to its ends.
	Notified []workflow.State
	// FreshFor is how long after a transition the first delivery of its record acts without reading
	// the order. Later, and in every further attempt, the order is read: a shipment is booked only
	// if the order still needs one. Default 10 s.
	FreshFor time.Duration
	// RefundReturns gives the money of returned orders back, and moves them to REFUNDED. Without it, a
	// person does.
	RefundReturns bool
	// Parcels moves on an order that was shipped in parcels. Nil if there are no reports of
	// parcels.
	Parcels parcels
	// Events are optional.
	Events Events
	// Log gets one line per effect at debug level, with order and transition and without
	// personal data. Default slog.Default().
	Log *slog.Logger
}

// Events are called by the handlers. They must not block.
type Events struct {
	// Reacting is called before a handler acts on a change. It returns the context for the handler,
	// and a function that is called with the handler's error afterwards.
	Reacting func(ctx context.Context, handler string, c transitions.Change) (context.Context, func(error))
	// Reacted is called after a handler has handled a change.
	Reacted func(handler string, c transitions.Change)
	// MovedByOther is called for a record of an order whose state another program has changed without a
	// transition: once for each time that the record is delivered.
	MovedByOther func(transitions.OrderID)
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

	if c.Notified == nil {
		c.Notified = notifiedStates
	}

	// Hooks that do nothing, so that handlers call them without a check.
	if c.Events.Reacting == nil {
		c.Events.Reacting = func(ctx context.Context, _ string, _ transitions.Change) (context.Context, func(error)) {
			return ctx, func(error) {}
		}
	}

	if c.Events.Reacted == nil {
		c.Events.Reacted = func(string, transitions.Change) {}
	}

	if c.Events.MovedByOther == nil {
		c.Events.MovedByOther = func(transitions.OrderID) {}
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
	stockHandler    = "stock"
	paymentHandler  = "payment"
	NotifyHandler   = "notify"
	parkedHandler   = "parked"
	RefundHandler   = "refund"
	parcelsHandler  = "parcels"
)

// change is an applied transition that is delivered to a handler.
type change struct {
	transitions.Change
	// attempt counts the deliveries, from 1. A redrive is a later attempt.
	attempt int
	// late is set by the poller: see streams.Record.Late.
	late bool
	// recorded is when the service recorded the change, zero if the record does not say.
	recorded time.Time
	// group is the poller's group, again set for a replay that repeats effects: see
	// streams.Record.Group and streams.Replayed.Again.
	group, again string
}

// isFresh reports whether the change was made at most FreshFor ago and is delivered for the first
// time. Then the order counts as being still as the change says. A change is old after a redrive, a
// replay or an outage.
func (r *Reactions) isFresh(c change) bool {
	return !c.late && c.attempt <= 1 && time.Since(c.Transition.At) <= r.cfg.FreshFor
}

// notificationKey is the effect key of a notification: in the default group the order's EffectKey.
// Another group has a handler of the same name, so its keys have a suffix. A replay may ask for a
// further suffix, so that the effect is repeated.
func (c change) notificationKey() string {
	key := c.EffectKey(NotifyHandler)
	if c.group != "" {
		key += "/group-" + c.group
	}

	if c.again != "" {
		key += "/again-" + c.again
	}

	return key
}

// Handlers returns the handlers of a shop for one poller: the general handlers, and the handlers that
// ship, commit the stock, capture and refund.
func (r *Reactions) Handlers() []streams.Handler {
	all := slices.Insert(r.GeneralHandlers(), 1, // behind the journal
		r.handler(ShippingHandler, r.concernsShipping, r.shipOrHold),
		r.handler(stockHandler, r.ships, r.commitStock),
		r.handler(paymentHandler, r.ships, r.capture),
	)

	if r.cfg.RefundReturns {
		all = append(all, r.handler(RefundHandler, r.comesBack, r.refund))
	}

	if r.cfg.Parcels != nil {
		applyParcels := func(ctx context.Context, c change) error { return r.cfg.Parcels.ApplyParcels(ctx, c.New.ID) }
		all = append(all, r.handler(parcelsHandler, r.shipsRest, applyParcels))
	}

	return all
}

// GeneralHandlers returns the handlers that every workflow has: the journal, notifications and
// parked tasks. The journal's handler retries without end: a record becomes a dead letter only if
// it cannot be decoded, or if the journal has another transition in its place. The others retry as the
// poller's configuration says.
func (r *Reactions) GeneralHandlers() []streams.Handler {
	record := func(ctx context.Context, c change) error {
		err := r.cfg.Orders.Record(ctx, c.Change)
		if errors.Is(err, transitions.ErrJournalAhead) {
			return streams.Permanent(err)
		}

		return err
	}

	all := []streams.Handler{
		r.handler(JournalHandler, always, record),
		r.handler(NotifyHandler, isTransition, r.notify),
		r.handler(parkedHandler, r.concernsWaits, r.answerParked),
	}
	all[0].Attempts = -1
	all[0].Version = nil // rows of the journal do not depend on each other, so a late row does no harm

	return all
}

// transitionID returns the transitionId of the order after the change: the number of the version,
// see streams.Handler.Version.
func (r *Reactions) transitionID(record streams.Record) int64 {
	return int64(r.cfg.Orders.Mapping().TransitionOf(record.New))
}

// handler returns a handler that calls react for the changes that the filter selects.
func (r *Reactions) handler(name string, filter func(transitions.Change) bool, react func(context.Context, change) error) streams.Handler {
	selects := func(d *decoded) bool { return d.grew && filter(d.change) }

	return streams.Handler{
		Name:    name,
		Version: r.transitionID,
		Filter: func(record streams.Record) bool {
			// A record that cannot be decoded passes the filter, so that the handler makes a dead
			// letter of it.
			d := r.decode(record)
			return d.err != nil || selects(d)
		},
		Handle: r.handle(name, selects, react),
	}
}

// handle returns a function that decodes the record and calls react if the change is selected. The
// change is checked again, because a redriven record does not pass the filter.
func (r *Reactions) handle(name string, selects func(*decoded) bool, react func(context.Context, change) error) streams.HandlerFunc {
	return func(ctx context.Context, record streams.Record) error {
		d := r.decode(record)
		switch {
		case d.err != nil:
			return streams.Permanent(d.err) // a retry reads the same images
		case !selects(d):
			return nil
		}
		c := d.change

		// A newer definition may have states that this worker does not know, so the worker returns
		// an error and a newer worker retries. The journal needs no definition.
		if name != JournalHandler && c.New.DefinitionVersion > r.cfg.Orders.Definition().Version() {
			if err := r.checkVersion(ctx, c); err != nil {
				return err
			}
		}

		delivered := change{Change: c, attempt: record.Attempt, late: record.Late, recorded: record.CreatedAt, group: record.Group}
		if record.Replay != nil {
			delivered.again = record.Replay.Again
		}

		ctx, end := r.cfg.Events.Reacting(ctx, name, c)
		err := react(ctx, delivered)
		end(err)

		if err == nil {
			r.cfg.Events.Reacted(name, c)
		}

		// Not a failure: the owner of the claim finishes the effect, or the claim's lease ends.
		if isClaimed(err) {
			return streams.NotYet(err)
		}

		return err
	}
}

// checkVersion refuses a change that was made by a version which this worker does not know, unless the order has been migrated to
// one that it knows: then the change is like one of an earlier version, and no newer worker may ever come for it.
func (r *Reactions) checkVersion(ctx context.Context, c transitions.Change) error {
	unknown := r.cfg.Orders.CheckVersion(c.New)
	if unknown == nil {
		return nil
	}

	_, order, err := r.present(ctx, change{Change: c})
	if err != nil || order == nil || r.cfg.Orders.CheckVersion(order) != nil {
		return unknown
	}

	return nil
}

// isClaimed reports whether the effect's claim is held by another worker. The claim ends with its
// lease, so the record is retried without counting an attempt.
func isClaimed(err error) bool {
	return errors.Is(err, once.ErrInProgress) || errors.Is(err, once.ErrStaleOwner) || errors.Is(err, once.ErrLeaseExpired)
}

func always(transitions.Change) bool { return true }

// enters reports whether the change has moved the order to the state. A migration does not move an order, and
// neither does an import: what was to follow from the state has followed elsewhere.
func enters(c transitions.Change, state workflow.State) bool {
	return !c.Transition.Event.IsReserved() && c.New.State == state && (c.Old == nil || c.Old.State != state)
}

// entersOne reports whether the change has moved the order from outside of the states into one of them.
func entersOne(c transitions.Change, states func(workflow.State) bool) bool {
	return enters(c, c.New.State) && states(c.New.State) && (c.Old == nil || !states(c.Old.State))
}

func (r *Reactions) definition() *workflow.Definition { return r.cfg.Orders.Definition() }

// isRelease reports whether the change ends the hold of an order that waits for its shipment.
func (r *Reactions) isRelease(c transitions.Change) bool {
	return c.Old != nil && r.definition().HoldsShipment(c.Old.State) && r.definition().AwaitsShipment(c.New.State)
}

// ships selects the changes after which every parcel of an order has left.
func (r *Reactions) ships(c transitions.Change) bool {
	return slices.Contains(r.definition().Gone(), c.New.State) && enters(c, c.New.State)
}

// shipsRest selects the changes that ships selects, for orders that were shipped in parcels.
func (r *Reactions) shipsRest(c transitions.Change) bool { return r.ships(c) && c.New.Parcels() > 0 }
