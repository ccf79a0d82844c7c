package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/payments"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/streams/reactions"
	"ratchet/streams/retryqueue"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
)

// Due is an effect that the order still has to have: a handler of the stream has not had it, a report of
// the carrier waits, the bank has not answered, or time makes a transition.
type Due struct {
	// Handler is the handler of the stream, "" for a report, a payment and an event.
	Handler string `json:"handler,omitempty"`
	// Report is the name of the report.
	Report string `json:"report,omitempty"`
	// Payment is the id of the payment whose newest step the bank has not answered.
	Payment string `json:"payment,omitempty"`
	// Event is the event that time makes.
	Event workflow.Event `json:"event,omitempty"`
	// What says what the effect waits for, in words.
	What string `json:"what"`
	// Error is the last error, or what the report waits for.
	Error    string    `json:"error,omitempty"`
	Attempts int       `json:"attempts,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	NextTry  time.Time `json:"nextTry,omitzero"`
	PausedAt time.Time `json:"pausedAt,omitzero"`
	// Next is what a person may do, "" if nothing has to be done but to wait.
	Next string `json:"next,omitempty"`

	ref  Ref
	kind Kind
}

// Skips returns the effects that would be lost if an order of the definition came to the state now.
func Skips(definition *workflow.Definition, to workflow.State, due []Due) (skipped []Due) {
	handler := SkippedBy(definition, to)
	for _, d := range due {
		if handler != "" && d.Handler == handler {
			skipped = append(skipped, d)
		}
	}

	return skipped
}

// SkippedBy returns the handler whose effect an order skips that comes to the state before it, "" if there is
// none: the handler, when it comes later, finds the order beyond the effect and does nothing.
func SkippedBy(d *workflow.Definition, to workflow.State) string {
	leads := func(from workflow.State) bool {
		return slices.ContainsFunc(d.Events(), func(e workflow.Event) bool {
			return slices.ContainsFunc(d.Choices(from, e), func(t workflow.Transition) bool { return t.To == to })
		})
	}

	switch {
	case slices.Contains(d.Gone(), to):
		return reactions.ShippingHandler
	case slices.ContainsFunc(d.Back(), leads):
		return reactions.RefundHandler
	}

	return ""
}

// Due returns the effects that are due, as far as the sources show them. Incomplete lists what could not be
// read.
func (e Explanation) Due(ctx context.Context, a Around) (due []Due, incomplete []Unread) {
	missed := func(what string, err error) {
		if err != nil {
			incomplete = append(incomplete, Unread{what, err})
		}
	}

	var paused map[string]time.Time
	keys := a.Mapping.ItemKey(e.Order.ID)

	if a.Queue != nil {
		var err error
		paused, err = a.Queue.Paused(ctx)
		missed("pauses", err)

		for _, handler := range a.Handlers {
			item, waits, err := a.Queue.WaitingOf(ctx, handler, keys)
			missed("retry queue of "+handler, err)

			if waits {
				due = append(due, ofWaiting(handler, item, paused[handler]))
			}
		}
	}

	if a.DeadLetters != nil {
		for _, handler := range a.Handlers {
			found, err := lettersOf(ctx, a, handler, keys)
			missed("dead letters of "+handler, err)
			due = append(due, found...)
		}
	}

	for _, timer := range e.Timers {
		due = append(due, ofTimer(timer))
	}

	later, err := a.scheduledOf(ctx, e.Order)
	missed("scheduled requests", err)

	for _, r := range later {
		if r.Status == scheduled.Pending {
			due = append(due, ofScheduled(r, e.Order, time.Now()))
		}
	}

	if a.ShipmentDue != nil {
		unbooked, err := a.ShipmentDue(ctx, e.Order)
		missed("shipment", err)

		// A waiting record or a dead letter says more.
		if unbooked && !slices.ContainsFunc(due, func(d Due) bool { return d.Handler == reactions.ShippingHandler }) {
			due = append(due, notHandled(reactions.ShippingHandler, e.Order.UpdatedAt, paused[reactions.ShippingHandler]))
		}
	}

	if a.Payment != nil {
		p, found, err := a.Payment(ctx, e.Order)
		missed("payment", err)

		if found && p.Pending != nil {
			due = append(due, ofPending(p))
		}
	}

	if a.Reports != nil {
		found, complete, err := a.Reports.OfOrder(ctx, string(e.Order.ID))
		if err == nil && !complete {
			err = errors.New("only the first thousand of each kind were read")
		}
		missed("reports of the carrier", err)

		for _, r := range found {
			if r.Effect == reports.Waiting || r.Effect == reports.Attention {
				due = append(due, ofReport(r))
			}
		}
	}

	return due, incomplete
}

// ofWaiting describes records in the retry queue.
func ofWaiting(handler string, w retryqueue.Item, pausedAt time.Time) Due {
	d := Due{
		Handler: handler, Error: w.Error, Attempts: w.Attempts, Since: w.Since, NextTry: w.NextTry, PausedAt: pausedAt,
		What: fmt.Sprintf("handler %s failed %d times and is tried again at %s", handler, w.Attempts, w.NextTry.UTC().Format(time.RFC3339)),
		kind: aboutRetry, ref: Ref{Handler: handler, Attempt: w.Attempts, Count: int64(w.Records), Error: w.Error, NextTry: w.NextTry},
	}

	switch {
	case !pausedAt.IsZero():
		return d.paused()
	case w.Attempts == 0:
		d.What = fmt.Sprintf("handler %s has not been called yet; it is due at %s", handler, w.NextTry.UTC().Format(time.RFC3339))
	}

	return d
}

// ofPending describes a step of a payment that has no outcome yet.
func ofPending(p payments.Payment) Due {
	return Due{
		Payment: p.ID, Since: p.Pending.At, kind: aboutPayment,
		ref:  Ref{Payment: p.ID, Step: p.Pending.ID, Event: string(p.Pending.Kind), Status: "pending"},
		What: fmt.Sprintf("the bank has not answered the %s of payment %s since %s; it is asked again", p.Pending.Kind, p.ID, p.Pending.At.UTC().Format(time.RFC3339)),
	}
}

func notHandled(handler string, since, pausedAt time.Time) Due {
	d := Due{ref: Ref{Handler: handler}, Handler: handler, What: "handler " + handler + " has not acted yet", Since: since, PausedAt: pausedAt, Next: "wait; if it stays, `ratchet status` says whether workers handle the stream"}
	if !pausedAt.IsZero() {
		return d.paused()
	}

	return d
}

// paused returns the effect as one that waits for the end of its handler's pause.
func (d Due) paused() Due {
	d.What = fmt.Sprintf("handler %s is paused since %s", d.Handler, d.PausedAt.UTC().Format(time.RFC3339))
	d.Next = fmt.Sprintf("`ratchet streams resume %s` when the cause of the pause is gone", d.Handler)

	return d
}

func ofReport(r reports.Stored) Due {
	d := Due{
		Report: r.Name, Error: r.Reason, Attempts: int(r.Tries), Since: r.Since, NextTry: r.NextTry,
		What: fmt.Sprintf("the carrier's report %s (%s) waits and is tried again at %s", r.Name, r.Milestone, r.NextTry.UTC().Format(time.RFC3339)),
		kind: aboutReport, ref: Ref{Report: r.Name, Event: string(r.Milestone), Parcel: r.Parcel, Status: string(r.Effect), NextTry: r.NextTry},
	}
	if r.Effect == reports.Attention {
		d.What = fmt.Sprintf("the carrier's report %s (%s) needs a person", r.Name, r.Milestone)
		d.Next = fmt.Sprintf("`%s`", cmp.Or(r.Command, "ratchet shipments reports --effect attention"))
	}

	return d
}

// lettersOf returns the handler's dead letters about the order, at most maxDeadLetters.
func lettersOf(ctx context.Context, a Around, handler string, keys map[string]types.AttributeValue) (due []Due, err error) {
	letters, next, err := a.DeadLetters.OfItem(ctx, handler, keys, "", maxDeadLetters)
	// The bound is an error, so that the reader learns that the answer is not whole.
	if err == nil && next != "" {
		err = fmt.Errorf("only the first %d were read", maxDeadLetters)
	}

	for _, letter := range letters {
		d := Due{
			Handler: handler, What: "handler " + handler + " gave up", Error: letter.Error, Attempts: letter.Attempts + letter.Redrives, Since: letter.FailedAt,
			kind: aboutDeadLetter, ref: Ref{Handler: handler, DeadLetter: letter.ID, Attempt: letter.Attempts + letter.Redrives, Transition: transitionOf(a.Mapping, letter), Error: letter.Error},
		}
		if letter.QueuedAt.IsZero() {
			d.Next = fmt.Sprintf("mend the cause, then `ratchet deadletters redrive %s %s`", handler, letter.ID)
		} else {
			d.Next = "wait: it is queued for another attempt"
		}
		due = append(due, d)
	}

	return due, err
}

// transitionOf returns the transition that the dead letter is about, 0 if its record does not say.
func transitionOf(m transitions.Mapping, l deadletters.Letter) transitions.TransitionID {
	if l.Record == nil {
		return 0
	}

	change, moved, err := m.FromRecord(l.Record.Old, l.Record.New)
	if err != nil || !moved {
		return 0
	}

	return change.Transition.ID
}

// ofDue places each effect that is due in the time line.
func (e Explanation) ofDue(due []Due) []Moment {
	moments := make([]Moment, len(due))
	for i, d := range due {
		m := Moment{At: d.Since, Kind: cmp.Or(d.kind, aboutEffect), What: d.What, Next: cmp.Or(d.Next, "wait: "+d.What), Ref: d.ref}
		if d.Since.IsZero() {
			m.At = e.Order.UpdatedAt
		}

		switch {
		case d.Error == "":
		// The carrier or a person has written it.
		case d.Report != "":
			m.Why = d.Error
		default:
			m.What += ": " + d.Error
		}
		moments[i] = m
	}

	return moments
}
