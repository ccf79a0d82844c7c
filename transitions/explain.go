package transitions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ratchet/workflow"
)

// Explanation says why an order is where it is, and what it may do now. What was
// refused is not in it: a refusal records nothing, by design (a record would cost a
// write for every poll of an impatient caller, and would make a refusal more than an
// answer). Counters and the debug log of [Config] are where refusals show.
type Explanation struct {
	Order *Order `json:"order"`
	// Steps is the order's way, oldest first.
	Steps []Step `json:"steps"`
	// Missing says what the steps lack: "" when nothing is known to be missing.
	Missing string `json:"missing,omitempty"`
	// Options holds every event of the definition, in its order.
	Options []Option `json:"options"`
	// Editable says whether the content may be edited now.
	Editable bool `json:"editable"`
	// OtherVersion is set when the order was last moved by another version of the
	// definition than the one that the options are judged by.
	OtherVersion int `json:"otherVersion,omitempty"`
}

// Step is one transition of an order's way, and where it is recorded.
type Step struct {
	Transition
	// Journal and Ring say who remembers it.
	Journal bool `json:"journal"`
	Ring    bool `json:"ring"`
	// Allotted: Apply chose the id; otherwise an execution or another caller did.
	Allotted bool `json:"allotted"`
	// Named: the request carried a RequestID. Only its digest is kept.
	Named bool `json:"named"`
	// Skipped is how many ids before this one were never applied.
	Skipped int64 `json:"skipped,omitempty"`
}

// Option is what an event would do to the order now.
type Option struct {
	Event workflow.Event `json:"event"`
	// Legal says that the event could be applied now, To where it would lead, If what
	// a guard asks of the request (it may then be refused all the same).
	Legal bool           `json:"legal"`
	To    workflow.State `json:"to,omitempty"`
	If    string         `json:"if,omitempty"`
	// Unmet names the guards that are in the way, in the right state.
	Unmet string `json:"unmet,omitempty"`
	// Needs lists the states from which the event would be legal.
	Needs []workflow.State `json:"needs,omitempty"`
	// Ahead says, of an event that is not legal now, that the order can still come to
	// one of those states; otherwise the event is over for good.
	Ahead bool `json:"ahead,omitempty"`
}

// Explain gathers all that is recorded about the order, and judges every event by the
// definition. It returns ErrUnknownOrder when there is none.
func (o *Orders) Explain(ctx context.Context, id OrderID) (Explanation, error) {
	order, found, err := o.Get(ctx, id)
	if err != nil {
		return Explanation{}, err
	}

	if !found {
		return Explanation{}, fmt.Errorf("explain order %s: %w", id, ErrUnknownOrder)
	}

	e := Explanation{Order: order, Editable: slices.Contains(o.editable, order.State)}
	if order.DefinitionVersion != o.def.Version() {
		e.OtherVersion = order.DefinitionVersion
	}

	if err := o.steps(ctx, &e); err != nil {
		return Explanation{}, fmt.Errorf("explain order %s: %w", id, err)
	}

	for _, event := range o.def.Events() {
		e.Options = append(e.Options, o.option(order, event))
	}

	return e, nil
}

// steps merges the journal with the ring.
func (o *Orders) steps(ctx context.Context, e *Explanation) error {
	last := TransitionID(0)
	if o.cfg.JournalTable != "" {
		for row, err := range o.Rows(ctx, e.Order.ID, 0) {
			if err != nil {
				return err
			}

			if row.ID > e.Order.TransitionID {
				break // made since the order was read
			}

			if !row.follows(last) && e.Missing == "" {
				e.Missing = fmt.Sprintf("the journal lacks what happened between transition %d and %d", last, row.ID)
			}
			_, held := e.Order.slot(row.ID)
			e.add(row.Transition, row.PreviousID, true, held)
			last = row.ID
		}
	}

	rest, complete := e.Order.since(last)
	if !complete && e.Missing == "" {
		e.Missing = fmt.Sprintf("neither journal nor ring has all that happened after transition %d", last)
	}

	for _, row := range rest {
		previous := row.PreviousID
		if !complete {
			previous = row.ID - 1 // nothing is known about the ids before it
		}
		e.add(row.Transition, previous, false, true)
	}

	return nil
}

func (e *Explanation) add(t Transition, previous TransitionID, journal, ring bool) {
	e.Steps = append(e.Steps, Step{Transition: t, Journal: journal, Ring: ring, Allotted: t.allotted,
		Named: t.request != digest{}, Skipped: int64(t.ID - previous - 1)})
}

// option judges one event. A guard that asks the request cannot be judged without one.
func (o *Orders) option(order *Order, event workflow.Event) Option {
	option := Option{Event: event}
	var asks, unmet []string
	data := plainMap(order.item)
	for _, t := range o.def.Choices(order.State, event) {
		var refusal, question string
		for _, g := range t.Guards {
			if g.Request != "" {
				question = g.String()
			} else if holds, err := g.Holds(data, nil); err != nil || !holds {
				refusal = fmt.Sprintf("guard %s (to %s) needs %s", g.Name, t.To, g)
			}
		}

		switch {
		case refusal != "":
			unmet = append(unmet, refusal)
		default:
			if !option.Legal {
				option.Legal, option.To = true, t.To
			}

			if question != "" {
				asks = append(asks, question+" (to "+string(t.To)+")")
			}
		}
	}

	option.If = strings.Join(asks, "; ")
	if !option.Legal {
		option.Unmet = strings.Join(unmet, "; ")
		option.Needs = o.def.Sources(event)
		option.Ahead = slices.ContainsFunc(option.Needs, func(s workflow.State) bool { return o.def.Reachable(order.State, s) })
	}

	return option
}
