package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/activities/tasktoken"
	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/streams/retryqueue"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
)

// Kind says what a moment of a time line is about.
type Kind string

// The kinds of moments.
const (
	aboutTransition  Kind = "transition"
	aboutEdit        Kind = "edit"
	aboutRefusal     Kind = "refusal"
	AboutExecution   Kind = "execution"
	aboutTask        Kind = "task"
	aboutReservation Kind = "reservation"
	aboutPayment     Kind = "payment"
	aboutParcel      Kind = "parcel"
	aboutReport      Kind = "carrier report"
	aboutDelivery    Kind = "delivery"
	aboutRetry       Kind = "retry"
	aboutDeadLetter  Kind = "dead letter"
	aboutEffect      Kind = "effect"
	aboutScheduled   Kind = "scheduled"
)

// Moment is one fact of an order's time line.
type Moment struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	// What has happened, in words.
	What string `json:"what"`
	// Why is what a person or another program has written about it, and who: it may concern a person.
	Why string `json:"why,omitempty"`
	// Next is what has to be done from here, "" if nothing has to be done.
	Next string `json:"next,omitempty"`
	// Ref says the same for programs, and names what the moment is about.
	Ref Ref `json:"ref"`
}

// Words returns what has happened, and why.
func (m Moment) Words() string {
	ofCause := m.Kind == aboutTransition || m.Kind == aboutEdit || m.Kind == aboutReport && m.Ref.Status == string(reports.Done)

	switch {
	case m.Why == "":
		return m.What
	case ofCause:
		return m.What + ", " + m.Why
	default: // the words of a person or another program
		return m.What + ": " + m.Why
	}
}

