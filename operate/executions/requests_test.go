package executions_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/operate/executions"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

// marks keeps the mark in memory.
type marks struct{ mark executions.Mark }

func (m *marks) Mark(context.Context) (executions.Mark, error) { return m.mark, nil }

func (m *marks) SetMark(_ context.Context, _, next executions.Mark) error {
	m.mark = next
	return nil
}

// request starts an execution as an order service does, without placing its order.
func (e *orderExecutions) request(name, input string) {
	e.t.Helper()

	if _, err := e.sfn.StartExecution(e.t.Context(), &sfn.StartExecutionInput{StateMachineArn: &e.machine, Name: &name, Input: &input}); err != nil {
		e.t.Fatal(err)
	}

	for {
		out, err := e.sfn.DescribeExecution(e.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: aws.String(strings.Replace(e.machine, ":stateMachine:", ":execution:", 1) + ":" + name)})
		if err != nil {
			e.t.Fatal(err)
		}

		if out.Status != types.ExecutionStatusRunning || strings.HasPrefix(input, `{"orderId":"wait`) {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// listed returns the problems of a survey as text.
func (e *orderExecutions) listed(f executions.Filter) (all []string, problems []executions.Problem) {
	e.t.Helper()

	err := e.Survey(e.t.Context(), time.Now(), f, func(p executions.Problem) error {
		all = append(all, string(p.Ref())+" "+string(p.OrderID)+" "+string(p.Kind))
		problems = append(problems, p)

		return nil
	}, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	slices.Sort(all)

	return all, problems
}

// TestAnExecutionThatFailsBeforeItsOrderExistsIsListed, by its order or by its name, and redriven and
// repaired by that.
func TestAnExecutionThatFailsBeforeItsOrderExistsIsListed(t *testing.T) {
	e := newOrderExecutions(t)
	e.request("o-1", `{"orderId":"o-1"}`)
	e.request("run-17", `{"orderId":"o-2"}`)
	e.request("run-18", `{"other":1}`)
	e.request("wait-1", `{"orderId":"wait-1"}`)
	e.place("o-3") // its execution fails, and its order exists
	e.ended("o-3")

	want := []string{"o-1 o-1 failed", "o-3 o-3 failed", "run-17 o-2 failed", "run-18  failed"}
	if got, _ := e.listed(executions.Filter{}); !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}

	for _, name := range []transitions.OrderID{"o-1", "run-17"} {
		p, open, err := e.Unplaced(t.Context(), name)
		if err != nil || !open || !strings.Contains(p.Cause, "was not placed") || p.Commands[0] != "ratchet executions redrive "+string(name) {
			t.Errorf("%s: %+v, %t, %v", name, p, open, err)
		}
	}

	if got, _ := e.listed(executions.Filter{Orders: []transitions.OrderID{"o-1"}}); !slices.Equal(got, want[:1]) {
		t.Errorf("by its order: %q", got)
	}

	if err := e.Survey(t.Context(), time.Now(), executions.Filter{Orders: []transitions.OrderID{"none"}}, nil, nil); !errors.Is(err, transitions.ErrUnknownOrder) {
		t.Errorf("an order that was never asked for: %v", err)
	}

	// After the repair of the cause each goes on by its id.
	embeddedtest.Create(t, e.db, transitions.Mapping{}.OrdersTable("gate"))

	for name, want := range map[transitions.OrderID]executions.Action{"o-1": executions.Redriven, "run-17": executions.SuccessorStarted} {
		action, x, err := e.Repair(t.Context(), name, want == executions.SuccessorStarted)
		if err != nil || action != want {
			t.Errorf("%s: %s %+v, %v", name, action, x, err)
		}
	}

	for _, id := range []transitions.OrderID{"o-1", "o-2"} {
		if x := e.ended(id); x.Status != types.ExecutionStatusSucceeded {
			t.Errorf("%s: %+v", id, x)
		}
	}

	if got, _ := e.listed(executions.Filter{Orders: []transitions.OrderID{"o-3"}}); !slices.Equal(got, want[1:2]) {
		t.Errorf("an order that exists: %q", got)
	}
}

// TestAnOrderThatWasDeletedWasPlaced: its journal says so, and its failed execution is no request.
func TestAnOrderThatWasDeletedWasPlaced(t *testing.T) {
	e := newOrderExecutions(t)
	e.orders = e.kit.Orders(shop.Journal(transitions.JournalTransactional))
	e.place("o-1")
	e.ended("o-1")

	if _, err := e.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: dynamo.Item{"orderId": dynamo.S("o-1")}}); err != nil {
		t.Fatal(err)
	}

	if got, _ := e.listed(executions.Filter{}); len(got) > 0 {
		t.Errorf("listed %q", got)
	}
}

// TestTheMarkKeepsWhatHasNoOrder: it trails by the longest time that an execution can be without its order,
// and stays behind one that a survey has seen without, as long as that may run again.
func TestTheMarkKeepsWhatHasNoOrder(t *testing.T) {
	e := newOrderExecutions(t)
	m := &marks{}

	var err error
	e.Executions, err = executions.New(executions.Config{
		SFN: e.sfn, Orders: e.orders, Marks: m,
		Machine: func(context.Context) (string, error) { return e.machine, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	e.request("o-1", `{"orderId":"o-1"}`)

	began, day := time.Now(), 24*time.Hour
	survey := func(after time.Duration) (found int) {
		t.Helper()

		if err := e.Survey(t.Context(), began.Add(after), executions.Filter{Advance: true}, func(executions.Problem) error { found++; return nil }, nil); err != nil {
			t.Fatal(err)
		}

		return found
	}

	for _, after := range []time.Duration{0, 20 * day, 60 * day} {
		if survey(after) != 1 {
			t.Errorf("after %v the execution is not listed", after)
		}
	}

	// It is redriven, and runs while the next survey looks; then it fails again.
	redriven := m.mark
	if m.mark.From.After(began) || m.mark.Until.Before(began.Add(62*day)) {
		t.Errorf("the mark: %+v", redriven)
	}

	embeddedtest.Create(t, e.db, transitions.Mapping{}.OrdersTable("gate"))

	if _, err := e.Redrive(t.Context(), "o-1"); err != nil {
		t.Fatal(err)
	}
	e.ended("o-1")

	if survey(61 * day); m.mark.From.After(began) {
		t.Errorf("while it may run: %+v", m.mark)
	}

	if survey(70 * day); m.mark.From.Before(began.Add(50 * day)) {
		t.Errorf("long after: %+v", m.mark)
	}
}

// TestAcceptEndsBeforeTheMark: all tries of Accept with their pauses take less than the mark assumes.
func TestAcceptEndsBeforeTheMark(t *testing.T) {
	var machine struct {
		States map[string]struct {
			TimeoutSeconds float64
			Retry          []struct {
				IntervalSeconds, BackoffRate, MaxDelaySeconds, MaxAttempts float64
			}
		}
	}
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &machine); err != nil {
		t.Fatal(err)
	}

	accept := machine.States["Accept"]
	total := accept.TimeoutSeconds

	for _, r := range accept.Retry {
		pause := r.IntervalSeconds
		for range int(r.MaxAttempts) {
			total += pause + accept.TimeoutSeconds
			if pause *= r.BackoffRate; r.MaxDelaySeconds > 0 {
				pause = min(pause, r.MaxDelaySeconds)
			}
		}
	}

	if longest := time.Duration(total) * time.Second; longest < time.Hour || longest > executions.AcceptWithin {
		t.Errorf("Accept takes up to %v, the mark assumes %v", longest, executions.AcceptWithin)
	}
}
