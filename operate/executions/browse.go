package executions

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/transitions"
)

// Listed is an execution as a list shows it.
type Listed struct {
	Name      string                `json:"name"`
	ARN       string                `json:"executionArn"`
	Status    types.ExecutionStatus `json:"status"`
	StartedAt time.Time             `json:"startDate"`
	StoppedAt time.Time             `json:"stopDate,omitzero"`
	Redrives  int                   `json:"redrives,omitempty"`
}

// List returns up to limit executions, 1 to 1,000, of the status, or of all if it is "", newest first. It continues
// after a former page; next is "" at the end. A position is valid for 24 hours and for the same arguments. It
// costs one ListExecutions.
func (e *Executions) List(ctx context.Context, status types.ExecutionStatus, after string, limit int) (page []Listed, next string, err error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return nil, "", err
	}

	in := &sfn.ListExecutionsInput{StateMachineArn: &machine, StatusFilter: status, MaxResults: int32(limit)}
	if after != "" {
		in.NextToken = &after
	}

	var out *sfn.ListExecutionsOutput

	err = asked(ctx, func() (err error) {
		out, err = e.cfg.SFN.ListExecutions(ctx, in)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list executions: %w", err)
	}

	for _, x := range out.Executions {
		page = append(page, Listed{
			Name:      aws.ToString(x.Name),
			ARN:       aws.ToString(x.ExecutionArn),
			Status:    x.Status,
			StartedAt: aws.ToTime(x.StartDate).UTC(),
			StoppedAt: aws.ToTime(x.StopDate).UTC(),
			Redrives:  int(aws.ToInt32(x.RedriveCount)),
		})
	}

	return page, aws.ToString(out.NextToken), nil
}

// Find returns the execution with the name. It costs one DescribeExecution.
func (e *Executions) Find(ctx context.Context, name string) (x Execution, found bool, err error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return Execution{}, false, err
	}

	return e.describeNamed(ctx, machine, name)
}

// Chain returns up to limit executions of the order's chain, beginning with the number from, oldest first. next is the
// number at which the chain goes on, 0 at its end. It costs one DescribeExecution for each, and one for the end.
func (e *Executions) Chain(ctx context.Context, id transitions.OrderID, from, limit int) (chain []Execution, next int, err error) {
	machine, err := e.cfg.Machine(ctx)
	if err != nil {
		return nil, 0, err
	}

	for number := max(from, 1); ; number++ {
		if len(chain) == limit {
			return chain, number, nil
		}

		x, exists, err := e.describe(ctx, machine, id, number)
		if err != nil || !exists {
			return chain, 0, err
		}
		chain = append(chain, x)
	}
}

// Event is an event of an execution's history.
type Event struct {
	ID         int64     `json:"id"`
	PreviousID int64     `json:"previousId,omitempty"`
	Type       string    `json:"type"`
	At         time.Time `json:"at"`
	// State is the state that was entered or left.
	State    string `json:"state,omitempty"`
	Resource string `json:"resource,omitempty"`
	Error    string `json:"error,omitempty"`
	Cause    string `json:"cause,omitempty"`
	// Input and Output contain the content of the order.
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
}

// HistoryPage selects events of a history.
type HistoryPage struct {
	// After is the position at which the page before has ended, valid for 24 hours.
	After string
	// Limit is 1 to 1,000.
	Limit       int
	NewestFirst bool
	// Data asks for inputs and outputs, too.
	Data bool
}

// History returns a page of the history of the execution with the ARN. next is "" at the end. It costs one
// GetExecutionHistory.
func (e *Executions) History(ctx context.Context, arn string, p HistoryPage) (events []Event, next string, err error) {
	in := &sfn.GetExecutionHistoryInput{
		ExecutionArn:         &arn,
		MaxResults:           int32(p.Limit),
		ReverseOrder:         p.NewestFirst,
		IncludeExecutionData: &p.Data,
	}
	if p.After != "" {
		in.NextToken = &p.After
	}

	var out *sfn.GetExecutionHistoryOutput

	err = asked(ctx, func() (err error) {
		out, err = e.cfg.SFN.GetExecutionHistory(ctx, in)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("history of execution %s: %w", arn, err)
	}

	for _, h := range out.Events {
		events = append(events, eventOf(h))
	}

	return events, aws.ToString(out.NextToken), nil
}

// eventOf returns an event with what its details have. Each type of event has details of its own, in a field of its
// own, with members of the same names.
func eventOf(h types.HistoryEvent) Event {
	out := Event{ID: h.Id, PreviousID: h.PreviousEventId, Type: string(h.Type), At: aws.ToTime(h.Timestamp).UTC()}

	fields := reflect.ValueOf(h)
	for i := range fields.NumField() {
		details := fields.Field(i)
		if details.Kind() != reflect.Pointer || details.IsNil() || details.Elem().Kind() != reflect.Struct || details.Type() == reflect.TypeFor[*time.Time]() {
			continue
		}

		for name, into := range map[string]*string{
			"Name": &out.State, "Resource": &out.Resource, "Error": &out.Error, "Cause": &out.Cause, "Input": &out.Input, "Output": &out.Output,
		} {
			if text, is := memberOf(details.Elem(), name); is {
				*into = text
			}
		}
	}

	return out
}

// memberOf returns the text of a member of the details, false if they have none.
func memberOf(details reflect.Value, name string) (string, bool) {
	member := details.FieldByName(name)
	if !member.IsValid() {
		return "", false
	}

	text, is := member.Interface().(*string)

	return aws.ToString(text), is && text != nil
}
