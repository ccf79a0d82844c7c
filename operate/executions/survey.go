package executions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"

	"ratchet/operate/inspect"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Kind says why an order needs a person.
type Kind string

// The kinds of problems.
const (
	// Failed: the execution ended without success.
	Failed Kind = "failed"
	// Ended: the execution succeeded, and its order is in a state from which executions still move
	// orders.
	Ended Kind = "ended"
	// Missing: the order has no execution, or Step Functions has forgotten it. An order at its end
	// counts as missing one only if it was paid and not delivered.
	Missing Kind = "missing"
	// Overdue: the execution runs, and its order has not moved for longer than the deadline
	// of its state (30 days where all parcels have left, else 14), or has been at its end for longer than an hour.
	Overdue Kind = "overdue"
	// Lost: the carrier has lost a parcel of the order. The definition has no transition for a
	// loss, so a person decides how the order goes on.
	Lost Kind = "lost parcel"
	// Placing: the execution runs, and its order does not exist yet. It is no problem, and in no survey.
	Placing Kind = "placing"
	// Unreadable: the order's item lacks an attribute that every decision needs, or has it in another form
	// than Ratchet writes. Nothing moves the order until a person corrects the attribute.
	Unreadable Kind = "unreadable"
	// UnknownVersion: a version of the definition moved the order last that this program does not know, for ten
	// minutes: the deployment of one has ended by then. No worker moves the order until it is migrated, so its other
	// problems are not looked at.
	UnknownVersion Kind = "unknown version"
)

// Label is the kind as a label of a metric and in stored rows.
func (k Kind) Label() string { return strings.ReplaceAll(string(k), " ", "_") }

// Problem is an order that needs a person, with the cause and the commands that make it move again.
type Problem struct {
	OrderID transitions.OrderID `json:"orderId"`
	State   workflow.State      `json:"state"`
	Kind    Kind                `json:"kind"`
	// Since is when the execution ended, when the order moved last, or when the loss of the
	// parcel was recorded.
	Since time.Time `json:"since,omitzero"`
	Cause string    `json:"cause"`
	// Commands make the order move again. The first is the one to try first.
	Commands []string `json:"commands"`
	// Execution is nil if there is none.
	Execution *Execution `json:"execution,omitempty"`
}

// Ref is the id under which the commands find the problem: the order's id, or the name of an execution that
// has failed before its order existed and has a name of its own.
func (p Problem) Ref() transitions.OrderID {
	if p.Execution != nil && p.Execution.Number == 0 {
		return transitions.OrderID(p.Execution.Name)
	}

	return p.OrderID
}

// Filter selects what a survey looks at. The zero value selects every order.
type Filter struct {
	// Orders are the orders to look at, all if empty.
	Orders []transitions.OrderID
	// Error keeps executions that failed with that error name.
	Error string
	// Since and Until bound Problem.Since: Since is included, Until is not.
	Since, Until time.Time
	// Own keeps orders whose id it accepts. Nil: all.
	Own func(transitions.OrderID) bool
	// Advance stores how far back the next survey has to look for executions without an order.
	Advance bool
}

func (f Filter) selects(p Problem) bool {
	return f.owns(p.OrderID) && (f.Error == "" || p.Execution != nil && p.Execution.Error == f.Error) &&
		(f.Since.IsZero() || !p.Since.Before(f.Since)) && (f.Until.IsZero() || p.Since.Before(f.Until))
}

func (f Filter) owns(id transitions.OrderID) bool { return f.Own == nil || f.Own(id) }

// surveyPage is how many orders are read at a time, surveyCalls how many of them are
// described at the same time.
const (
	surveyPage  = 200
	surveyCalls = 8
)

