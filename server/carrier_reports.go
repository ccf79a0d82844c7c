package server

import (
	"context"

	"ratchet/shipping/sandbox"
	"ratchet/transitions"
	"ratchet/workflow"
)

// applyCarrierReport handles a callback of the sandbox carrier. Each report becomes a
// transition request under the report's own id, so a repeated report is Replayed.
//
// A report that the order cannot take yet is answered with Retry: the order is not paid,
// is on hold, or the delivery was reported before the shipment. A report that the order
// can never take is answered with Rejected.
func (b *Backend) applyCarrierReport(ctx context.Context, report sandbox.Report) (sandbox.Answer, error) {
	event, target := workflow.Ship, workflow.Shipped
	if report.Milestone == sandbox.Delivered {
		event, target = workflow.Deliver, workflow.Delivered
	}

	result, err := b.Orders.Apply(ctx, transitions.Request{
		OrderID:   transitions.OrderID(report.OrderID),
		Event:     event,
		RequestID: transitions.RequestID(report.ID),
	})
	if err != nil {
		return sandbox.Retry, err
	}

	if result.Verdict.Done() {
		return sandbox.Accepted, nil
	}

	if result.Verdict == transitions.WrongState {
		state := result.Order.State
		if state != target && b.Orders.Definition().Reachable(state, target) {
			return sandbox.Retry, nil
		}
	}

	return sandbox.Rejected, nil
}
