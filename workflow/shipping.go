package workflow

import (
	"fmt"
	"slices"
)

// Shipping says how parcels and the reports of a carrier move the orders of a definition. The zero value:
// they move none.
type Shipping struct {
	// Awaits lists the states in which an order waits for its shipment. One shipment is booked for each
	// transition that leads into them from outside, but for the release of an order in Held.
	Awaits []State
	// Held lists the states of an order that waited for its shipment and is stopped: the carrier is asked to
	// hold the parcel.
	Held []State
	// Part is the event of a parcel with which some pieces have left, Left the one of the report, or of the
	// parcel, with which all have.
	Part, Left Event
	// Delivered is the event of the report that the customer has the parcel.
	Delivered Event
	// Returned are the events of the report that the parcel came back, one after the other.
	Returned []Event
	// Canceled is the event of the report that the carrier has canceled the shipment. Without it, a person
	// decides.
	Canceled Event
	// Stop is the event that is proposed to this person, to end the order.
	Stop Event
}

func (s Shipping) clone() Shipping {
	s.Awaits, s.Held, s.Returned = slices.Clone(s.Awaits), slices.Clone(s.Held), slices.Clone(s.Returned)
	return s
}

// Event returns the event that tells the order of its parcels: Left if every piece has left, Part if some
// have, "" if none has or the order has no pieces. The order in which parcels left does not matter. A line
// that ships fewer than 0 or more than the ordered pieces is an error.
func (s Shipping) Event(lines []Line) (Event, error) {
	some, all := false, true // no sums, which might overflow
	for i, l := range lines {
		if l.Shipped < 0 || l.Shipped > l.Ordered {
			return "", fmt.Errorf("line %d: of %d ordered pieces %d were shipped", i, l.Ordered, l.Shipped)
		}

		some = some || l.Shipped > 0
		all = all && l.Shipped == l.Ordered
	}

	switch {
	case !some:
		return "", nil
	case !all:
		return s.Part, nil
	}

	return s.Left, nil
}

// Line counts the pieces of one line of an order.
type Line struct {
	// Ordered is the number of pieces that were bought and not canceled. Shipped is the sum over all
	// shipments, from 0 to Ordered.
	Ordered, Shipped int64
}

// Shipping returns the spec's shipping. Its lists are shared and must not be changed.
func (d *Definition) Shipping() Shipping { return d.spec.Shipping }

// Editable returns the states in which an order's content may be edited. The list is shared and must not be
// changed.
func (d *Definition) Editable() []State { return d.spec.Editable }

// Settled reports whether orders in the state need no execution any more, as the spec says.
func (d *Definition) Settled(s State) bool { return slices.Contains(d.spec.Settled, s) }

// AwaitsShipment reports whether an order in the state waits for its shipment.
func (d *Definition) AwaitsShipment(s State) bool { return slices.Contains(d.spec.Shipping.Awaits, s) }

// HoldsShipment reports whether an order in the state waited for its shipment and is stopped.
func (d *Definition) HoldsShipment(s State) bool { return slices.Contains(d.spec.Shipping.Held, s) }

// Targets returns the states to which an event leads, in the order of the spec. It returns none for an
// unknown event and for "".
func (d *Definition) Targets(event Event) (to []State) {
	for _, g := range d.groups[event] {
		if !slices.Contains(to, g.To) {
			to = append(to, g.To)
		}
	}

	return to
}

// BookedBy returns the events with which an order begins to wait for its shipment, in the order of the spec.
// The end of a hold is none of them.
func (d *Definition) BookedBy() (events []Event) {
	for _, event := range d.events {
		books := slices.ContainsFunc(d.groups[event], func(g Group) bool {
			return d.AwaitsShipment(g.To) && slices.ContainsFunc(g.From, func(from State) bool {
				return !d.AwaitsShipment(from) && !d.HoldsShipment(from)
			})
		})
		if books {
			events = append(events, event)
		}
	}

	return events
}