// Survey calls found for each problem that the filter selects, one at a time and in no useful
// order: the problems of orders, and then executions that have failed before their orders existed. An order may have two problems: its execution's, and a lost parcel. After each page Survey
// calls looked, which may be nil, with the number of orders seen so far. now is the present time.
// An error of found ends the survey.
func (e *Executions) Survey(ctx context.Context, now time.Time, f Filter, found func(Problem) error, looked func(orders int)) error {
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Until.After(f.Since) {
		return fmt.Errorf("survey executions: %w: until %s: must be after since", transitions.ErrInvalidRequest, f.Until.UTC().Format(time.RFC3339Nano))
	}

	if looked == nil {
		looked = func(int) {}
	}

	if len(f.Orders) > 0 {
		return e.surveyNamed(ctx, now, f, found)
	}

	page := inspect.Page{Limit: surveyPage}
	for seen := 0; ; {
		listing, err := inspect.List(ctx, e.cfg.Orders, page)
		if err != nil {
			return err
		}

		for _, bad := range listing.Unreadable {
			if p := unreadable(bad.OrderID, bad.State, bad.Reason); f.selects(p) {
				if err := found(p); err != nil {
					return err
				}
			}
		}

		if err := e.surveyOrders(ctx, now, f, listing.Orders, found); err != nil {
			return err
		}

		seen += len(listing.Orders) + len(listing.Unreadable)
		looked(seen)

		if listing.Next == "" {
			return e.surveyRequests(ctx, now, f, found)
		}
		page.After = transitions.OrderID(listing.Next)
	}
}

// surveyNamed looks at the orders that the filter names.
func (e *Executions) surveyNamed(ctx context.Context, now time.Time, f Filter, found func(Problem) error) error {
	orders := make([]*transitions.Order, 0, len(f.Orders))
	for _, id := range f.Orders {
		order, err := e.order(ctx, id)

		switch p := unreadable(id, "", inspect.ReasonOf(err)); {
		case errors.Is(err, transitions.ErrUnreadable) && f.selects(p):
			err = found(p)
		case errors.Is(err, transitions.ErrUnreadable):
			err = nil
		case errors.Is(err, transitions.ErrUnknownOrder):
			var open bool
			if p, open, err = e.namedUnplaced(ctx, id, err); err == nil && open && p.Kind == Failed && f.selects(p) {
				err = found(p)
			}
		case err == nil:
			orders = append(orders, order)
		}

		if err != nil {
			return err
		}
	}

	return e.surveyOrders(ctx, now, f, orders, found)
}

// namedUnplaced is Unplaced for an order that does not exist. It returns unknown if there is no execution
// that could place it.
func (e *Executions) namedUnplaced(ctx context.Context, id transitions.OrderID, unknown error) (Problem, bool, error) {
	p, open, err := e.Unplaced(ctx, id)
	if err == nil && !open {
		err = unknown
	}

	return p, open, err
}

// unreadable is the problem of an order that cannot be read. It has no time, and so counts as older than
// every bound.
func unreadable(id transitions.OrderID, state workflow.State, reason string) Problem {
	return Problem{OrderID: id, State: state, Kind: Unreadable, Cause: "the order cannot be read: " + reason, Commands: []string{"ratchet verify"}}
}

// order reads an order that must exist.
func (e *Executions) order(ctx context.Context, id transitions.OrderID) (*transitions.Order, error) {
	order, exists, err := e.cfg.Orders.Get(ctx, id)
	if err != nil {
		return nil, err
	}

	if !exists {
		return nil, fmt.Errorf("order %s: %w", id, transitions.ErrUnknownOrder)
	}

	return order, nil
}

func (e *Executions) surveyOrders(ctx context.Context, now time.Time, f Filter, orders []*transitions.Order, found func(Problem) error) error {
	var mu sync.Mutex // callers of Survey need not lock in found

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(surveyCalls)

	for _, order := range orders {
		if !f.owns(order.ID) || e.cfg.Orders.Definition().Settled(order.State) {
			continue
		}

		group.Go(func() error {
			// The calls run outside the lock; only found is serialized.
			problems, err := e.problems(ctx, now, order)
			if err != nil {
				return err
			}

			mu.Lock()
			defer mu.Unlock()

			for _, p := range problems {
				if !f.selects(p) {
					continue
				}

				if err := found(p); err != nil {
					return err
				}
			}

			return nil
		})
	}

	return group.Wait()
}

// problems says what is wrong with an order that is not settled.
func (e *Executions) problems(ctx context.Context, now time.Time, order *transitions.Order) (all []Problem, err error) {
	if unknown := e.cfg.Orders.CheckVersion(order); unknown != nil {
		if now.Sub(order.UpdatedAt) < startWithin {
			return nil, nil
		}

		return []Problem{{
			OrderID: order.ID, State: order.State, Kind: UnknownVersion, Since: order.UpdatedAt, Cause: unknown.Error(),
			Commands: []string{"ratchet workflow migrate --dry-run"},
		}}, nil
	}

	p, ok, err := e.problem(ctx, now, order)
	if err != nil {
		return nil, err
	}

	lost, isLost, err := e.lostParcel(ctx, order, p.Execution)
	if err != nil {
		return nil, err
	}

	// An overdue wait is explained by the lost parcel, so the order is listed once. A failed
	// execution is listed beside the loss.
	if ok && (!isLost || p.Kind != Overdue) {
		all = append(all, p)
	}

	if isLost {
		all = append(all, lost)
	}

	return all, nil
}

