package reactions

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/notify"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

// stepFunctions is what this package needs of a *sfn.Client.
type stepFunctions interface {
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
}

// Config configures [Reactions]. All fields but Events and Log are required.
type Config struct {
	Orders *transitions.Orders
	Claims *once.Claims
	Booker *shipping.Booker
	// Parked holds the tokens of waiting executions, which are answered through SFN.
	Parked *tasktoken.Store
	SFN    stepFunctions
	// Sink notifies customers.
	Sink notify.Sink
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

func (c *Config) check() error {
	var faults []error
	require := func(set bool, name string) {
		if !set {
			faults = append(faults, errors.New("reactions: Config."+name+": must be set"))
		}
	}
	require(c.Orders != nil, "Orders")
	require(c.Claims != nil, "Claims")
	require(c.Booker != nil, "Booker")
	require(c.Parked != nil, "Parked")
	require(c.SFN != nil, "SFN")
	require(c.Sink != nil, "Sink")

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
	cfg   Config
	cache decodeCache
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
	NotifyHandler   = "notify"
	ParkedHandler   = "parked"
)

// notifiedStates are the states that customers are notified of.
var notifiedStates = []workflow.State{
	workflow.PaymentReceived,
	workflow.PaymentFailed,
	workflow.PartiallyShipped,
	workflow.Shipped,
	workflow.Delivered,
	workflow.Refunded,
	workflow.Cancelled,
	workflow.Expired,
}

// Handlers returns the handlers for one poller. The journal's handler retries without end:
// it never gives a record up as a dead letter unless the record cannot be decoded.
func (r *Reactions) Handlers() []streams.Handler {
	return []streams.Handler{
		{Name: JournalHandler, Handle: r.handler(JournalHandler, always, r.cfg.Orders.Record), Attempts: -1},
		{Name: ShippingHandler, Handle: r.handler(ShippingHandler, startsShipping, r.ship)},
		{Name: NotifyHandler, Handle: r.handler(NotifyHandler, concernsCustomer, r.notify)},
		{Name: ParkedHandler, Handle: r.handler(ParkedHandler, isMove, r.answerParked)},
	}
}

// handler returns a handler that decodes the record and calls react for the changes that
// the filter selects.
func (r *Reactions) handler(name string, filter func(transitions.Change) bool, react func(context.Context, transitions.Change) error) streams.HandlerFunc {
	return func(ctx context.Context, record streams.Record) error {
		change, grew, err := r.cache.decode(record)
		switch {
		case err != nil:
			return streams.Permanent(err) // a retry reads the same images
		case !grew || !filter(change):
			return nil
		}

		// A newer definition may have states that this worker does not know. It leaves the
		// effect to a newer worker. The journal needs no definition.
		if name != JournalHandler && change.New.DefinitionVersion > r.cfg.Orders.Definition().Version() {
			if err := r.cfg.Orders.CheckVersion(change.New); err != nil {
				return err
			}
		}

		err = react(ctx, change)
		if err == nil {
			r.cfg.Events.Reacted(name, change)
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

// isMove selects the changes of an order that existed before. No execution waits for a new
// order: a step parks its token first and reads the order afterwards.
func isMove(c transitions.Change) bool { return c.Old != nil }

// startsShipping selects the changes after which an order is newly paid. An order that
// returns from being held was paid before, and a migration moves no order.
func startsShipping(c transitions.Change) bool {
	return c.Transition.Event != workflow.Migrate && c.New.State == workflow.PaymentReceived && (c.Old == nil || c.Old.State != workflow.PaidOnHold)
}

// concernsCustomer selects the changes that enter a notified state.
func concernsCustomer(c transitions.Change) bool {
	return c.Transition.Event != workflow.Migrate && slices.Contains(notifiedStates, c.New.State) && (c.Old == nil || c.Old.State != c.New.State)
}

// ship books the shipment. A shipment that was canceled before needs none.
func (r *Reactions) ship(ctx context.Context, c transitions.Change) error {
	tracking, err := r.cfg.Booker.Book(ctx, c.EffectKey(ShippingHandler), string(c.New.ID))
	if errors.Is(err, shipping.ErrCanceled) {
		return nil
	}

	if err == nil {
		r.cfg.Log.DebugContext(ctx, "shipment requested", "order", c.New.ID, "transition", c.Transition.ID, "tracking", tracking)
	}

	return err
}

// notify sends the notification under a claim.
func (r *Reactions) notify(ctx context.Context, c transitions.Change) error {
	n := notify.Notification{
		Key:          c.EffectKey(NotifyHandler),
		OrderID:      c.New.ID,
		TransitionID: c.Transition.ID,
		State:        c.New.State,
		At:           c.Transition.At,
	}

	payload, err := json.Marshal(n)
	if err != nil {
		return streams.Permanent(err)
	}

	_, _, err = r.cfg.Claims.Do(ctx, n.Key, payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		return nil, r.cfg.Sink.Send(ctx, n)
	})

	return err
}
