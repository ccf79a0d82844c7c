package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Explanation says why an order is in its state, and which events it accepts now. Refusals are in
// its time line ([Explanation.Timeline]), as far as the log of refusals has them.
type Explanation struct {
	Order *transitions.Order `json:"order"`
	// Steps are the order's transitions, oldest first.
	Steps []Step `json:"steps"`
	// Missing says which transitions the steps lack. It is empty if none is known to be missing.
	Missing string `json:"missing,omitempty"`
	// Options holds every event of the definition, in its order.
	Options []Option `json:"options"`
	// Timers are the transitions that time makes if the order stays as it is, the earliest first.
	Timers []Timer `json:"timers,omitempty"`
	// Editable says whether the content may be edited now.
	Editable bool `json:"editable"`
	// OtherVersion is set if another version of the definition moved the order last; the options
	// are judged by this program's version.
	OtherVersion int `json:"otherVersion,omitempty"`
	// Note says what the state does not do although it seems so, "" for most states.
	Note string `json:"note,omitempty"`

	held bool // the order waited for its shipment and is stopped
}

// holdNotes are the notes about a paid order that is on hold, by the carrier's answer.
var holdNotes = map[shipping.HoldAnswer]string{
	"":                  "the carrier has not answered yet whether it holds the parcel; cancel the order to stop it",
	shipping.Held:       "the carrier holds the parcel until the order is released",
	shipping.HadLeft:    "the hold does not stop the parcel: it had left when the carrier was asked",
	shipping.CannotHold: "the hold does not stop a parcel that was booked before: the carrier cannot hold it; cancel the order to stop it",
}

// NoteHold sets the note of a paid order that is on hold: whether the carrier holds the parcel.
func (e *Explanation) NoteHold(ctx context.Context, a Around) error {
	// Where the order is comes before what its state does.
	if !e.held || a.Hold == nil || e.Note != "" {
		return nil
	}

	answer, err := a.Hold(ctx, e.Order)
	if err == nil {
		e.Note = holdNotes[answer]
	}

	return err
}

// Step is one transition of an order, and where it is recorded.
type Step struct {
	transitions.Transition
	// Journal and Ring say whether the journal and the ring have the transition.
	Journal bool `json:"journal"`
	Ring    bool `json:"ring"`
	// Assigned: Apply chose the id. Otherwise an execution or another caller did.
	Assigned bool `json:"assigned"`
	// Named: the request carried a RequestID. Only its digest is kept.
	Named bool `json:"named"`
	// Skipped is how many ids before this one were never applied.
	Skipped int64 `json:"skipped,omitempty"`
}

// Option says how the order would answer an event now.
type Option struct {
	Event workflow.Event `json:"event"`
	// Legal says that the event could be applied now.
	Legal bool `json:"legal"`
	// To is where a legal event would lead.
	To workflow.State `json:"to,omitempty"`
	// If is the demand of a legal event's guard on the request. A request that does not meet it
	// is refused.
	If string `json:"if,omitempty"`
	// Unmet names the guards that refuse the event although the order is in the right state.
	Unmet string `json:"unmet,omitempty"`
	// Needs lists the states from which the event would be legal.
	Needs []workflow.State `json:"needs,omitempty"`
	// Ahead says, for an event that is not legal now, whether the order can still come to one of
	// the states in Needs.
	Ahead bool `json:"ahead,omitempty"`
}

// Explain gathers all that is recorded about the order, and judges every event by the
// definition. It returns [transitions.ErrUnknownOrder] when there is no such order.
func Explain(ctx context.Context, o *transitions.Orders, id transitions.OrderID) (Explanation, error) {
	order, found, err := o.Get(ctx, id)
	if err != nil {
		return Explanation{}, err
	}

	if !found {
		return Explanation{}, fmt.Errorf("explain order %s: %w", id, transitions.ErrUnknownOrder)
	}

	e := Explanation{Order: order, Editable: slices.Contains(o.Editable(), order.State), held: o.Definition().HoldsShipment(order.State)}
	if order.DefinitionVersion != o.Definition().Version() {
		e.OtherVersion = order.DefinitionVersion
	}

	switch left, moved := order.MovedByOther(); {
	case moved:
		e.Note = fmt.Sprintf("another program has moved the order from %s to %s without a transition; `ratchet orders adopt %s` brings it in", left, order.State, order.ID.Arg())
	case order.TransitionID == 0:
		e.Note = fmt.Sprintf("the order has made no transition here; `ratchet orders adopt %s` brings it in", order.ID.Arg())
	}

	// The rows are read after the order, so the journal may be ahead of it.
	if err := e.collectSteps(ctx, o); err != nil {
		return Explanation{}, fmt.Errorf("explain order %s: %w", id, err)
	}

	e.Timers = Timers(o, order, time.Now())

	for _, event := range o.Definition().Events() {
		e.Options = append(e.Options, option(o.Definition(), order, event))
	}

	return e, nil
}

