package steps

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"ratchet/activities"
	"ratchet/inventory"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/tasktoken"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Gateway is the bank of an order's one payment. It must act once per key: a repeat returns
// the first answer.
type Gateway interface {
	// Charge takes the money and returns the gateway's id of the charge. ErrDeclined,
	// ErrVoided and ErrConflict of package payments are answers; after another error the
	// charge may or may not have been made.
	Charge(ctx context.Context, c payments.Charge) (chargeID string, err error)
	// Void returns what was charged under the key, if anything was, and closes the key. It
	// may be called any number of times, and before Charge.
	Void(ctx context.Context, key string) error
}

// Steps does the tasks. All fields but Now must be set.
type Steps struct {
	Orders  *transitions.Orders
	Stock   *inventory.Stock
	Gateway Gateway
	Desk    *shipping.Desk
	Parked  *tasktoken.Store
	// ParkFor is when a parked token is past use: the TimeoutSeconds of the waiting
	// states, or longer.
	ParkFor time.Duration
	// Now is the clock that stamps parked tokens. Default time.Now.
	Now func() time.Time
}

// Step is one kind of task.
type Step struct {
	// Name is the activity's name without a prefix; Placeholder stands for its ARN
	// in statemachine.asl.json.
	Name, Placeholder string
	Handle            activities.HandlerFunc
}

// All returns every step of the state machine.
func (s *Steps) All() []Step {
	return []Step{
		{"place-order", "PlaceOrderArn", step(s.placeOrder)},
		{"reserve-stock", "ReserveStockArn", step(s.reserveStock)},
		{"take-payment", "TakePaymentArn", step(s.takePayment)},
		{"apply-transition", "ApplyTransitionArn", step(s.applyTransition)},
		{"request-shipment", "RequestShipmentArn", step(s.requestShipment)},
		{"await-order", "AwaitOrderArn", s.awaitOrder},
		{"commit-stock", "CommitStockArn", step(s.commitStock)},
		{"cancel-shipment", "CancelShipmentArn", step(s.cancelShipment)},
		{"void-payment", "VoidPaymentArn", step(s.voidPayment)},
		{"release-stock", "ReleaseStockArn", step(s.releaseStock)},
	}
}

// step turns a typed function into a handler: it reads the input strictly and names
// the error.
func step[In any](fn func(context.Context, In) (any, error)) activities.HandlerFunc {
	return func(ctx context.Context, t activities.Task) (any, error) {
		in, err := read[In](t.Input)
		if err != nil {
			return nil, err
		}

		out, err := fn(ctx, in)
		if err != nil {
			return nil, named(err)
		}

		return out, nil
	}
}

// read decodes a task's input; unknown members and trailing data are refused.
func read[In any](input json.RawMessage) (in In, err error) {
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()

	if err = d.Decode(&in); err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = fmt.Errorf("data after the input's end")
		}
	}

	if err != nil {
		return in, activities.Fail(nameInvalidInput, fmt.Errorf("read the task's input: %w", err))
	}

	return in, nil
}

func (s *Steps) placeOrder(ctx context.Context, in transitions.NewOrder) (any, error) {
	result, err := s.Orders.Create(ctx, in)
	if err != nil {
		return nil, err
	}

	if !result.Verdict.Done() {
		return nil, overtaken(result.Verdict, result.Order)
	}
	// The position of placing, not the order's of now: a retry returns the same.
	return position(in.ID, result.Transition), nil
}

func position(id transitions.OrderID, t transitions.Transition) transitions.Position {
	return transitions.Position{OrderID: id, State: t.To, TransitionID: t.ID}
}

type reserveInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	Items   []transitions.Item  `json:"items"`
}

func (s *Steps) reserveStock(ctx context.Context, in reserveInput) (any, error) {
	lines := make([]inventory.Line, len(in.Items))
	for i, item := range in.Items {
		lines[i] = inventory.Line{SKU: item.SKU, Quantity: item.Quantity}
	}

	return map[string]string{"status": "reserved"}, s.Stock.Reserve(ctx, string(in.OrderID), lines)
}

type orderInput struct {
	OrderID transitions.OrderID `json:"orderId"`
}

func (s *Steps) commitStock(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "committed"}, s.Stock.Commit(ctx, string(in.OrderID))
}

func (s *Steps) releaseStock(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "released"}, s.Stock.Release(ctx, string(in.OrderID))
}

type payInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	Total   transitions.Money   `json:"total"`
}

// paymentKey names the one payment of an order at the gateway.
func paymentKey(id transitions.OrderID) string { return string(id) + "/payment" }

func (s *Steps) takePayment(ctx context.Context, in payInput) (any, error) {
	id, err := s.Gateway.Charge(ctx, payments.Charge{Key: paymentKey(in.OrderID), OrderID: string(in.OrderID),
		Amount: in.Total.Amount, Currency: in.Total.Currency})
	return map[string]string{"chargeId": id}, err
}

func (s *Steps) voidPayment(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "voided"}, s.Gateway.Void(ctx, paymentKey(in.OrderID))
}

type applyInput struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	Event        workflow.Event           `json:"event"`
	TransitionID transitions.TransitionID `json:"transitionId"`
}

func (s *Steps) applyTransition(ctx context.Context, in applyInput) (any, error) {
	result, err := s.Orders.Apply(ctx, transitions.Request{OrderID: in.OrderID, Event: in.Event, TransitionID: in.TransitionID})
	switch {
	case err != nil:
		return nil, err
	case result.Verdict.Done():
		return position(in.OrderID, result.Transition), nil
	}

	return nil, overtaken(result.Verdict, result.Order)
}
