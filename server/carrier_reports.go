package server

import (
	"context"

	"ratchet/shipping"
	"ratchet/transitions"
	"ratchet/workflow"
)

// reportedMove is a transition that a report asks for.
type reportedMove struct {
	event  workflow.Event
	target workflow.State
}

// reportedMoves are the transitions that the reports of the carrier ask for, one after the
// other. A lost parcel moves no order: the definition has no such state. The order stays
// SHIPPED, and [executions.Executions.Survey] lists it.
var reportedMoves = map[shipping.Milestone][]reportedMove{
	shipping.Shipped:   {{workflow.Ship, workflow.Shipped}},
	shipping.Delivered: {{workflow.Deliver, workflow.Delivered}},
	shipping.Returned:  {{workflow.RequestReturn, workflow.ReturnRequested}, {workflow.ReceiveReturn, workflow.Returned}},
}

// applyCarrierReport handles a callback of the sandbox carrier. Each report becomes a
// transition request under the report's own id, so a repeated report is Replayed. Where a
// report stands for two transitions, the id of the first one is extended by its event.
//
// A report that the order cannot take yet is answered with Retry: the order is not paid,
// is on hold, or the delivery was reported before the shipment. A report that the order
// can never take is answered with Rejected, and logged.
func (b *Backend) applyCarrierReport(ctx context.Context, report shipping.Report) (shipping.Answer, error) {
	if report.Milestone == shipping.Lost {
		if err := b.recordLostParcel(ctx, report); err != nil {
			return shipping.Retry, err
		}

		return shipping.Accepted, nil
	}

	moves, known := reportedMoves[report.Milestone]
	if !known {
		b.log.WarnContext(ctx, "the carrier's report moves no order", "order", report.OrderID, "milestone", report.Milestone, "report", report.ID)
		return shipping.Accepted, nil
	}

	answer := shipping.Accepted
	for i, move := range moves {
		id := report.ID
		if i < len(moves)-1 {
			id += "/" + string(move.event)
		}

		var err error
		if answer, err = b.applyReportedMove(ctx, report.OrderID, id, move, i == len(moves)-1); err != nil || answer != shipping.Accepted {
			return answer, err
		}
	}

	return answer, nil
}

// applyReportedMove applies one transition of a report. A step before the last one counts as
// made if the order is in its target.
func (b *Backend) applyReportedMove(ctx context.Context, orderID, id string, move reportedMove, last bool) (shipping.Answer, error) {
	result, err := b.Orders.Apply(ctx, transitions.Request{
		OrderID:   transitions.OrderID(orderID),
		Event:     move.event,
		RequestID: transitions.RequestID(id),
	})
	if err != nil {
		return shipping.Retry, err
	}

	if result.Verdict.Done() {
		return shipping.Accepted, nil
	}

	state := workflow.State("")
	if result.Verdict == transitions.WrongState {
		state = result.Order.State

		if state == move.target && !last {
			return shipping.Accepted, nil
		}

		if state != move.target && b.Orders.Definition().Reachable(state, move.target) {
			return shipping.Retry, nil
		}
	}
	b.log.InfoContext(ctx, "the carrier's report was rejected", "order", orderID, "report", id, "verdict", result.Verdict, "state", state)

	return shipping.Rejected, nil
}
