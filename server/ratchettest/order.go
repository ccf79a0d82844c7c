package ratchettest

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/transitions"
	"ratchet/workflow"
)

// NewOrder returns a valid order of one piece of each SKU, at 10.00 EUR each.
func NewOrder(id transitions.OrderID, skus ...string) transitions.NewOrder {
	order := transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}}
	for _, sku := range skus {
		order.Items = append(order.Items, transitions.Item{SKU: sku, Quantity: 1, Price: 1000})
		order.Total.Amount += 1000
	}

	return order
}

// SetStock sets how many pieces of a SKU are available.
func (e *Env) SetStock(sku string, quantity int64) {
	e.t.Helper()

	if err := e.Backend.Stock.Set(e.t.Context(), sku, quantity); err != nil {
		e.t.Fatalf("set the stock of %s: %v", sku, err)
	}
}

// Place places an order without starting its execution. The verdict must be Applied.
func (e *Env) Place(order transitions.NewOrder) {
	e.t.Helper()

	result, err := e.Backend.Orders.Create(e.t.Context(), order)
	if err != nil || result.Verdict != transitions.Applied {
		e.t.Fatalf("place order %s: verdict %s, error %v", order.ID, result.Verdict, err)
	}
}

// Execute starts the execution of an order. The execution places the order and moves it to the end of
// the state machine. Execute does not wait for that. A second call with the same order does nothing.
func (e *Env) Execute(order transitions.NewOrder) {
	e.t.Helper()

	if _, err := e.Backend.Start(e.t.Context(), e.core.machine, order); err != nil {
		e.t.Fatal(err)
	}
}

// Move applies an event to an order, with a new request id. The verdict must be Applied.
func (e *Env) Move(id transitions.OrderID, event workflow.Event) transitions.Result {
	e.t.Helper()

	e.core.mu.Lock()
	e.core.requests++
	request := transitions.RequestID(fmt.Sprintf("ratchettest/%d", e.core.requests))
	e.core.mu.Unlock()

	return e.Apply(transitions.Request{OrderID: id, Event: event, RequestID: request}, transitions.Applied)
}

// Apply sends a request. The verdict must be want.
func (e *Env) Apply(request transitions.Request, want transitions.Verdict) transitions.Result {
	e.t.Helper()

	result, err := e.Backend.Orders.Apply(e.t.Context(), request)
	if err != nil {
		e.t.Fatalf("apply %s to order %s: %v", request.Event, request.OrderID, err)
	}

	if result.Verdict != want {
		e.t.Fatalf("apply %s to order %s: verdict %s, want %s; the order is %s", request.Event, request.OrderID, result.Verdict, want, describe(result.Order))
	}

	return result
}

// WantOrder waits until the order is in the state with the transitionId, and returns the order. It fails
// at once if the order is in another state at the transitionId, or has passed it.
func (e *Env) WantOrder(id transitions.OrderID, state workflow.State, transition transitions.TransitionID) *transitions.Order {
	e.t.Helper()

	var order *transitions.Order
	e.wait(fmt.Sprintf("order %s to be %s at transition %d", id, state, transition), func() (bool, string, error) {
		var err error
		if order, _, err = e.Backend.Orders.Get(e.t.Context(), id); err != nil || order == nil {
			return false, describe(order), err
		}

		// An order never goes back, so it can no longer come to the wanted position.
		if order.TransitionID > transition || order.TransitionID == transition && order.State != state {
			return false, "", fmt.Errorf("the order is %s", describe(order))
		}

		return order.TransitionID == transition, describe(order), nil
	}, e.failureOf(id))

	return order
}

// WantExecution waits until the order's execution has ended, and returns its output. The execution must
// end with the status.
func (e *Env) WantExecution(id transitions.OrderID, status sfntypes.ExecutionStatus) (output string) {
	e.t.Helper()

	arn, err := e.Backend.ExecutionARN(e.t.Context(), id)
	if err != nil {
		e.t.Fatal(err)
	}

	e.wait(fmt.Sprintf("the execution of order %s to end as %s", id, status), func() (bool, string, error) {
		out, err := e.Backend.SFN.DescribeExecution(e.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		// The call that starts the execution may still be under way in another goroutine.
		if _, missing := errors.AsType[*sfntypes.ExecutionDoesNotExist](err); missing {
			return false, "it was not started", nil
		}

		if err != nil {
			return false, "", err
		}

		if out.Status == sfntypes.ExecutionStatusRunning {
			return false, "it is running", nil
		}

		if out.Status != status {
			return false, "", fmt.Errorf("it ended as %s: %s %s", out.Status, text(out.Error), text(out.Cause))
		}
		output = text(out.Output)

		return true, "", nil
	}, e.failureOf(id))

	return output
}

func describe(o *transitions.Order) string {
	if o == nil {
		return "not there"
	}

	return fmt.Sprintf("%s at transition %d", o.State, o.TransitionID)
}

func text(s *string) string {
	if s == nil {
		return ""
	}

	return *s
}
