package restored

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/operate/executions"
	"ratchet/payments"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams/replay"
	"ratchet/streams/retryqueue"
	"ratchet/transitions"
)

// Config configures a [Repair]. All fields up to Began are required, but for Shop.
type Config struct {
	Orders     *transitions.Orders
	Deliveries *notify.Deliveries
	Executions *executions.Executions
	// Queue has the retry queues and dead letters of the Handlers.
	Queue    retryqueue.Queue
	Handlers []string
	// Changes gives the handlers of the stream the changes that the orders prove again. Its DryRun is set by
	// the repair.
	Changes replay.Rebuild
	// Shop are the parts of a shop, nil for another workflow.
	Shop *Shop
	// Began is when the first call of this repair began. Orders whose life began later were renewed by it.
	Began time.Time
	// DryRun counts and changes nothing.
	DryRun bool
	// Sweep says how the table of orders is read. Its Progress is optional.
	Sweep transitions.Sweep
}

// Shop are the parts that orders of a shop use. All fields up to Reports are required.
type Shop struct {
	Payments *payments.Payments
	Ledger   *ledger.Ledger
	Stock    *inventory.Stock
	Reports  *reports.Receiver
	// Asker is the carrier, if it can be asked about shipments; nil if it cannot.
	Asker shipping.Asker
}

// Report counts what was repaired, or would be.
type Report struct {
	// Orders were read. Forward were behind their journals and were brought to their ends. Filled had
	// transitions that the journal lacked and now has. Lost have transitions that neither has.
	Orders  int `json:"orders"`
	Forward int `json:"forward"`
	Filled  int `json:"filled"`
	Lost    int `json:"lost"`
	// Moved were moved by what the processor and the carrier say: paid, shipped, delivered.
	Moved int `json:"moved"`
	// Payments were known to the processor only. Reserved are orders whose pieces were reserved again.
	Payments int `json:"payments"`
	Reserved int `json:"reserved"`
	// Renewed orders have a new incarnation.
	Renewed int `json:"renewed"`
	// Deliveries and Changes waited for transitions that their orders have not made any more, and are ended.
	Deliveries int `json:"deliveries"`
	Changes    int `json:"changes"`
	// Queued are changes that wait for the handlers of the stream.
	Queued int `json:"queued"`
	// Executions were started.
	Executions int `json:"executions"`
	// Left is what a person must decide.
	Left []Left `json:"left,omitempty"`
}

// Left is something that was not repaired.
type Left struct {
	OrderID transitions.OrderID `json:"orderId"`
	Reason  string              `json:"reason"`
}

// Repair makes restored tables fit together.
type Repair struct {
	cfg Config

	mu     sync.Mutex // of what follows: segments of the table are read at the same time
	report Report
	held   map[transitions.OrderID]bool // the orders that are left to a person
}

// New returns a Repair. The error names every field that is missing.
func New(cfg Config) (*Repair, error) {
	var faults []error
	require := func(set bool, name string) {
		if !set {
			faults = append(faults, errors.New("restored: Config."+name+": must be set"))
		}
	}
	require(cfg.Orders != nil, "Orders")
	require(cfg.Deliveries != nil, "Deliveries")
	require(cfg.Executions != nil, "Executions")
	require(cfg.Queue.DynamoDB != nil, "Queue")
	require(len(cfg.Handlers) > 0, "Handlers")
	require(cfg.Changes.Expand != nil, "Changes")
	require(!cfg.Began.IsZero(), "Began")

	if s := cfg.Shop; s != nil {
		require(s.Payments != nil, "Shop.Payments")
		require(s.Ledger != nil, "Shop.Ledger")
		require(s.Stock != nil, "Shop.Stock")
		require(s.Reports != nil, "Shop.Reports")
	}

	r := &Repair{cfg: cfg, held: map[transitions.OrderID]bool{}}
	r.cfg.Changes.DryRun, r.cfg.Changes.Expand = cfg.DryRun, r.unlessHeld(cfg.Changes.Expand)

	return r, errors.Join(faults...)
}

