package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/activities/tasktoken"
	"ratchet/internal/plural"
	"ratchet/notify"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/streams/retryqueue"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
	"ratchet/workflow"
)

// Kind says what a moment of a time line is about.
type Kind string

// The kinds of moments.
const (
	AboutTransition Kind = "transition"
	AboutExecution  Kind = "execution"
	AboutTask       Kind = "task"
	AboutDelivery   Kind = "delivery"
	AboutDeadLetter Kind = "dead letter"
	AboutEffect     Kind = "effect"
	AboutRefusal    Kind = "refusal"
)

// Moment is one line of an order's time line.
type Moment struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	// What has happened, in words.
	What string `json:"what"`
	// Next is what has to be done from here, "" if nothing has to be done.
	Next string `json:"next,omitempty"`
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
		All(ctx context.Context, handler string, filter deadletters.Filter) iter.Seq2[deadletters.Letter, error]
	}
	Refusals interface {
		Of(ctx context.Context, order string) (refusals.Entries, error)
	}
	// Mapping says how the order stands in its table.
	Mapping transitions.Mapping
	// Queue has the records that wait for another attempt.
	Queue interface {
		WaitingOf(ctx context.Context, handler string, keys map[string]types.AttributeValue) (retryqueue.Item, bool, error)
		Paused(context.Context) (map[string]time.Time, error)
	}
	// Reports has the reports of the carrier that wait.
	Reports interface {
		OfOrder(ctx context.Context, order string) (found []reports.Stored, complete bool, err error)
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

// maxDeadLetters bounds how many dead letters of one handler are read for a time line: they are not
// found by their order.
const maxDeadLetters = 1000

// Unread names a source that a time line could not read, or not completely, and why.
type Unread struct {
	What string
	Err  error
}

func (u Unread) String() string { return fmt.Sprintf("%s: %v", u.What, u.Err) }

// Timeline merges the steps of the explanation with what is around the order, by time. It also returns the
// effects that are due; no moment advises an event that skips one of them. Incomplete lists what could not
// be read: the rest is shown all the same.
func (e Explanation) Timeline(ctx context.Context, d *workflow.Definition, a Around) (moments []Moment, due []Due, incomplete []Unread) {
	for _, s := range e.Steps {
		moments = append(moments, ofStep(s))
	}
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

	if a.Refusals != nil {
		found, err := a.Refusals.Of(ctx, string(e.Order.ID))
		add("refusals", ofRefusals(found), err)
	}

	// A stable sort keeps moments of one millisecond in the order of the sources: a transition
	// stands before what followed from it.
	slices.SortStableFunc(moments, func(a, b Moment) int { return a.At.Compare(b.At) })

	return moments, due, incomplete
}

func ofStep(s Step) Moment {
	what := fmt.Sprintf("%d %s to %s", s.ID, s.Event, s.To)
	if why := cmp.Or(s.Cause.Text, s.Cause.Code); why != "" {
		what += ", because " + why
	}

	if s.Cause.Actor != "" {
		what += ", by " + s.Cause.Actor
	}

	return Moment{At: s.At, Kind: AboutTransition, What: what}
}

// ofTasks places each waiting task at the transition after which the task was parked. If not all of what is
// due is known, no event is advised that could skip some of it.
func (e Explanation) ofTasks(d *workflow.Definition, tasks []tasktoken.Task, due []Due, unknown bool) []Moment {
	moments := make([]Moment, len(tasks))
	for i, task := range tasks {
		awaited := workflow.State(task.Awaited)
		moments[i] = Moment{At: e.at(transitions.TransitionID(task.Since)), Kind: AboutTask, What: "an execution waits for " + task.Awaited}

		switch events := e.leadingTo(awaited); {
		// This holds even if the order has left the state since: coming to it once ends the wait.
		case e.Order.Reached(awaited, transitions.TransitionID(task.Since)):
			moments[i].Next = fmt.Sprintf("the order has come to %s: a worker answers the task; if it stays, look for dead letters of the handler \"parked\"", awaited)
		case !d.Reachable(e.Order.State, awaited):
			moments[i].Next = fmt.Sprintf("the order cannot come to %s any more: `ratchet tasks list %s` shows the task", awaited, e.Order.ID)
		case len(events) > 0 && (unknown && SkippedBy(awaited) != "" || len(Skips(awaited, due)) > 0):
			moments[i].Next = fmt.Sprintf("wait for %s: effects are due before it", strings.Join(events, " or "))
		case len(events) > 0:
			moments[i].Next = fmt.Sprintf("wait for %s, or `ratchet orders apply %s %s`", strings.Join(events, " or "), e.Order.ID.Arg(), events[0])
		default:
			moments[i].Next = "wait: the order can still come to " + task.Awaited
		}
	}

	return moments
}

// at returns when the transition was made; the order's last change if that is not known.
func (e Explanation) at(id transitions.TransitionID) time.Time {
	for _, s := range e.Steps {
		if s.ID == id {
			return s.At
		}
	}

	return e.Order.UpdatedAt
}

// leadingTo returns the events that lead to the state now.
func (e Explanation) leadingTo(s workflow.State) (events []string) {
	for _, o := range e.Options {
		if o.Legal && o.To == s {
			events = append(events, string(o.Event))
		}
	}

	return events
}

// failingOf returns the endpoints that fail, by their ids. It reads them only if a delivery waits without an
// error of its own.
func failingOf(ctx context.Context, a Around, deliveries []notify.Delivery) (map[string]notify.Endpoint, error) {
	waits := func(d notify.Delivery) bool { return d.Status == notify.Pending && d.Error == "" }
	if a.Endpoints == nil || !slices.ContainsFunc(deliveries, waits) {
		return nil, nil
	}

	all, err := a.Endpoints(ctx)
	failing := map[string]notify.Endpoint{}

	for _, e := range all {
		if !e.FailingSince.IsZero() {
			failing[e.ID] = e
		}
	}

	return failing, err
}

func ofDeliveries(deliveries []notify.Delivery, failing map[string]notify.Endpoint) []Moment {
	moments := make([]Moment, len(deliveries))
	for i, d := range deliveries {
		m := Moment{At: d.CreatedAt, Kind: AboutDelivery, What: fmt.Sprintf("notification of %s to %s: %s after %s", d.State, d.Endpoint, d.Status, plural.Of(d.Attempts, "attempt"))}
		if !d.TriedAt.IsZero() {
			m.At = d.TriedAt
		}

		if d.Error != "" {
			m.What += ": " + d.Error
		}

		if e, fails := failing[d.Endpoint]; fails && d.Status == notify.Pending && d.Error == "" {
			m.What += fmt.Sprintf(": the endpoint fails since %s, and is tried with few notifications at a time", e.FailingSince.UTC().Format(time.RFC3339))
		}

		switch d.Status {
		case notify.Missed, notify.Skipped:
			m.Next = "`ratchet deliveries redeliver " + d.ID() + "`"
		case notify.Pending:
			m.Next = "wait: it is tried again at " + d.NextTry.Format(time.RFC3339)
		}
		moments[i] = m
	}

	return moments
}

// ofRefusals places each kind of refusal at its last time. The log of refusals is incomplete, so
// the count says "at least".
func ofRefusals(found refusals.Entries) []Moment {
	moments := make([]Moment, len(found.List))
	for i, r := range found.List {
		what := fmt.Sprintf("%s was refused: %s", r.Event, r.Code)
		if r.Text != "" {
			what += ": " + r.Text
		}

		if r.Source != "" {
			what += ", through " + r.Source
		}

		if r.Count > 1 {
			what += fmt.Sprintf(" (at least %s since %s)", plural.Of(r.Count, "time"), r.First.UTC().Format(time.RFC3339))
		}
		moments[i] = Moment{At: r.Last, Kind: AboutRefusal, What: what}
	}

	return moments
}
