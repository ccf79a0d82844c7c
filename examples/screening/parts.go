package main

import (
	"context"
	"encoding/json"
	"fmt"

	"ratchet/activities"
	"ratchet/server"
	"ratchet/transitions"
)

// newParts returns the parts of this program: the shop's state machine with one more step.
func newParts() (server.Parts, error) {
	machine, err := stateMachine()
	if err != nil {
		return server.Parts{}, err
	}

	return server.Parts{Workflow: &server.Workflow{
		Shop:         true, // accept, pay and compensate, stock, shipping and refunds stay as they are
		StateMachine: machine,
		Steps:        []server.Step{{Name: "screen", Handle: screen}},
	}}, nil
}

// mostPieces is the most pieces of an order that is not suspicious.
const mostPieces = 50

// screen returns the step behind the activity "screen". It returns data and changes nothing, so
// Step Functions may run it again. The state machine decides how the order goes on.
func screen(b *server.Backend) activities.HandlerFunc {
	return func(ctx context.Context, task activities.Task) (any, error) {
		var in struct {
			OrderID transitions.OrderID `json:"orderId"`
		}
		if err := json.Unmarshal(task.Input, &in); err != nil {
			return nil, err
		}

		order, found, err := b.Orders.Get(ctx, in.OrderID)
		switch {
		case err != nil:
			return nil, err
		case !found:
			// A named error: the state machine does not retry it.
			return nil, activities.Fail("Order.NotFound", fmt.Errorf("%s does not exist", in.OrderID))
		}

		pieces := int64(0)
		for _, item := range order.Items {
			pieces += item.Quantity
		}

		return map[string]bool{"suspicious": pieces > mostPieces}, nil
	}
}
