package reactions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/notify"
	"ratchet/once"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

// stepFunctions is what this package calls of a *sfn.Client.
type stepFunctions interface {
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
	SendTaskFailure(context.Context, *sfn.SendTaskFailureInput, ...func(*sfn.Options)) (*sfn.SendTaskFailureOutput, error)
}

// Reactions reacts to applied transitions. All fields but Reacted and Log must be set.
type Reactions struct {
	Orders *transitions.Orders
	Claims *once.Claims
	Desk   *shipping.Desk
	Parked *tasktoken.Store
	SFN    stepFunctions
	// Sink tells customers.
	Sink notify.Sink
	// Reacted, when set, is called after a handler has done its part about a change,
	// for counting. It must not block.
	Reacted func(handler string, c transitions.Change)
	// Log gets one line per effect, with order and transition, without personal
	// data. Default: slog.Default().
	Log *slog.Logger

	read readings
}

// Names of the handlers. A name is part of effect keys and dead letters: it never
// changes.
const (
	JournalHandler  = "journal"
	ShippingHandler = shipping.Effect
	NotifyHandler   = "notify"
	ParkedHandler   = "parked"
)

// notified are the states that a customer hears about.
var notified = []workflow.State{workflow.PaymentReceived, workflow.PaymentFailed, workflow.PartiallyShipped,
	workflow.Shipped, workflow.Delivered, workflow.Refunded, workflow.Cancelled, workflow.Expired}

// Handlers returns the handlers, for one poller. The journal is written before
// anything else is allowed to fail for good: it never gives up.
func (r *Reactions) Handlers() []streams.Handler {
	return []streams.Handler{
		{Name: JournalHandler, Handle: r.on(JournalHandler, always, r.Orders.Record), Attempts: -1},
		{Name: ShippingHandler, Handle: r.on(ShippingHandler, startsShipping, r.ship)},
		{Name: NotifyHandler, Handle: r.on(NotifyHandler, concernsCustomer, r.notify)},
		{Name: ParkedHandler, Handle: r.on(ParkedHandler, movesOn, r.answerParked)},
	}
}

// on reads the record as a transition and calls fn for those that pass. An image
// that cannot be read is a dead letter at once: no retry mends it.
func (r *Reactions) on(name string, passes func(transitions.Change) bool, fn func(context.Context, transitions.Change) error) streams.HandlerFunc {
	return func(ctx context.Context, record streams.Record) error {
		change, grew, err := r.read.of(record)
		switch {
		case err != nil:
			return streams.Permanent(err)
		case !grew || !passes(change):
			return nil
		case name != JournalHandler && change.New.DefinitionVersion > r.Orders.Definition().Version():
			if err := r.Orders.CheckVersion(change.New); err != nil {
				return err // a newer worker knows what is to be done about it
			}
		}

		err = fn(ctx, change)
		if err == nil && r.Reacted != nil {
			r.Reacted(name, change)
		}

		if claimed(err) {
			return streams.NotYet(err)
		}

		return err
	}
}

// claimed: somebody else is doing this, or died while doing it, or this machine's clock
// cannot tell. The claim ends with its lease; then it is our turn, or another
// machine's, or there is nothing left to do.
func claimed(err error) bool {
	return errors.Is(err, once.ErrInProgress) || errors.Is(err, once.ErrStaleOwner) || errors.Is(err, once.ErrLeaseExpired) ||
		errors.Is(err, once.ErrClockSkew)
}

func always(transitions.Change) bool { return true }

// movesOn: somebody can have waited for this. Nobody waits for an order that has only
// just been placed: who parks reads the order first.
func movesOn(c transitions.Change) bool { return c.Old != nil }

// startsShipping: the order has just been paid. One that only comes back from being
// held has had its shipment requested before, and one that only changed the version of
// its definition has not moved.
func startsShipping(c transitions.Change) bool {
	return c.Transition.Event != workflow.Migrate && c.New.State == workflow.PaymentReceived && (c.Old == nil || c.Old.State != workflow.PaidOnHold)
}

// concernsCustomer: the order has entered a state that a customer hears about.
func concernsCustomer(c transitions.Change) bool {
	return c.Transition.Event != workflow.Migrate && slices.Contains(notified, c.New.State) && (c.Old == nil || c.Old.State != c.New.State)
}

func (r *Reactions) ship(ctx context.Context, c transitions.Change) error {
	tracking, err := r.Desk.Book(ctx, c.EffectKey(ShippingHandler), string(c.New.ID))
	if errors.Is(err, shipping.ErrCancelled) {
		return nil
	}

	if err == nil {
		r.log().DebugContext(ctx, "shipment requested", "order", c.New.ID, "transition", c.Transition.ID, "tracking", tracking)
	}

	return err
}

func (r *Reactions) notify(ctx context.Context, c transitions.Change) error {
	n := notify.Notification{Key: c.EffectKey(NotifyHandler), OrderID: c.New.ID, TransitionID: c.Transition.ID, State: c.New.State, At: c.Transition.At}

	payload, err := json.Marshal(n)
	if err != nil {
		return streams.Permanent(err)
	}
	_, _, err = r.Claims.Do(ctx, n.Key, payload, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		return nil, r.Sink.Send(ctx, n)
	})

	return err
}

// answerParked answers the executions that wait for this order: with success when
// the awaited state is reached or has been passed, with failure when it never will be.
func (r *Reactions) answerParked(ctx context.Context, c transitions.Change) error {
	tasks, err := r.Parked.Waiting(ctx, string(c.New.ID))
	if err != nil || len(tasks) == 0 {
		return err
	}

	where, err := json.Marshal(c.New.Position())
	if err != nil {
		return streams.Permanent(err)
	}

	for _, task := range tasks {
		switch {
		case c.New.Reached(workflow.State(task.Awaited), transitions.TransitionID(task.Since)):
			_, err = r.SFN.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: aws.String(string(task.Token)), Output: aws.String(string(where))})
		case r.Orders.CheckVersion(c.New) == nil && !r.Orders.Definition().Reachable(c.New.State, workflow.State(task.Awaited)):
			_, err = r.SFN.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: aws.String(string(task.Token)),
				Error: aws.String("Order." + transitions.WrongState.String()), Cause: aws.String(string(where))})
		default:
			continue
		}

		if err != nil && !gone(err) {
			return fmt.Errorf("answer the parked task of order %s awaiting %s: %w", c.New.ID, task.Awaited, err)
		}

		if err := r.Parked.Remove(ctx, task); err != nil {
			return err
		}
	}

	return nil
}

// gone reports that the task has been answered or has timed out: its token is of no
// further use, and the state machine has gone on without us.
func gone(err error) bool {
	var unknown *sfntypes.TaskDoesNotExist
	var late *sfntypes.TaskTimedOut
	var bad *sfntypes.InvalidToken
	return errors.As(err, &unknown) || errors.As(err, &late) || errors.As(err, &bad)
}

func (r *Reactions) log() *slog.Logger {
	if r.Log != nil {
		return r.Log
	}
	return slog.Default()
}
