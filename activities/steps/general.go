package steps

import (
	"context"
	"errors"
	"fmt"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/check"
)

// GeneralConfig configures [General]. Both fields are required.
type GeneralConfig struct {
	Orders *transitions.Orders
	// Parked has the tokens of waiting executions.
	Parked *tasktoken.Store
}

// General does the tasks that every workflow can use: place an order, apply an event to it, and
// read its position. These tasks use no stock and no payments, and do not depend on the names of
// states. General is safe for concurrent use.
type General struct{ cfg GeneralConfig }

// NewGeneral returns General. The error names every field that is missing.
func NewGeneral(cfg GeneralConfig) (*General, error) {
	var faults []error
	if cfg.Orders == nil {
		faults = append(faults, errors.New("steps: GeneralConfig.Orders: must be set"))
	}

	if cfg.Parked == nil {
		faults = append(faults, errors.New("steps: GeneralConfig.Parked: must be set"))
	}

	return &General{cfg}, errors.Join(faults...)
}

// All returns the steps, with these inputs:
//
//	place  {"order": the input of the execution, "started": when it was started}
//	apply  {"orderId": …, "event": …, "transitionId": the one after the newest that the execution knows}
//	look   {"orderId": …, "started": …}
//
// Each input may have an "incarnation", the one of the position that the step before has returned: then
// the step fails if the id belongs to another life of the order by now.
//
// Each step returns the order's position: orderId, incarnation, state and transitionId. A step fails with a name of
// [ErrorClasses]. If another caller has moved the order, place and apply fail with one of
// [OvertakenErrors]; look then returns the order's new position.
func (g *General) All() []Step {
	return []Step{
		{Activity{"place", "PlaceArn"}, handle(g.place)},
		{Activity{"apply", "ApplyArn"}, handle(g.apply)},
		{Activity{"look", "LookArn"}, handle(g.look)},
	}
}

// GeneralCheckConfig describes the steps of [General] and the waits of an execution for package check,
// like [CheckConfig] does for the steps of the shop. The state machine keeps the position of the order
// at $.order.
func GeneralCheckConfig() check.Config {
	return check.Config{
		Tasks: check.Tasks{
			"place":                           func(map[string]any) check.Effect { return check.Effect{Creates: true, Resumes: true} },
			"apply":                           transitionEffect,
			"look":                            func(map[string]any) check.Effect { return check.Effect{Reads: true} },
			"update-item.wait-for-task-token": waitEffect,
		},
		Variable:  "$.order.state",
		Overtaken: OvertakenErrors(),
		Retryable: ownErrors(RetryableErrors()),
		Terminal:  ownErrors(TerminalErrors()),
	}
}

// place places the order. If the order exists and is still in its first state, place returns its
// position: a caller, an earlier try of this task, or an earlier execution of the order has placed it.
func (g *General) place(ctx context.Context, in acceptInput) (any, error) {
	n := in.Order.NewOrder
	n.PlacedBy = in.Started

	// An execution that has a life must not place the order again after its deletion.
	if in.life() != "" {
		order, err := getOrder(ctx, g.cfg.Orders, n.ID, in.life())
		if err != nil {
			return nil, err
		}

		return g.resume(in, order)
	}

	// Create would compare the content, which may have been edited since the order was placed.
	if in.Order.Adopt {
		switch order, found, err := g.cfg.Orders.Get(ctx, n.ID); {
		case err != nil:
			return nil, err
		case found:
			return g.resume(in, order)
		}
	}

	result, err := g.cfg.Orders.Create(ctx, n)
	switch {
	case err != nil:
		return nil, err
	case result.Verdict == transitions.Applied:
		return position(result), nil
	case result.Verdict == transitions.Conflict:
		return nil, errOtherContent(n.ID)
	}

	return g.resume(in, result.Order)
}

// resume returns the position of an order that exists, if the execution may go on from its first
// state.
func (g *General) resume(in acceptInput, order *transitions.Order) (any, error) {
	if err := checkPlacedBy(in, order); err != nil {
		return nil, err
	}

	if err := g.cfg.Orders.CheckVersion(order); err != nil {
		return nil, err
	}

	// A Catch of this name lets the execution go on from the order's position.
	if order.State != g.cfg.Orders.Definition().Initial() {
		return nil, overtaken(transitions.WrongState, order)
	}

	return order.Position(), nil
}

// apply applies an event under the transitionId that the state machine computed.
func (g *General) apply(ctx context.Context, in applyInput) (any, error) {
	return applyEvent(ctx, g.cfg.Orders, in)
}

func (g *General) look(ctx context.Context, in lookInput) (any, error) {
	order, err := orderToLookAt(ctx, g.cfg.Orders, g.cfg.Parked, in)
	if err != nil {
		return nil, err
	}

	return order.Position(), nil
}

// checkPlacedBy fails if another execution has placed the order, unless the input allows this
// execution to adopt the order.
func checkPlacedBy(in acceptInput, order *transitions.Order) error {
	if order.PlacedBy == "" || order.PlacedBy == in.Started || in.Order.Adopt {
		return nil
	}

	return activities.Fail(nameAlreadyAccepted, fmt.Errorf("order %s was placed by the execution started at %s (%q: true in the input adopts it)",
		order.ID, order.PlacedBy, "adopt"))
}

type applyInput struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	Event        workflow.Event           `json:"event"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	Incarnation  transitions.Incarnation  `json:"incarnation,omitempty"`
}

// applyEvent applies an event and returns the order's position after the transition.
func applyEvent(ctx context.Context, orders *transitions.Orders, in applyInput) (any, error) {
	result, err := applyInLife(ctx, orders, transitions.Request{
		OrderID:      in.OrderID,
		Event:        in.Event,
		TransitionID: in.TransitionID,
		Incarnation:  in.Incarnation,
		Cause:        causeOf(in.OrderID, "", ""),
	})
	switch {
	case err != nil:
		return nil, err
	case result.Verdict.Done():
		return position(result), nil
	}

	return nil, overtaken(result.Verdict, result.Order)
}
