package executions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"

	"ratchet/transitions"
)

const (
	// acceptWithin is longer than an execution may run before it has placed its order: all tries of Accept
	// with their pauses.
	acceptWithin = 3 * 24 * time.Hour
	// redriveWithin is how long after its end Step Functions redrives an execution.
	redriveWithin = 14 * 24 * time.Hour
	// withoutOrder is the longest time that an execution can be without its order and still place it, if
	// it is redriven at most once. A survey that sees it fail once more keeps the mark behind it.
	withoutOrder = acceptWithin + redriveWithin
)

// Mark says how far back a survey has to look for executions that have failed without an order: those that
// were started before have an order, or are gone.
type Mark struct {
	// From is a time: executions that were started before need no look.
	From time.Time `json:"from"`
	// Held is when the oldest execution was started that had no order, zero if there is none. Until is how
	// long it keeps From, although no survey sees it: it may run again.
	Held  time.Time `json:"held,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// after returns the mark after a survey at now, whose oldest execution without an order was started at
// oldest; zero if there was none.
func (m Mark) after(now, oldest time.Time) Mark {
	next := Mark{From: now.Add(-withoutOrder)}

	switch {
	case !oldest.IsZero():
		next.Held, next.Until = oldest, now.Add(acceptWithin)
	case now.Before(m.Until):
		next.Held, next.Until = m.Held, m.Until
	}

	if !next.Held.IsZero() && next.Held.Before(next.From) {
		next.From = next.Held
	}

	// A clock that goes back must not make surveys longer.
	if next.From.Before(m.From) {
		next.From = m.From
	}

	return next
}

// failedStatuses are the statuses of executions that have failed.
var failedStatuses = []types.ExecutionStatus{types.ExecutionStatusFailed, types.ExecutionStatusTimedOut, types.ExecutionStatusAborted}

// surveyRequests calls found for each execution that has failed and whose order does not exist, newest
// first, up to the mark. With Filter.Advance it then stores the next mark.
func (e *Executions) surveyRequests(ctx context.Context, now time.Time, f Filter, found func(Problem) error) error {
	var mark Mark
	var err error
	if e.cfg.Marks != nil {
		if mark, err = e.cfg.Marks.Mark(ctx); err != nil {
			return err
		}
	}

	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return err
	}

	var mu sync.Mutex
	var oldest time.Time

	look := func(ctx context.Context, listed types.ExecutionListItem) error {
		p, open, err := e.unplaced(ctx, machine, aws.ToString(listed.Name))
		if err != nil || !open {
			return err
		}

		mu.Lock()
		defer mu.Unlock()

		if started := aws.ToTime(listed.StartDate); oldest.IsZero() || started.Before(oldest) {
			oldest = started
		}

		// One that runs again is no problem, and keeps the mark. A later one is listed by its own name.
		if p.Kind != Failed || p.Execution.Name != aws.ToString(listed.Name) || !f.selects(p) {
			return nil
		}

		return found(p)
	}

	for _, status := range failedStatuses {
		if err := e.listFailed(ctx, machine, status, mark.From, look); err != nil {
			return err
		}
	}

	if e.cfg.Marks == nil || !f.Advance {
		return nil
	}

	return e.cfg.Marks.SetMark(ctx, mark, mark.after(now, oldest))
}

// listFailed calls look for each execution with the status that was started at from or later, newest first,
// several at once.
func (e *Executions) listFailed(ctx context.Context, machine string, status types.ExecutionStatus, from time.Time, look func(context.Context, types.ExecutionListItem) error) error {
	in := &sfn.ListExecutionsInput{StateMachineArn: &machine, StatusFilter: status, MaxResults: 100}

	for {
		var page *sfn.ListExecutionsOutput

		err := asked(ctx, func() (err error) {
			page, err = e.cfg.SFN.ListExecutions(ctx, in)
			return err
		})
		if err != nil {
			return fmt.Errorf("list executions that are %s: %w", status, err)
		}

		group, each := errgroup.WithContext(ctx)
		group.SetLimit(surveyCalls)

		for _, listed := range page.Executions {
			if aws.ToTime(listed.StartDate).Before(from) {
				return group.Wait() // the list is sorted by the start
			}

			group.Go(func() error { return look(each, listed) })
		}

		if err := group.Wait(); err != nil || page.NextToken == nil {
			return err
		}
		in.NextToken = page.NextToken
	}
}

// Unplaced returns the execution that is to place an order which does not exist, with its state: it has
// Failed, it runs (Placing), or it has Ended all the same. The name is the order's id, or the name of the
// execution if it has another one. It reports false if there is no such execution, or if its order exists
// or existed.
func (e *Executions) Unplaced(ctx context.Context, name transitions.OrderID) (Problem, bool, error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return Problem{}, false, err
	}

	p, open, err := e.unplaced(ctx, machine, Name(name))

	return p, open && p.Execution != nil, err
}

// unplaced looks at the execution with the name. Open is true if its order does not exist and never has. If
// the order's chain has gone on, the problem is that of its last execution; it has none if that one was
// started later under another name, under which it is listed.
func (e *Executions) unplaced(ctx context.Context, machine, name string) (p Problem, open bool, err error) {
	first, exists, err := e.describeNamed(ctx, machine, name)
	if err != nil || !exists {
		return Problem{}, false, err
	}

	id := first.OrderID()
	if id == "" {
		return unplacedProblem(id, first, "its input names no order"), first.Failed(), nil
	}

	if existed, err := e.existed(ctx, id); err != nil || existed {
		return Problem{}, false, err
	}

	// The chain of the order may have gone on: only its last execution counts.
	current, found, err := e.last(ctx, id, func(Execution) bool { return true })
	switch {
	case err != nil:
		return Problem{}, false, err
	case found && !current.Failed():
		return placing(id, current), true, nil
	case found && (Name(id) == name || current.Name == name):
		first = current
	case found && current.StartedAt.After(first.StartedAt):
		return Problem{OrderID: id}, true, nil // the later one is listed by its own name
	}

	if !first.Failed() {
		return placing(id, first), true, nil
	}

	return unplacedProblem(id, first, "order "+string(id)+" was not placed"), true, nil
}

// placing is the state of an execution that has not failed, and whose order does not exist.
func placing(id transitions.OrderID, x Execution) Problem {
	p := Problem{OrderID: id, Kind: Placing, Since: x.StartedAt, Cause: "the execution runs, and has not placed its order yet", Execution: &x}
	if x.Status != types.ExecutionStatusRunning {
		p.Kind, p.Since, p.Cause = Ended, x.StoppedAt, fmt.Sprintf("the execution is %s, and its order was not placed", x.Status)
	}
	p.Commands = []string{"ratchet executions get " + string(p.Ref())}

	return p
}

// unplacedProblem is the problem of an execution without an order.
func unplacedProblem(id transitions.OrderID, x Execution, why string) Problem {
	p := Problem{OrderID: id, Kind: Failed, Since: x.StoppedAt, Cause: failure(x) + "; " + why, Execution: &x}
	ref := string(p.Ref())
	repair := "ratchet executions repair " + ref

	switch {
	case x.NotRedrivable == "":
		p.Commands = []string{"ratchet executions redrive " + ref, repair + " --successor"}
	case id != "":
		p.Cause += "; not redrivable: " + x.NotRedrivable
		p.Commands = []string{repair}
	}

	return p
}

// existed reports whether the order exists or was deleted.
func (e *Executions) existed(ctx context.Context, id transitions.OrderID) (bool, error) {
	_, exists, err := e.cfg.Orders.Get(ctx, id)
	// An item that cannot be read is one that exists.
	if exists || errors.Is(err, transitions.ErrUnreadable) {
		return true, nil
	}

	if errors.Is(err, transitions.ErrInvalidRequest) {
		return false, nil // no order can have this id
	}

	if err != nil || !e.cfg.Orders.HasJournal() {
		return false, err
	}

	// The journal keeps the history of an order that was deleted.
	placed, err := e.cfg.Orders.History(ctx, id, 0, 1)

	return len(placed) > 0, err
}

// OrderID returns the id of the order in the execution's input, "" if the input has none.
func (e Execution) OrderID() transitions.OrderID {
	var input struct {
		OrderID transitions.OrderID `json:"orderId"`
	}

	if json.Unmarshal([]byte(e.Input), &input) != nil {
		return ""
	}

	return input.OrderID
}

// decideUnplaced decides how an execution that has failed before its order existed is brought on: by a
// redrive, or by a successor with the same input.
func (e *Executions) decideUnplaced(ctx context.Context, name transitions.OrderID, successor bool) (repair, error) {
	p, open, err := e.Unplaced(ctx, name)
	switch {
	case err != nil:
		return repair{}, err
	case !open:
		return repair{}, fmt.Errorf("order %s: %w", name, transitions.ErrUnknownOrder)
	}

	r := repair{action: SuccessorStarted, current: *p.Execution, placed: p.OrderID}
	x := r.current

	switch {
	case p.Kind != Failed:
		return r, fmt.Errorf("repair execution %s, which is %s: %w", x.Name, x.Status, ErrHealthy)
	case x.NotRedrivable == "" && !successor:
		r.action = Redriven
	case p.OrderID == "":
		return r, fmt.Errorf("repair execution %s: %w: its input names no order", x.Name, ErrNotRedrivable)
	}

	return r, nil
}

// succeedUnplaced starts a successor of an execution that has failed before its order existed.
func (e *Executions) succeedUnplaced(ctx context.Context, r repair) (Action, Execution, error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return "", Execution{}, err
	}

	last, _, err := e.last(ctx, r.placed, func(Execution) bool { return true })
	if err != nil {
		return "", Execution{}, err
	}

	next, err := e.startNumber(ctx, machine, r.placed, last.Number+1, r.current.Input)

	return SuccessorStarted, next, err
}
