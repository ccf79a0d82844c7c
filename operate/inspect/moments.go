package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ratchet/activities/tasktoken"
	"ratchet/internal/plural"
	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
	"ratchet/workflow"
)

func ofStep(s Step) Moment {
	return Moment{
		At: s.At, Kind: aboutTransition, What: fmt.Sprintf("%d %s to %s", s.ID, s.Event, s.To), Why: ofCause(s.Cause),
		Ref: Ref{Transition: s.ID, Event: string(s.Event), State: s.To, Code: s.Cause.Code},
	}
}

// ofCause says why and by whom.
func ofCause(c transitions.Cause) string {
	var why []string
	if because := cmp.Or(c.Text, c.Code); because != "" {
		why = append(why, "because "+because)
	}

	if c.Actor != "" {
		why = append(why, "by "+c.Actor)
	}

	return strings.Join(why, ", ")
}

// ofEdits returns the edits that the order remembers. Only the newest one has a cause.
func ofEdits(o *transitions.Order) (moments []Moment) {
	made := o.Edits()
	for _, version := range slices.Sorted(maps.Keys(made)) {
		m := Moment{At: made[version], Kind: aboutEdit, What: fmt.Sprintf("the content was edited, version %d", version), Ref: Ref{ContentVersion: version}}
		if version == o.ContentVersion {
			m.Why, m.Ref.Code = ofCause(o.EditCause), o.EditCause.Code
		}
		moments = append(moments, m)
	}

	return moments
}

