package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/operate/executions"
)

const (
	// executionsPerSecond and executionsAtOnce are how many calls of Step Functions these routes make, all callers
	// together. They are less than the quotas, which the workers and the surveys need, too.
	executionsPerSecond = 5
	executionsAtOnce    = 60
	// usualChain is how many descriptions it takes to see that an order has one execution.
	usualChain = 2
)

func (s *service) executionReadRoutes(h huma.API) {
	read := func(id, path, summary, description string) route {
		return route{
			id: id, method: http.MethodGet, path: path, tag: "executions", scope: auth.Read, status: http.StatusOK,
			errors: []int{http.StatusNotFound}, summary: summary, description: description,
		}
	}

	const quota = " These routes make at most 5 calls of Step Functions a second in bursts of 60; beyond that the answer is 429 rate_limited."

	register(s, h, read("list-executions", "/v1/executions", "List executions, newest first",
		"A page examines up to 20 executions of all tenants, and shows those of the caller's: it may be shorter than the limit, even empty, and have a next one. A cursor is valid for 24 hours."+quota), s.listExecutions)
	register(s, h, read("get-execution", "/v1/executions/{execution}", "Read an execution, and a page of its history",
		"A cursor of the history is valid for 24 hours. Input and output contain the content of the order."+quota), s.getExecution)
	register(s, h, read("list-order-executions", "/v1/orders/{orderId}/executions", "List the executions of an order, oldest first",
		"The first one, and the successors that have adopted the order, also of former lives of the id. Step Functions forgets an execution 90 days after its end."+quota), s.listOrderExecutions)
}

// newExecutionCalls limits the calls of Step Functions.
func newExecutionCalls() *rate.Limiter { return rate.NewLimiter(executionsPerSecond, executionsAtOnce) }

// takeExecutionCalls takes a part of the quota. It returns a problem if there is too little left.
func (s *service) takeExecutionCalls(n int) error {
	if s.cfg.Executions == nil {
		return notFound("execution")
	}

	if !s.executionCalls.AllowN(time.Now(), n) {
		return newProblem(http.StatusTooManyRequests, "rate_limited", "Too many questions about executions at once: Step Functions has a quota. Nothing was asked.").
			retryAfter(max(1, n/executionsPerSecond))
	}

	return nil
}

// ownsExecution reports whether the tenant may see the execution: that of the order in its input. One whose input
// names no order belongs to the default tenant.
func (t tenant) ownsExecution(x executions.Execution) bool {
	if x.OrderID() == "" {
		return t.owner() == ""
	}

	_, own := t.ownID(string(x.OrderID()))

	return own
}

type listExecutionsInput struct {
	Status string `query:"status" enum:"RUNNING,SUCCEEDED,FAILED,TIMED_OUT,ABORTED" doc:"Only executions with this status."`
	Limit  int    `query:"limit" minimum:"1" maximum:"20" default:"10" doc:"The largest number of entries."`
	Cursor string `query:"cursor" minLength:"1" maxLength:"8192" pattern:"^[A-Za-z0-9_-]+$" doc:"The next of the previous page. Opaque, and valid for the same list only."`
}

type listExecutionsOutput struct {
	Body struct {
		Executions []executionShown `json:"executions"`
		Next       string           `json:"next,omitempty" doc:"The cursor of the next page. Absent at the end."`
	}
}

// listExecutions lists one page of Step Functions and describes each execution of it: only the description says
// whose order it is about.
func (s *service) listExecutions(ctx context.Context, c caller, in *listExecutionsInput) (*listExecutionsOutput, error) {
	binding := []string{"executions", string(c.tenant), in.Status}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	if err := s.takeExecutionCalls(1 + in.Limit); err != nil {
		return nil, err
	}

	page, next, err := s.cfg.Executions.List(ctx, types.ExecutionStatus(in.Status), position, in.Limit)
	if err != nil {
		return nil, err
	}

	out := &listExecutionsOutput{}
	out.Body.Executions, out.Body.Next = []executionShown{}, s.cursors.seal(next, binding...)

	for _, listed := range page {
		x, found, err := s.cfg.Executions.Find(ctx, listed.Name)
		if err != nil {
			return nil, err
		}

		if found && c.tenant.ownsExecution(x) {
			out.Body.Executions = append(out.Body.Executions, c.tenant.showExecution(x))
		}
	}

	return out, nil
}