// collectSteps merges the journal with the order's ring.
func (e *Explanation) collectSteps(ctx context.Context, o *transitions.Orders) error {
	last, err := e.collectRows(ctx, o)
	if err != nil {
		return err
	}

	// The ring holds the newest eight transitions, so it continues the journal only while the
	// journal lags by no more.
	rest, complete := e.Order.Since(last)
	if !complete && e.Missing == "" {
		e.Missing = fmt.Sprintf("neither journal nor ring has all that happened after transition %d", last)
	}

	for _, row := range rest {
		step := newStep(row)
		if !complete {
			step.Skipped = 0 // nothing is known about the ids before it
		}
		step.Ring = true
		e.Steps = append(e.Steps, step)
	}

	return nil
}

// collectRows adds the rows of the journal, if there is one, and returns the last id.
func (e *Explanation) collectRows(ctx context.Context, o *transitions.Orders) (last transitions.TransitionID, err error) {
	if !o.HasJournal() {
		return 0, nil
	}

	for row, err := range o.Rows(ctx, e.Order, 0) {
		if err != nil {
			return 0, err
		}

		// A row behind the order was written after the order was read. To show it would contradict
		// the rest.
		if row.ID > e.Order.TransitionID {
			break // made since the order was read
		}

		if !row.Follows(last) && e.Missing == "" {
			e.Missing = fmt.Sprintf("the journal lacks what happened between transition %d and %d", last, row.ID)
		}

		if row.Lost() && e.Missing == "" {
			e.Missing = fmt.Sprintf("transitions %d to %d are lost for good", row.PreviousID+1, row.ID)
		}

		step := newStep(row)
		step.Journal, step.Ring = true, e.Order.Remembers(row.ID)
		e.Steps = append(e.Steps, step)
		last = row.ID
	}

	return last, nil
}

func newStep(row transitions.Row) Step {
	return Step{
		Transition: row.Transition,
		Assigned:   row.Assigned(),
		Named:      row.Named(),
		Skipped:    int64(row.ID - row.PreviousID - 1),
	}
}

// option judges one event. A guard that depends on the request cannot be judged without a request;
// the option names it in If.
func option(d *workflow.Definition, order *transitions.Order, event workflow.Event) Option {
	option := Option{Event: event}
	var asks, unmet []string
	data := order.GuardData()
	// The first choice whose guards hold decides the target, in the order of the definition. Later
	// ones only add their demands on the request.
	for _, t := range d.Choices(order.State, event) {
		refusal, question := judgeGuards(t, data)
		if refusal != "" {
			unmet = append(unmet, refusal)
			continue
		}

		if !option.Legal {
			option.Legal, option.To = true, t.To
		}

		if question != "" {
			asks = append(asks, question+" (to "+string(t.To)+")")
		}
	}

	option.If = strings.Join(asks, "; ")
	if !option.Legal {
		option.Unmet = strings.Join(unmet, "; ")
		option.Needs = d.Sources(event)
		option.Ahead = slices.ContainsFunc(option.Needs, func(s workflow.State) bool { return d.Reachable(order.State, s) })
	}

	return option
}

// judgeGuards returns the guard of the transition that the order does not meet, and the guard that
// depends on the request. Each is empty if there is none.
func judgeGuards(t workflow.Transition, data map[string]any) (refusal, question string) {
	for _, g := range t.Guards {
		if g.Request != "" {
			question = g.String()
		} else if holds, err := g.Holds(data, nil); err != nil || !holds {
			refusal = fmt.Sprintf("guard %s (to %s) needs %s", g.Name, t.To, g)
		}
	}

	return refusal, question
}