// problem says what is wrong with the execution of an order that is not settled. ok is false if
// nothing is wrong.
func (e *Executions) problem(ctx context.Context, now time.Time, order *transitions.Order) (p Problem, ok bool, err error) {
	current, exists, err := e.currentOf(ctx, order)
	if err != nil {
		return Problem{}, false, err
	}

	p = Problem{OrderID: order.ID, State: order.State, Since: order.UpdatedAt}
	if exists {
		p.Execution = &current
	}
	// In a terminal state the order cannot move, but the execution may still have compensations to
	// make.
	terminal := e.cfg.Orders.Definition().Terminal(order.State)
	repair := "ratchet executions repair " + order.ID.Arg()

	switch {
	case !exists && terminal && !e.endedPaid(order):
		return Problem{}, false, nil // nothing was begun for it
	case !exists:
		age := now.Sub(order.UpdatedAt)

		p.Kind, p.Cause = Missing, "the order has no execution"
		if terminal {
			p.Cause = fmt.Sprintf("the order became %s after it was paid, and has no execution that undoes it", order.State)
		}
		p.Commands = []string{repair}

		// Step Functions forgets an execution 90 days after its end, and an order that ended longer
		// ago may have had one. So only an order that ended less than 89 days ago is reported.
		return p, age >= startWithin && (!terminal || age < forgottenAfter), nil
	case current.Failed():
		p.Kind, p.Since, p.Cause = Failed, current.StoppedAt, failure(current)
		if current.NotRedrivable == "" {
			p.Commands = []string{"ratchet executions redrive " + order.ID.Arg(), repair + " --successor"}
		} else {
			p.Cause += "; not redrivable: " + current.NotRedrivable
			p.Commands = []string{repair}
		}

		return p, true, nil
	case current.Status == types.ExecutionStatusSucceeded && !terminal:
		p.Kind, p.Since = Ended, current.StoppedAt
		p.Cause = fmt.Sprintf("the execution has ended and the order is %s", order.State)
		p.Commands = []string{repair}

		return p, true, nil
	}

	// Here the execution runs, or it has succeeded together with its order; then overdue is false.
	p.Kind = Overdue
	p.Cause = fmt.Sprintf("%s since %s, while the execution waits", order.State, order.UpdatedAt.UTC().Format(time.RFC3339))
	p.Commands = []string{"ratchet orders explain " + order.ID.Arg(), "ratchet executions get " + order.ID.Arg()}

	within := e.deadline(order.State)
	if terminal {
		// The order cannot move, so nothing ends the execution's wait.
		within = endWithin
	}
	overdue := current.Status == types.ExecutionStatusRunning && now.Sub(order.UpdatedAt) >= within

	return p, overdue, nil
}

// forgottenAfter is less than the 90 days for which Step Functions knows an execution after its end.
const forgottenAfter = 89 * 24 * time.Hour

// endedPaid reports whether the order waited for its shipment, or was under way, when it ended: its shipment
// may be booked and its pieces reserved.
func (e *Executions) endedPaid(order *transitions.Order) bool {
	d, before := e.cfg.Orders.Definition(), order.PreviousState

	return d.AwaitsShipment(before) || d.HoldsShipment(before) || slices.Contains(e.underWay(), before)
}

// deadline is how long an execution may run without moving an order in the state: the deadline of the shop's waits
// for the delivery and for everything else.
func (e *Executions) deadline(state workflow.State) time.Duration {
	if slices.Contains(e.cfg.Orders.Definition().Gone(), state) {
		return deliveryDeadline
	}

	return deadline
}

// failure says how an execution failed.
func failure(x Execution) string {
	text := string(x.Status)
	if x.Error != "" {
		text += " with " + x.Error
	}

	if x.Cause != "" {
		text += ": " + x.Cause
	}

	return text
}
