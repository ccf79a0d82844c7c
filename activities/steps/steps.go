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
	"ratchet/activities/tasktoken"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
)

// Gateway is the bank of an order's one payment, as executions of the former state machine
// use it. It must act once per key: a repeat returns the first answer.
type Gateway interface {
	// Charge takes the money and returns the gateway's id of the charge. ErrDeclined,
	// ErrVoided and ErrConflict of package payments are answers; after another error the
	// charge may or may not have been made.
	Charge(ctx context.Context, c payments.Charge) (chargeID string, err error)
	// Void returns what was charged under the key, if anything was, and closes the key. It
	// may be called any number of times, and before Charge.
	Void(ctx context.Context, key string) error
}

// Config configures [Steps]. All fields but Capture and Now are required.
type Config struct {
	Orders *transitions.Orders
	Stock  *inventory.Stock
	// Payments takes and returns the orders' money. The accounts are those of
	// payments.AccountsForOrders; the first order in a currency opens them in Ledger.
	Payments *payments.Payments
	Ledger   *ledger.Ledger
	// Capture says that paying only authorizes: the money is captured when the order has
	// shipped, by a reaction. Otherwise it is charged at once.
	Capture bool
	Booker  *shipping.Booker
	// Gateway is where executions of the former state machine have charged.
	Gateway Gateway
	// Parked has the tokens of waiting executions. Those of the former state machine store
	// them through it, for ParkFor: the TimeoutSeconds of their waits, or longer.
	Parked  *tasktoken.Store
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
	require(c.Payments != nil, "Payments: must be set")
	require(c.Ledger != nil, "Ledger: must be set")
	require(c.Booker != nil, "Booker: must be set")
	require(c.Gateway != nil, "Gateway: must be set")
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

// Activities returns the activities that the state machine needs, and those of the former
// one.
func Activities() []Activity {
	steps := &Steps{} // All and Old only bind the handlers

	var all []Activity
	for _, s := range append(steps.All(), steps.Old()...) {
		all = append(all, s.Activity)
	}

	return all
}

// Step is one kind of task.
type Step struct {
	Activity
	Handle activities.HandlerFunc
	// Timing is that of an old step. The zero value says that the state machine has it, see
	// [Timings].
	Timing Timing
}

// All returns every step of the state machine.
func (s *Steps) All() []Step {
	return []Step{
		{Activity{"accept", "AcceptArn"}, handle(s.accept), Timing{}},
		{Activity{"pay", "PayArn"}, handle(s.pay), Timing{}},
		{Activity{"compensate", "CompensateArn"}, handle(s.compensate), Timing{}},
		{Activity{"look", "LookArn"}, handle(s.look), Timing{}},
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

// get reads an order that must exist.
func (s *Steps) get(ctx context.Context, id transitions.OrderID) (*transitions.Order, error) {
	return getOrder(ctx, s.cfg.Orders, id)
}

func getOrder(ctx context.Context, orders *transitions.Orders, id transitions.OrderID) (*transitions.Order, error) {
	order, found, err := orders.Get(ctx, id)
	if err != nil {
		return nil, err
	}

	if !found {
		return nil, activities.Fail(verdictName(transitions.NotFound), fmt.Errorf("order %s does not exist", id))
	}

	return order, nil
}

// position is where a transition has led the order. It does not change with later ones, so
// that a retry returns the same.
func position(id transitions.OrderID, t transitions.Transition) transitions.Position {
	return transitions.Position{OrderID: id, State: t.To, TransitionID: t.ID}
}
