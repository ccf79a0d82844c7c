package steps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// Config configures [Steps]. All fields but Now are required.
type Config struct {
	Orders  *transitions.Orders
	Stock   *inventory.Stock
	Gateway Gateway
	Booker  *shipping.Booker
	// Parked stores the tokens of waiting executions.
	Parked *tasktoken.Store
	// ParkFor is how long a parked token is kept: the TimeoutSeconds of the waiting states,
	// or longer.
	ParkFor time.Duration
	// Now is the clock that stamps parked tokens. Default time.Now.
	Now func() time.Time
}

func (c *Config) check() error {
	var faults []error
	require := func(ok bool, rule string) {
		if !ok {
			faults = append(faults, errors.New("steps: Config."+rule))
		}
	}
	require(c.Orders != nil, "Orders: must be set")
	require(c.Stock != nil, "Stock: must be set")
	require(c.Gateway != nil, "Gateway: must be set")
	require(c.Booker != nil, "Booker: must be set")
	require(c.Parked != nil, "Parked: must be set")
	require(c.ParkFor > 0, fmt.Sprintf("ParkFor %v: must be positive", c.ParkFor))

	if c.Now == nil {
		c.Now = time.Now
	}

	return errors.Join(faults...)
}

// Steps does the tasks. It is safe for concurrent use.
type Steps struct{ cfg Config }

// New returns Steps. The error names every field that breaks a rule.
func New(cfg Config) (*Steps, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Steps{cfg}, nil
}

// Activity is the name of a step's activity, without a prefix.
type Activity struct {
	Name string
	// Placeholder stands for the activity's ARN in statemachine.asl.json.
	Placeholder string
}

// Activities returns the activities that the state machine needs.
func Activities() []Activity {
	var all []Activity
	for _, s := range (&Steps{}).All() { // All only binds the handlers
		all = append(all, s.Activity)
	}

	return all
}

// Step is one kind of task.
type Step struct {
	Activity
	Handle activities.HandlerFunc
}

// All returns every step of the state machine.
func (s *Steps) All() []Step {
	return []Step{
		{Activity{"place-order", "PlaceOrderArn"}, handle(s.placeOrder)},
		{Activity{"reserve-stock", "ReserveStockArn"}, handle(s.reserveStock)},
		{Activity{"take-payment", "TakePaymentArn"}, handle(s.takePayment)},
		{Activity{"apply-transition", "ApplyTransitionArn"}, handle(s.applyTransition)},
		{Activity{"request-shipment", "RequestShipmentArn"}, handle(s.requestShipment)},
		{Activity{"await-order", "AwaitOrderArn"}, s.awaitOrder},
		{Activity{"commit-stock", "CommitStockArn"}, handle(s.commitStock)},
		{Activity{"cancel-shipment", "CancelShipmentArn"}, handle(s.cancelShipment)},
		{Activity{"void-payment", "VoidPaymentArn"}, handle(s.voidPayment)},
		{Activity{"release-stock", "ReleaseStockArn"}, handle(s.releaseStock)},
	}
}

// handle returns a handler that decodes the input strictly, calls fn, and gives its error
// the name that the state machine knows.
func handle[In any](fn func(context.Context, In) (any, error)) activities.HandlerFunc {
	return func(ctx context.Context, t activities.Task) (any, error) {
		in, err := read[In](t.Input)
		if err != nil {
			return nil, err
		}

		out, err := fn(ctx, in)
		if err != nil {
			return nil, withName(err)
		}

		return out, nil
	}
}

// read decodes the input of a task. Unknown members and trailing data are errors.
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
	result, err := s.cfg.Orders.Create(ctx, in)
	if err != nil {
		return nil, err
	}

	if !result.Verdict.Done() {
		return nil, overtaken(result.Verdict, result.Order)
	}

	// Return the position after the placing, and not the present one, so that a retry
	// returns the same.
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

	return map[string]string{"status": "reserved"}, s.cfg.Stock.Reserve(ctx, string(in.OrderID), lines)
}

type orderInput struct {
	OrderID transitions.OrderID `json:"orderId"`
}

func (s *Steps) commitStock(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "committed"}, s.cfg.Stock.Commit(ctx, string(in.OrderID))
}

func (s *Steps) releaseStock(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "released"}, s.cfg.Stock.Release(ctx, string(in.OrderID))
}

type payInput struct {
	OrderID transitions.OrderID `json:"orderId"`
	Total   transitions.Money   `json:"total"`
}

// paymentKey returns the key of the order's one payment at the gateway.
func paymentKey(id transitions.OrderID) string { return string(id) + "/payment" }

func (s *Steps) takePayment(ctx context.Context, in payInput) (any, error) {
	id, err := s.cfg.Gateway.Charge(ctx, payments.Charge{
		Key:      paymentKey(in.OrderID),
		OrderID:  string(in.OrderID),
		Amount:   in.Total.Amount,
		Currency: in.Total.Currency,
	})

	return map[string]string{"chargeId": id}, err
}

func (s *Steps) voidPayment(ctx context.Context, in orderInput) (any, error) {
	return map[string]string{"status": "voided"}, s.cfg.Gateway.Void(ctx, paymentKey(in.OrderID))
}

type applyInput struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	Event        workflow.Event           `json:"event"`
	TransitionID transitions.TransitionID `json:"transitionId"`
}

func (s *Steps) applyTransition(ctx context.Context, in applyInput) (any, error) {
	result, err := s.cfg.Orders.Apply(ctx, transitions.Request{OrderID: in.OrderID, Event: in.Event, TransitionID: in.TransitionID})
	switch {
	case err != nil:
		return nil, err
	case result.Verdict.Done():
		return position(in.OrderID, result.Transition), nil
	}

	return nil, overtaken(result.Verdict, result.Order)
}
