package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/executions"
	"ratchet/transitions"
)

func (s *service) executionRoutes(h huma.API) {
	verb := func(id, path, summary, description string) route {
		return adminVerb("executions", id, http.MethodPost, "/v1/orders/{orderId}/execution/"+path, summary, description, "orderId").mayConflict()
	}
	const unplaced = "An execution that failed before its order existed has the order's id, or its own name where that is another one."

	register(s, h, verb("redrive-execution", "redrive", "Redrive the failed execution of an order",
		"Step Functions runs the failed state again. Of two requests for the same failure one redrives. "+unplaced), s.redriveExecution)
	register(s, h, verb("repair-execution", "repair", "Make an order move again that its execution no longer brings on",
		"The execution is redriven if Step Functions allows that, else a successor adopts the order where it is. "+unplaced).withBody(), s.repairExecution)

	register(s, h, route{
		id:          "preview-repair",
		method:      http.MethodGet,
		path:        "/v1/orders/{orderId}/execution/repair",
		tag:         "executions",
		scope:       auth.Admin,
		status:      http.StatusOK,
		errors:      []int{http.StatusNotFound, http.StatusConflict},
		summary:     "Show what a repair of the order's execution would do now, step by step",
		description: "Nothing changes. A repair that would be refused is refused in the same way here.",
	}, s.previewRepair)
}

// executionShown is an execution without its input, which has the content of the order.
type executionShown struct {
	Name          string     `json:"name"`
	OrderID       string     `json:"orderId,omitempty" doc:"The order in its input. Absent if the input names none."`
	Number        int        `json:"number,omitempty" doc:"Its place among the executions of the order: 1 for the first, more for successors. Absent if it is not known."`
	Status        string     `json:"status" doc:"RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED."`
	Error         string     `json:"error,omitempty" personal:"code"`
	Cause         string     `json:"cause,omitempty" personal:"text" doc:"Why it failed."`
	StartedAt     time.Time  `json:"startedAt"`
	StoppedAt     *time.Time `json:"stoppedAt,omitempty"`
	Redrives      int        `json:"redrives,omitempty"`
	NotRedrivable string     `json:"notRedrivable,omitempty" personal:"text" doc:"Why Step Functions refuses a redrive."`
}

func (t tenant) showExecution(x executions.Execution) executionShown {
	order, _ := t.ownID(string(x.OrderID()))

	return executionShown{
		Name: x.Name, OrderID: order, Number: x.Number, Status: string(x.Status), Error: x.Error, Cause: t.ownWords(x.Cause),
		StartedAt: x.StartedAt, StoppedAt: optionalTime(x.StoppedAt), Redrives: x.Redrives, NotRedrivable: t.ownWords(x.NotRedrivable),
	}
}

// unplaced is an execution whose order was never placed.
type unplaced struct {
	OrderID   string         `json:"orderId,omitempty" doc:"The order in the execution's input."`
	Kind      string         `json:"kind" enum:"failed,placing,ended" doc:"failed: a person has to look. placing: it runs, and may place the order."`
	Since     *time.Time     `json:"since,omitempty"`
	Cause     string         `json:"cause" personal:"text"`
	Commands  []string       `json:"commands" doc:"What brings it on. The first is the one to try first."`
	Execution executionShown `json:"execution"`
}

// explainUnplaced explains the execution that is to place the order. It fails with unknown if there is none,
// or if it is another tenant's.
func (s *service) explainUnplaced(ctx context.Context, c caller, id string, unknown error) (*explainOutput, error) {
	p, err := s.unplacedOf(ctx, c, id, unknown)
	if err != nil {
		return nil, err
	}

	own, _ := c.tenant.ownID(string(p.OrderID))
	shown := unplaced{
		OrderID: own, Kind: string(p.Kind), Since: optionalTime(p.Since), Cause: c.tenant.ownWords(p.Cause), Commands: []string{},
		Execution: c.tenant.showExecution(*p.Execution),
	}

	for _, command := range p.Commands {
		shown.Commands = append(shown.Commands, c.tenant.ownWords(command))
	}

	// A list is never null in JSON.
	return &explainOutput{explanation{Steps: []step{}, Options: []option{}, Due: []due{}, Timeline: []moment{}, Unplaced: &shown}}, nil
}