// Ref names what a moment is about. Members that do not apply have their zero values.
type Ref struct {
	// Transition is the id of the transition: that was made, that is handled, or after which a task waits.
	Transition transitions.TransitionID `json:"transitionId,omitempty"`
	// Event is what was requested, or the kind of an edit that was refused.
	Event string `json:"event,omitempty"`
	// State is where a transition leads, or what a task or notification is about.
	State workflow.State `json:"state,omitempty"`
	// Code is the verdict or other reason of a refusal.
	Code string `json:"code,omitempty"`
	// Needs are the states from which a refused event is legal.
	Needs []workflow.State `json:"needs,omitempty"`
	// Status is what has become of it: the status of an execution, delivery or reservation, the outcome of a
	// step, the effect of a report.
	Status string `json:"status,omitempty"`
	// Execution is the name of an execution.
	Execution string `json:"execution,omitempty"`
	// Handler and DeadLetter name a handler of the stream, and its dead letter.
	Handler    string `json:"handler,omitempty"`
	DeadLetter string `json:"deadLetter,omitempty"`
	// Endpoint and Delivery name a notification; Attempt is the number of the newest attempt, 0 without one.
	Endpoint string `json:"endpoint,omitempty"`
	Delivery string `json:"delivery,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	// Payment and Step name a step of a payment.
	Payment string `json:"payment,omitempty"`
	Step    string `json:"step,omitempty"`
	// Reservation is the name under which stock is reserved.
	Reservation string `json:"reservation,omitempty"`
	Parcel      string `json:"parcel,omitempty"`
	// Report is the name of a report of the carrier.
	Report string `json:"report,omitempty"`
	// ContentVersion is the version of the content that an edit made.
	ContentVersion int64 `json:"contentVersion,omitempty"`
	// Count is how many refusals were noted at least, how many records wait for a retry, or how often an
	// execution was redriven. First is when the first of them was.
	Count int64     `json:"count,omitempty"`
	First time.Time `json:"first,omitzero"`
	// More is how many other refusals the log of refusals had no room for, at the newest one.
	More int64 `json:"more,omitempty"`
	// Error is the newest error, NextTry when the next attempt is due.
	Error   string    `json:"error,omitempty"`
	NextTry time.Time `json:"nextTry,omitzero"`
}

// Around holds readers of other tables about an order, beside its transitions. A nil field is left
// out.
type Around struct {
	// Executions returns moments of the order's executions.
	Executions func(context.Context, transitions.OrderID) ([]Moment, error)
	Tasks      interface {
		Waiting(ctx context.Context, orderID string) ([]tasktoken.Task, error)
	}
	Deliveries interface {
		OfOrder(ctx context.Context, order string) ([]notify.Delivery, error)
	}
	// Endpoints has the endpoints of the deliveries: a failing one explains why a delivery has no attempt.
	Endpoints   func(context.Context) ([]notify.Endpoint, error)
	DeadLetters interface {
		OfItem(ctx context.Context, handler string, keys map[string]types.AttributeValue, after string, limit int) ([]deadletters.Letter, string, error)
	}
	Refusals interface {
		Of(ctx context.Context, order string) (refusals.Entries, error)
	}
	// Scheduled has the requests for later.
	Scheduled interface {
		OfOrder(ctx context.Context, order transitions.OrderID) (found []scheduled.Request, complete bool, err error)
	}
	// Mapping says how the order stands in its table.
	Mapping transitions.Mapping
	// Queue has the records that wait for another attempt.
	Queue interface {
		WaitingOf(ctx context.Context, handler string, keys map[string]types.AttributeValue) (retryqueue.Item, bool, error)
		Paused(context.Context) (map[string]time.Time, error)
	}
	// Reports has the stored reports of the carrier, and the parcels that they have named.
	Reports carrierReports
	// Stock has the reservations, by the name of the life in which an order was placed.
	Stock interface {
		Reservation(ctx context.Context, life string) (inventory.Reservation, bool, error)
	}
	// ShipmentDue reports whether the order is to be shipped and no booking is stored.
	ShipmentDue func(context.Context, *transitions.Order) (bool, error)
	// Payment returns the order's payment.
	Payment func(context.Context, *transitions.Order) (payments.Payment, bool, error)
	// Hold returns the carrier's answer to the hold of a paid order, "" before it has answered.
	Hold func(context.Context, *transitions.Order) (shipping.HoldAnswer, error)
	// Handlers are the stream handlers whose retry queues and dead letters are read.
	Handlers []string
}

// carrierReports has the methods of a *reports.Receiver that a time line needs.
type carrierReports interface {
	OfOrder(ctx context.Context, order string) (found []reports.Stored, complete bool, err error)
	Parcels(ctx context.Context, order *transitions.Order) ([]reports.Parcel, error)
	Lost(ctx context.Context, order *transitions.Order) (reports.Lost, bool, error)
}

// maxDeadLetters bounds how many dead letters of one handler about the order are read for a time line.
const maxDeadLetters = 100

// Unread names a source that a time line could not read, or not completely, and why.
type Unread struct {
	What string
	Err  error
}

func (u Unread) String() string { return fmt.Sprintf("%s: %v", u.What, u.Err) }

// Timeline merges the steps of the explanation with what is around the order, by time: each fact that a source
// has recorded is one moment. It also returns the effects that are due; no moment advises an event that skips
// one of them. Incomplete lists what could not be read: the rest is shown all the same.
func (e Explanation) Timeline(ctx context.Context, d *workflow.Definition, a Around) (moments []Moment, due []Due, incomplete []Unread) {
	a.remember()

	for _, s := range e.Steps {
		moments = append(moments, ofStep(s))
	}
	moments = append(moments, ofEdits(e.Order)...)
	due, incomplete = e.Due(ctx, a)
	moments = append(moments, e.ofDue(due)...)

	add := func(what string, found []Moment, err error) {
		moments = append(moments, found...)
		if err != nil {
			incomplete = append(incomplete, Unread{what, err})
		}
	}

	if a.Executions != nil {
		found, err := a.Executions(ctx, e.Order.ID)
		add("executions", found, err)
	}

	if a.Tasks != nil {
		tasks, err := a.Tasks.Waiting(ctx, e.Order.LifeID())
		add("waiting tasks", e.ofTasks(d, tasks, due, len(incomplete) > 0), err)
	}

	if a.Deliveries != nil {
		deliveries, err := a.Deliveries.OfOrder(ctx, string(e.Order.ID))
		failing, unread := failingOf(ctx, a, deliveries)
		add("deliveries", ofDeliveries(deliveries, failing), errors.Join(err, unread))
	}

	if a.Stock != nil {
		found, reserved, err := a.Stock.Reservation(ctx, e.Order.PlacedLifeID())
		add("reservation", ofReservation(found, reserved), err)
	}

	if a.Payment != nil {
		// An error is listed by Due.
		switch p, found, err := a.Payment(ctx, e.Order); {
		case err == nil && found:
			add("payment", ofPayment(p), nil)
		case err == nil:
			add("payment", e.ofElsewhere(d), nil)
		}
	}

	if a.Reports != nil {
		found, err := a.shipments(ctx, e.Order)
		add("parcels", found, err)
	}

	if a.Refusals != nil {
		found, err := a.Refusals.Of(ctx, string(e.Order.ID))
		add("refusals", ofRefusals(d, found), err)
	}

	// An error is listed by Due.
	later, _ := a.scheduledOf(ctx, e.Order)
	add("scheduled requests", ofEnded(later), nil)

	// A stable sort keeps moments of one millisecond in the order of the sources: a transition
	// stands before what followed from it.
	slices.SortStableFunc(moments, func(a, b Moment) int { return a.At.Compare(b.At) })

	return moments, due, incomplete
}

// remember makes the payment and the stored reports be read once: what is due needs them, and the time line, too.
func (a *Around) remember() {
	if read := a.Payment; read != nil {
		payment := remembered[payments.Payment]{}
		a.Payment = func(ctx context.Context, o *transitions.Order) (payments.Payment, bool, error) {
			return payment.get(func() (payments.Payment, bool, error) { return read(ctx, o) })
		}
	}

	if a.Reports != nil {
		a.Reports = &reportsOnce{carrierReports: a.Reports}
	}
}

// remembered keeps the first answer.
type remembered[T any] struct {
	asked bool
	value T
	ok    bool
	err   error
}

func (r *remembered[T]) get(ask func() (T, bool, error)) (T, bool, error) {
	if !r.asked {
		r.asked = true
		r.value, r.ok, r.err = ask()
	}

	return r.value, r.ok, r.err
}

type reportsOnce struct {
	carrierReports
	stored remembered[[]reports.Stored]
}

func (r *reportsOnce) OfOrder(ctx context.Context, order string) ([]reports.Stored, bool, error) {
	return r.stored.get(func() ([]reports.Stored, bool, error) { return r.carrierReports.OfOrder(ctx, order) })
}