// Run repairs, and returns what it has done also if it fails. It is called once.
func (r *Repair) Run(ctx context.Context) (Report, error) {
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		// The orders come first: what has been forgotten is known from where they are now.
		{"the orders", r.eachOrder(r.order)},
		{"waiting notifications", r.endDeliveries},
		{"waiting changes", r.dropChanges},
		// The effects of a transition have the keys of the life that made it, so the orders are renewed before.
		{"the changes that the orders prove", r.queueChanges},
		{"executions", r.eachOrder(r.start)},
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return r.report, fmt.Errorf("repair %s: %w", step.what, err)
		}
	}

	return r.report, nil
}

// eachOrder returns a step that calls fn for every order that can be read.
func (r *Repair) eachOrder(fn func(context.Context, *transitions.Order) error) func(context.Context) error {
	return func(ctx context.Context) error {
		return r.cfg.Orders.Scan(ctx, r.cfg.Sweep, dynamodb.ScanInput{}, func(ctx context.Context, order *transitions.Order, err error) error {
			if err != nil {
				r.leave(order.ID, err)
				return nil
			}

			return fn(ctx, order)
		})
	}
}

// order repairs one order and gives it a new life.
func (r *Repair) order(ctx context.Context, order *transitions.Order) error {
	r.count(func(report *Report) { report.Orders++ })

	order, err := r.journal(ctx, order)
	if err != nil || order == nil {
		return err
	}

	if r.cfg.Shop != nil {
		if order, err = r.effects(ctx, order); err != nil || r.isHeld(order.ID) {
			return err
		}
	}

	return r.renew(ctx, order)
}

// renew gives the order a new incarnation, unless an earlier call has.
func (r *Repair) renew(ctx context.Context, order *transitions.Order) error {
	if !order.Incarnation.Began().Before(r.cfg.Began) {
		return nil
	}

	renewed := r.cfg.DryRun
	if !renewed {
		var err error
		if renewed, err = r.cfg.Orders.Renew(ctx, order); err != nil {
			return err
		}
	}

	// Nothing should run. What moves an order now would be forgotten by its next life.
	if !renewed {
		return fmt.Errorf("order %s was changed meanwhile: stop what writes, and repeat the command", order.ID)
	}
	r.count(func(report *Report) { report.Renewed++ })

	return nil
}

// start starts an execution of an order that can still move.
func (r *Repair) start(ctx context.Context, order *transitions.Order) error {
	if r.isHeld(order.ID) || r.cfg.Orders.Definition().Settled(order.State) {
		return nil
	}

	var err error
	if !r.cfg.DryRun {
		_, _, err = r.cfg.Executions.Repair(ctx, order.ID, true)
	}

	switch {
	case errors.Is(err, executions.ErrHealthy): // an earlier call has started it
	case err != nil:
		return err
	default:
		r.count(func(report *Report) { report.Executions++ })
	}

	return nil
}

func (r *Repair) queueChanges(ctx context.Context) error {
	done, err := r.cfg.Changes.Run(ctx)
	r.count(func(report *Report) { report.Queued += done.Queued })

	return err
}

// unlessHeld leaves out the changes of orders that a person must look at.
func (r *Repair) unlessHeld(expand replay.Expander) replay.Expander {
	return func(ctx context.Context, item map[string]types.AttributeValue) ([]replay.Version, bool, error) {
		if id, ofOrder := r.cfg.Orders.Mapping().OrderOf(item); ofOrder && r.isHeld(id) {
			return nil, false, nil
		}

		return expand(ctx, item)
	}
}

func (r *Repair) isHeld(id transitions.OrderID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.held[id]
}

func (r *Repair) count(change func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()

	change(&r.report)
}

// leave notes what a person must decide. The order stays as it is.
func (r *Repair) leave(id transitions.OrderID, reason error) {
	r.count(func(report *Report) {
		if !r.held[id] {
			report.Left = append(report.Left, Left{id, reason.Error()})
		}
		r.held[id] = true
	})
}