// checkShop checks what the spec says about edits, ends and parcels.
func (d *Definition) checkShop() error {
	s := d.spec.Shipping

	for _, l := range []struct {
		part, name string
		states     []State
	}{
		{"editable", "editable", d.spec.Editable},
		{"settled", "settled", d.spec.Settled},
		{"shipping", "shipping.awaits", s.Awaits},
		{"shipping", "shipping.held", s.Held},
	} {
		if err := d.checkStates(l.part, l.name, l.states); err != nil {
			return err
		}
	}

	for _, e := range append(returnedEvents(s),
		namedEvent{"shipping.part", s.Part}, namedEvent{"shipping.left", s.Left}, namedEvent{"shipping.delivered", s.Delivered},
		namedEvent{"shipping.canceled", s.Canceled}, namedEvent{"shipping.stop", s.Stop},
	) {
		if _, known := d.columns[e.event]; !known && e.event != "" {
			return specError("shipping", 0, "%s: event %q is not among the events of the transitions", e.name, e.event)
		}
	}

	return d.checkShipping()
}

type namedEvent struct {
	name  string
	event Event
}

func returnedEvents(s Shipping) (all []namedEvent) {
	for i, e := range s.Returned {
		all = append(all, namedEvent{fmt.Sprintf("shipping.returned[%d]", i), e})
	}

	return all
}

func (d *Definition) checkStates(part, name string, states []State) error {
	for i, s := range states {
		if _, known := d.states[s]; !known {
			return specError(part, 0, "%s: %q is not among the states", name, s)
		}

		if slices.Contains(states[:i], s) {
			return specError(part, 0, "%s: state %s is listed twice", name, s)
		}

		if part != "settled" && d.Terminal(s) {
			return specError(part, 0, "%s: state %s is terminal", name, s)
		}
	}

	return nil
}

// checkShipping checks that the parts of the shipping fit each other.
func (d *Definition) checkShipping() error {
	s := d.spec.Shipping

	for _, state := range s.Held {
		switch {
		case slices.Contains(s.Awaits, state):
			return specError("shipping", 0, "shipping.held: state %s is in shipping.awaits, too", state)
		case d.ReleasedBy(state) == "":
			return specError("shipping", 0, "shipping.held: no event leads from %s to a state of shipping.awaits", state)
		}
	}

	for _, e := range []namedEvent{{"part", s.Part}, {"left", s.Left}} {
		leaves := slices.ContainsFunc(s.Awaits, func(from State) bool { return len(d.Choices(from, e.event)) > 0 })
		if e.event != "" && len(s.Awaits) > 0 && !leaves {
			return specError("shipping", 0, "shipping.%s: event %s leaves no state of shipping.awaits", e.name, e.event)
		}
	}

	switch {
	case s.Part != "" && s.Left == "":
		return specError("shipping", 0, "shipping.part: without shipping.left no parcel would be the last one")
	case s.Part != "" && !d.Has(PartItems):
		return specError("shipping", 0, "shipping.part: the content has no items, so an order has no parcels")
	}

	for i := 1; i < len(s.Returned); i++ {
		follows := slices.ContainsFunc(d.Targets(s.Returned[i-1]), func(from State) bool { return len(d.Choices(from, s.Returned[i])) > 0 })
		if !follows {
			return specError("shipping", 0, "shipping.returned: event %s is not legal after event %s", s.Returned[i], s.Returned[i-1])
		}
	}

	return nil
}

// ReleasedBy returns the event that ends the hold of an order in the state, "" if there is none.
func (d *Definition) ReleasedBy(held State) Event {
	for _, event := range d.events {
		if slices.ContainsFunc(d.Choices(held, event), func(t Transition) bool { return d.AwaitsShipment(t.To) }) {
			return event
		}
	}

	return ""
}

// Gone returns the states of an order whose parcels have all left.
func (d *Definition) Gone() []State { return d.Targets(d.spec.Shipping.Left) }

// Back returns the states of an order whose goods are back.
func (d *Definition) Back() []State {
	returned := d.spec.Shipping.Returned
	if len(returned) == 0 {
		return nil
	}

	return d.Targets(returned[len(returned)-1])
}