// unplacedOf returns the execution without an order that the caller may see under the id.
func (s *service) unplacedOf(ctx context.Context, c caller, id string, unknown error) (executions.Problem, error) {
	if s.cfg.Executions == nil {
		return executions.Problem{}, unknown
	}

	p, open, err := s.cfg.Executions.Unplaced(ctx, c.tenant.orderID(id))
	if err != nil {
		return executions.Problem{}, err
	}

	// The name of an execution does not say whose order it is to place. One whose input names no order
	// belongs to the default tenant.
	_, own := c.tenant.ownID(string(p.OrderID))
	if p.OrderID == "" {
		own = c.tenant.owner() == ""
	}

	if !open || !own {
		return executions.Problem{}, unknown
	}

	return p, nil
}

type redriveExecutionInput struct {
	input.Order
	input.MayBeKeyed
}

type repairExecutionInput struct {
	input.Order
	input.MayBeKeyed
	Body struct {
		Successor bool `json:"successor,omitempty" doc:"Start a successor also where a redrive is possible: if the state machine itself was wrong."`
	}
}

type repairExecutionOutput struct {
	input.Repeat
	Body struct {
		Action    string         `json:"action" enum:"redriven,successor started,started"`
		Execution executionShown `json:"execution" doc:"As it was before a redrive, or the one that was started."`
	}
}

func (s *service) redriveExecution(ctx context.Context, c caller, in *redriveExecutionInput) (*repairExecutionOutput, error) {
	id, err := s.ownExecution(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	x, err := s.cfg.Executions.Redrive(ctx, id)

	return repairedOutput(c, executions.Redriven, x, err)
}

func (s *service) repairExecution(ctx context.Context, c caller, in *repairExecutionInput) (*repairExecutionOutput, error) {
	id, err := s.ownExecution(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	action, x, err := s.cfg.Executions.Repair(ctx, id, in.Body.Successor)

	return repairedOutput(c, action, x, err)
}

type previewRepairInput struct {
	input.Order
	Successor bool `query:"successor" doc:"Of a repair that starts a successor also where a redrive is possible."`
}

type previewRepairOutput struct {
	Body struct {
		Action    string          `json:"action" enum:"redriven,successor started,started" doc:"The action that the answer of the repair would have."`
		Execution *executionShown `json:"execution,omitempty" doc:"The one that is redriven, or behind which a successor starts. Absent if there is none."`
		Steps     []string        `json:"steps" doc:"What would happen, in words."`
	}
}

func (s *service) previewRepair(ctx context.Context, c caller, in *previewRepairInput) (*previewRepairOutput, error) {
	id, err := s.ownExecution(ctx, c, in.OrderID)
	if err != nil {
		return nil, err
	}

	plan, err := s.cfg.Executions.PlanRepair(ctx, id, in.Successor)
	if err != nil {
		return nil, err
	}

	out := &previewRepairOutput{}
	out.Body.Action = string(plan.Action)

	if plan.Execution.Name != "" {
		shown := c.tenant.showExecution(plan.Execution)
		out.Body.Execution = &shown
	}

	for _, step := range plan.Steps {
		out.Body.Steps = append(out.Body.Steps, c.tenant.ownWords(step))
	}

	return out, nil
}

func repairedOutput(c caller, action executions.Action, x executions.Execution, err error) (*repairExecutionOutput, error) {
	if err != nil {
		return nil, err
	}

	out := &repairExecutionOutput{}
	out.Body.Action, out.Body.Execution = string(action), c.tenant.showExecution(x)

	return out, nil
}

// ownExecution returns the stored id under which the execution of the caller's order is found. It fails
// with order_not_found if there is neither such an order nor an execution that is to place it.
func (s *service) ownExecution(ctx context.Context, c caller, id string) (transitions.OrderID, error) {
	if s.cfg.Executions == nil {
		return "", notFound("execution")
	}

	stored := c.tenant.orderID(id)

	_, exists, err := s.cfg.Orders.Get(ctx, stored)
	if exists || err != nil && !errors.Is(err, transitions.ErrInvalidRequest) {
		return stored, err
	}

	_, err = s.unplacedOf(ctx, c, id, transitions.ErrUnknownOrder)

	return stored, err
}