// ofTasks places each waiting task at the transition after which the task was parked. If not all of what is
// due is known, no event is advised that could skip some of it.
func (e Explanation) ofTasks(d *workflow.Definition, tasks []tasktoken.Task, due []Due, unknown bool) []Moment {
	moments := make([]Moment, len(tasks))
	for i, task := range tasks {
		awaited := workflow.State(task.Awaited)
		since := transitions.TransitionID(task.Since)
		moments[i] = Moment{At: e.at(since), Kind: aboutTask, What: "an execution waits for " + task.Awaited, Ref: Ref{Transition: since, State: awaited}}

		switch events := e.leadingTo(awaited); {
		// This holds even if the order has left the state since: coming to it once ends the wait.
		case e.Order.Reached(awaited, since):
			moments[i].Next = fmt.Sprintf("the order has come to %s: a worker answers the task; if it stays, look for dead letters of the handler \"parked\"", awaited)
		case !d.Reachable(e.Order.State, awaited):
			moments[i].Next = fmt.Sprintf("the order cannot come to %s any more: `ratchet tasks list %s` shows the task", awaited, e.Order.ID.Arg())
		case len(events) > 0 && (unknown && SkippedBy(d, awaited) != "" || len(Skips(d, awaited, due)) > 0):
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
	var moments []Moment
	for _, d := range deliveries {
		// The newest attempt is in the delivery's own moment.
		for _, try := range d.Tries[:max(0, len(d.Tries)-1)] {
			moments = append(moments, ofTry(d, try))
		}

		m := Moment{
			At: d.CreatedAt, Kind: aboutDelivery,
			What: fmt.Sprintf("notification of %s to %s: %s after %s", d.State, d.Endpoint, d.Status, plural.Of(d.Attempts, "attempt")),
			Ref: Ref{
				Transition: d.TransitionID, State: d.State, Status: string(d.Status), Endpoint: d.Endpoint, Delivery: d.ID(),
				Attempt: d.Attempts, Error: d.Error, NextTry: d.NextTry,
			},
		}
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
			m.Next = "`ratchet deliveries resend " + d.ID() + "`"
		case notify.Pending:
			m.Next = "wait: it is tried again at " + d.NextTry.Format(time.RFC3339)
		}
		moments = append(moments, m)
	}

	return moments
}

// ofTry is an attempt that another one has followed.
func ofTry(d notify.Delivery, try notify.Try) Moment {
	m := Moment{
		At: try.At, Kind: aboutDelivery, What: fmt.Sprintf("attempt %d of the notification of %s to %s", try.Number, d.State, d.Endpoint),
		Ref: Ref{Transition: d.TransitionID, State: d.State, Endpoint: d.Endpoint, Delivery: d.ID(), Attempt: try.Number, Error: try.Head},
	}
	if try.Answer != 0 {
		m.What += fmt.Sprintf(" was answered with %d", try.Answer)
	}

	if try.Head != "" {
		m.What += ": " + try.Head
	}

	return m
}

// ofRefusals places each kind of refusal at its last time. The log of refusals is incomplete, so
// the count says "at least".
func ofRefusals(d *workflow.Definition, found refusals.Entries) []Moment {
	moments := make([]Moment, len(found.List))
	for i, r := range found.List {
		m := Moment{
			At: r.Last, Kind: aboutRefusal, What: fmt.Sprintf("%s was refused: %s", r.Event, r.Code), Why: r.Text,
			Ref: Ref{Event: r.Event, Code: r.Code, Needs: Needed(d, r), Count: r.Count, First: r.First},
		}
		if r.Source != "" {
			m.What += ", through " + r.Source
		}

		if r.Count > 1 {
			m.What += fmt.Sprintf(" (at least %s since %s)", plural.Of(r.Count, "time"), r.First.UTC().Format(time.RFC3339))
		}

		moments[i] = m
	}

	// The others have no time of their own. There is a newest one if the log had no room for more.
	if n := len(moments); n > 0 && found.More > 0 {
		moments[n-1].Ref.More = found.More
		moments[n-1].What += fmt.Sprintf("; %s found no room in the log", plural.Of(found.More, "other refusal"))
	}

	return moments
}

// Needed returns the states from which the refused event is legal by the definition, none for an edit.
func Needed(d *workflow.Definition, r refusals.Entry) []workflow.State {
	return d.Sources(workflow.Event(r.Event))
}

// ofReservation returns when stock was reserved, and how the reservation ended.
func ofReservation(r inventory.Reservation, found bool) (moments []Moment) {
	if !found {
		return nil
	}

	add := func(at time.Time, what string, status inventory.Status) {
		if !at.IsZero() {
			moments = append(moments, Moment{At: at, Kind: aboutReservation, What: what, Ref: Ref{Reservation: r.Order, Status: string(status)}})
		}
	}
	add(r.ReservedAt, "stock was reserved", inventory.Reserved)
	add(r.EndedAt, "the reservation of stock ended: "+string(r.Status), r.Status)

	return moments
}

// ofPayment returns the steps of a payment that have ended. The pending one is due.
func ofPayment(p payments.Payment) []Moment {
	moments := make([]Moment, len(p.Steps))
	for i, s := range p.Steps {
		m := Moment{
			At: s.At, Kind: aboutPayment, What: fmt.Sprintf("%s of payment %s: %s", s.Kind, p.ID, s.Outcome),
			Ref: Ref{Payment: p.ID, Step: s.ID, Event: string(s.Kind), Status: string(s.Outcome), Error: s.Reason},
		}
		if s.Reason != "" {
			m.What += ": " + s.Reason
		}
		moments[i] = m
	}

	return moments
}

// shipments returns the parcels of the order, and the reports of the carrier that are not due any more.
func (a Around) shipments(ctx context.Context, o *transitions.Order) (moments []Moment, err error) {
	parcels, err := a.Reports.Parcels(ctx, o)
	for _, p := range parcels {
		m := Moment{At: p.LeftAt, Kind: aboutParcel, What: "parcel " + p.ID + " left", Ref: Ref{Parcel: p.ID, Status: "shipped"}}

		switch {
		case p.Returned:
			m.Ref.Status = string(shipping.Returned)
			m.What += "; it has come back"
		case p.Delivered:
			m.Ref.Status = string(shipping.Delivered)
			m.What += "; it was delivered"
		}
		moments = append(moments, m)
	}

	lost, found, lostErr := a.Reports.Lost(ctx, o)
	if found {
		moments = append(moments, Moment{At: lost.Since, Kind: aboutReport, What: "the carrier reported a lost parcel", Ref: Ref{Report: lost.ID, Status: string(shipping.Lost)}})
	}

	// An error is listed by Due.
	stored, _, _ := a.Reports.OfOrder(ctx, string(o.ID))
	for _, r := range stored {
		switch {
		case r.Effect == reports.Refused:
			moments = append(moments, Moment{
				At: r.Since, Kind: aboutReport, What: fmt.Sprintf("the carrier's report %s (%s) was refused", r.Name, r.Milestone), Why: r.Reason,
				Ref: Ref{Report: r.Name, Event: string(r.Milestone), Parcel: r.Parcel, Status: string(r.Effect)},
			})
		case r.Effect == reports.Done && r.Closing != nil:
			moments = append(moments, Moment{
				At: r.Closing.At, Kind: aboutReport, What: fmt.Sprintf("a person has dealt with the carrier's report %s (%s)", r.Name, r.Milestone), Why: ofCause(r.Closing.Cause),
				Ref: Ref{Report: r.Name, Event: string(r.Milestone), Parcel: r.Parcel, Status: string(r.Effect)},
			})
		}
	}

	return moments, errors.Join(err, lostErr)
}
