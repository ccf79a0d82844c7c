package executions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ratchet/transitions"
	"ratchet/workflow"
)

// LostParcel is a carrier's report that a parcel was lost.
type LostParcel struct {
	// Tracking is the carrier's number of the parcel, Report the id of the report.
	Tracking, Report string
	// At is when the report was recorded.
	At time.Time
}

// lostParcel says that a parcel of the order was lost, if the order's state allows a parcel to be
// under way. The order leaves the survey with the transition that a person decides on.
func (e *Executions) lostParcel(ctx context.Context, order *transitions.Order, x *Execution) (p Problem, ok bool, err error) {
	if e.cfg.LostParcel == nil || !slices.Contains(e.underWay(), order.State) {
		return Problem{}, false, nil
	}

	lost, found, err := e.cfg.LostParcel(ctx, order)
	if err != nil {
		return Problem{}, false, fmt.Errorf("lost parcel of order %s: %w", order.ID, err)
	}

	p = Problem{
		OrderID:   order.ID,
		State:     order.State,
		Kind:      Lost,
		Since:     lost.At,
		Cause:     fmt.Sprintf("the carrier has lost parcel %s (report %s)", lost.Tracking, lost.Report),
		Commands:  []string{"ratchet orders explain " + order.ID.Arg()},
		Execution: x,
	}

	// Only a person knows how the loss ended, so every event that fits is offered: the delivery, and what ends
	// the order.
	d := e.cfg.Orders.Definition()
	for _, event := range d.Events() {
		to, possible := d.Next(order.State, event)
		if possible && (event == d.Shipping().Delivered || d.Terminal(to)) {
			p.Commands = append(p.Commands, fmt.Sprintf("ratchet orders apply %s %s", order.ID.Arg(), event))
		}
	}

	return p, found, nil
}

// underWay returns the states in which a parcel of an order may be under way.
func (e *Executions) underWay() []workflow.State {
	d := e.cfg.Orders.Definition()

	return slices.Concat(d.Targets(d.Shipping().Part), d.Gone())
}