type getExecutionInput struct {
	Execution string `path:"execution" minLength:"1" maxLength:"80" pattern:"^[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*$" example:"o-1"`
	Limit     int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"The largest number of events."`
	Cursor    string `query:"cursor" minLength:"1" maxLength:"8192" pattern:"^[A-Za-z0-9_-]+$" doc:"The next of the previous page of events. Opaque, and valid for the same history only."`
	Newest    bool   `query:"newest" doc:"The newest events first."`
}

// executionEvent is an event of an execution's history.
type executionEvent struct {
	ID         int64           `json:"id"`
	PreviousID int64           `json:"previousId,omitempty"`
	Type       string          `json:"type" doc:"The type that Step Functions gives the event." example:"TaskStateEntered"`
	At         time.Time       `json:"at"`
	State      string          `json:"state,omitempty" doc:"The state of the state machine that was entered or left."`
	Resource   string          `json:"resource,omitempty" doc:"The ARN of an activity, or the name of an integration."`
	Error      string          `json:"error,omitempty" personal:"code"`
	Cause      string          `json:"cause,omitempty" personal:"text"`
	Input      json.RawMessage `json:"input,omitempty" personal:"text" doc:"It contains the content of the order."`
	Output     json.RawMessage `json:"output,omitempty" personal:"text" doc:"As input."`
}

type getExecutionOutput struct {
	Body struct {
		Execution executionShown   `json:"execution"`
		Input     json.RawMessage  `json:"input,omitempty" personal:"text" doc:"It contains the content of the order."`
		Output    json.RawMessage  `json:"output,omitempty" personal:"text" doc:"As input. Absent until it has succeeded."`
		Events    []executionEvent `json:"events"`
		Next      string           `json:"next,omitempty" doc:"The cursor of the next page of events. Absent at the end."`
	}
}

func (s *service) getExecution(ctx context.Context, c caller, in *getExecutionInput) (*getExecutionOutput, error) {
	binding := []string{"execution", string(c.tenant), in.Execution, strconv.FormatBool(in.Newest)}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	if err := s.takeExecutionCalls(2); err != nil {
		return nil, err
	}

	x, found, err := s.cfg.Executions.Find(ctx, in.Execution)
	if err != nil {
		return nil, err
	}

	if !found || !c.tenant.ownsExecution(x) {
		return nil, notFound("execution")
	}

	// Without the grant the data is not even read.
	events, next, err := s.cfg.Executions.History(ctx, x.ARN, executions.HistoryPage{
		After: position, Limit: in.Limit, NewestFirst: in.Newest, Data: c.Personal,
	})
	if err != nil {
		return nil, err
	}

	out := &getExecutionOutput{}
	out.Body.Execution, out.Body.Input, out.Body.Output = c.tenant.showExecution(x), anyJSON(x.Input), anyJSON(x.Output)
	out.Body.Events, out.Body.Next = make([]executionEvent, len(events)), s.cursors.seal(next, binding...)

	for i, e := range events {
		out.Body.Events[i] = executionEvent{
			ID: e.ID, PreviousID: e.PreviousID, Type: e.Type, At: e.At, State: e.State, Resource: e.Resource,
			Error: e.Error, Cause: e.Cause, Input: anyJSON(e.Input), Output: anyJSON(e.Output),
		}
	}

	return out, nil
}

// anyJSON returns a text as JSON: itself if it is JSON, else a string; nil for "".
func anyJSON(text string) json.RawMessage {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}

	quoted, _ := json.Marshal(text) // a string is always JSON

	return quoted
}

type listOrderExecutionsInput struct {
	input.Order
	Limit  int    `query:"limit" minimum:"1" maximum:"20" default:"10" doc:"The largest number of entries."`
	Cursor string `query:"cursor" minLength:"1" maxLength:"1024" pattern:"^[A-Za-z0-9_-]+$" doc:"The next of the previous page. Opaque, and valid for the same list only."`
}

func (s *service) listOrderExecutions(ctx context.Context, c caller, in *listOrderExecutionsInput) (*listExecutionsOutput, error) {
	binding := []string{"order-executions", string(c.tenant), in.OrderID}

	position, p := s.cursors.open(in.Cursor, binding...)
	if p != nil {
		return nil, p
	}

	// Nearly every order has one execution.
	if err := s.takeExecutionCalls(usualChain); err != nil {
		return nil, err
	}

	from, _ := strconv.Atoi(position) // "" is the beginning

	chain, next, err := s.cfg.Executions.Chain(ctx, c.tenant.orderID(in.OrderID), from, in.Limit)
	if err != nil {
		return nil, err
	}

	if more := len(chain) + 1 - usualChain; more > 0 {
		s.executionCalls.ReserveN(time.Now(), more) // the next callers wait for it
	}

	out := &listExecutionsOutput{}
	out.Body.Executions = []executionShown{}

	for _, x := range chain {
		// An execution may have the name of an order's, and another order, of another tenant, in its input.
		if c.tenant.ownsExecution(x) {
			out.Body.Executions = append(out.Body.Executions, c.tenant.showExecution(x))
		}
	}

	if next > 0 {
		out.Body.Next = s.cursors.seal(strconv.Itoa(next), binding...)
	}

	if from > 0 || len(out.Body.Executions) > 0 {
		return out, nil
	}

	// An order without an execution has an empty list, and an unknown order has none.
	_, err = s.getOwnOrder(ctx, c, in.OrderID)

	return out, err
}
