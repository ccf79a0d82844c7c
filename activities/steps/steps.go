package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"ratchet/activities"
	"ratchet/activities/tasktoken"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/transitions"
)

// Config configures [Steps]. All fields but Capture are required.
type Config struct {
	Orders *transitions.Orders
	Stock  *inventory.Stock
	// Payments takes and returns the orders' money. The accounts come from
	// payments.AccountsForOrders; the first order in a currency opens them in Ledger.
	Payments *payments.Payments
	Ledger   *ledger.Ledger
	// Capture says that the step pay only authorizes the money. A reaction captures it when the order
	// has shipped. Without Capture the step pay charges the money at once.
	Capture bool
	Booker  *shipping.Booker
	// Parked has the tokens of waiting executions.
	Parked *tasktoken.Store
}

func (c Config) check() error {
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
	require(c.Parked != nil, "Parked: must be set")

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

// NewActivity returns the activity with its placeholder: take-photo has TakePhotoArn.
func NewActivity(name string) Activity {
	var placeholder strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		for i, r := range word {
			if i == 0 {
				r = unicode.ToUpper(r)
			}
			placeholder.WriteRune(r)
		}
	}

	return Activity{Name: name, Placeholder: placeholder.String() + "Arn"}
}

// Activities returns the activities that the state machine needs.
func Activities() []Activity {
	steps := &Steps{} // All only binds the handlers

	var all []Activity
	for _, s := range steps.All() {
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
		{Activity{"accept", "AcceptArn"}, handle(s.accept)},
		{Activity{"pay", "PayArn"}, handle(s.pay)},
		{Activity{"compensate", "CompensateArn"}, handle(s.compensate)},
		{Activity{"look", "LookArn"}, handle(s.look)},
	}
}

// handle returns a handler that decodes the input strictly, calls fn, and gives the error of fn the
// name that the state machine knows.
func handle[In any](fn func(context.Context, In) (any, error)) activities.HandlerFunc {
	return func(ctx context.Context, t activities.Task) (any, error) {
		decoded := false
		typed := activities.Typed(func(ctx context.Context, in In) (any, error) {
			decoded = true
			out, err := fn(ctx, in)

			return out, withName(err)
		})

		out, err := typed(ctx, t)
		if err != nil && !decoded {
			// Named here, because a worker with another ErrorPrefix would give the failure another name.
			return nil, activities.Fail(nameInvalidInput, errors.Unwrap(err))
		}

		return out, err
	}
}

// Named returns a handler that gives the errors of Ratchet's packages the names that the table of errors has, as
// the steps here do: an outage is waited through, and a refusal of the bank or of the stock is an answer. A name
// that the handler has given stays.
func Named(h activities.HandlerFunc) activities.HandlerFunc {
	return func(ctx context.Context, t activities.Task) (any, error) {
		out, err := h(ctx, t)
		return out, withName(err)
	}
}

// get reads an order that must exist, in the life that the execution knows.
func (s *Steps) get(ctx context.Context, id transitions.OrderID, life transitions.Incarnation) (*transitions.Order, error) {
	return getOrder(ctx, s.cfg.Orders, id, life)
}

func getOrder(ctx context.Context, orders *transitions.Orders, id transitions.OrderID, life transitions.Incarnation) (*transitions.Order, error) {
	order, found, err := orders.Get(ctx, id)
	if err != nil {
		return nil, err
	}

	if !found {
		return nil, activities.Fail(verdictName(transitions.NotFound), fmt.Errorf("order %s does not exist", id))
	}

	return order, checkLife(life, order)
}

// position is the order's position right after the transition. Later transitions do not change it, so
// a retry returns the same.
func position(r transitions.Result) transitions.Position {
	return transitions.Position{OrderID: r.Order.ID, Incarnation: r.Order.Incarnation, State: r.Transition.To, TransitionID: r.Transition.ID}
}
