package executions_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/executions"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine waits for a month with the orders whose ids begin with "wait", and with the orders whose
// ids begin with "adopted" once it adopts them. It fails with all others while there is no table
// "gate".
const machine = `{"StartAt":"Which","States":{
	"Which":{"Type":"Choice","Choices":[
		{"And":[{"Variable":"$.orderId","StringMatches":"adopted*"},{"Variable":"$.adopt","IsPresent":true}],"Next":"Wait"},
		{"Variable":"$.orderId","StringMatches":"wait*","Next":"Wait"},
		{"Variable":"$.orderId","StringMatches":"done*","Next":"Done"}],"Default":"Read"},
	"Wait":{"Type":"Wait","Seconds":2592000,"End":true},
	"Read":{"Type":"Task","Resource":"arn:aws:states:::aws-sdk:dynamodb:getItem","Parameters":{"TableName":"gate","Key":{"orderId":{"S.$":"$.orderId"}}},"End":true},
	"Done":{"Type":"Succeed"}}}`

// orderExecutions are the executions of one state machine on an engine of its own.
type orderExecutions struct {
	*executions.Executions
	kit     *shop.Shop
	orders  *transitions.Orders
	sfn     *sfn.Client
	db      *dynamodb.Client
	machine string
	t       *testing.T
}

func newOrderExecutions(t *testing.T) *orderExecutions {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	kit := shop.Over(t, engine.AWSConfig())
	e := &orderExecutions{t: t, kit: kit, sfn: kit.SFN, db: kit.DB, orders: kit.Orders()}

	m, err := e.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name:       aws.String("m"),
		RoleArn:    aws.String("arn:aws:iam::000000000000:role/r"),
		Definition: aws.String(machine),
	})
	if err != nil {
		t.Fatal(err)
	}
	e.machine = *m.StateMachineArn

	e.Executions, err = executions.New(executions.Config{
		SFN:     e.sfn,
		Orders:  e.orders,
		Machine: func(context.Context) (string, error) { return e.machine, nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	return e
}

func content(id transitions.OrderID) transitions.NewOrder {
	order := shop.Mugs(id, 1)
	order.Customer = "c-1"

	return order
}

// place creates an order and starts its execution.
func (e *orderExecutions) place(id transitions.OrderID) {
	e.t.Helper()

	if _, err := e.orders.Create(e.t.Context(), content(id)); err != nil {
		e.t.Fatal(err)
	}

	if _, err := e.Start(e.t.Context(), e.machine, content(id)); err != nil {
		e.t.Fatal(err)
	}
}

// ended waits until the order's current execution has ended.
func (e *orderExecutions) ended(id transitions.OrderID) executions.Execution {
	e.t.Helper()

	for {
		x, found, err := e.Current(e.t.Context(), id)
		if err != nil || !found {
			e.t.Fatalf("execution of %s: found %t, %v", id, found, err)
		}

		if x.Status != types.ExecutionStatusRunning {
			return x
		}

		select {
		case <-e.t.Context().Done():
			e.t.Fatal("the execution does not end")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// openGate creates the table that the machine needs to succeed.
func (e *orderExecutions) openGate() {
	e.t.Helper()
	embeddedtest.Create(e.t, e.db, transitions.Mapping{}.OrdersTable("gate"))
}

// survey returns the problems as lines of order and kind.
func (e *orderExecutions) survey(now time.Time, f executions.Filter) (lines []string, all []executions.Problem) {
	e.t.Helper()

	err := e.Survey(e.t.Context(), now, f, func(p executions.Problem) error {
		lines, all = append(lines, string(p.OrderID)+" "+string(p.Kind)), append(all, p)
		return nil
	}, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	slices.Sort(lines)

	return lines, all
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()

	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)

	if string(a) != string(b) {
		t.Errorf("%s: %s, want %s", what, a, b)
	}
}

func TestAStartSaysThatTheExecutionHasFailed(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("o-1")
	e.ended("o-1")

	_, err := e.Start(t.Context(), e.machine, content("o-1"))
	failed, is := errors.AsType[*executions.FailedError](err)

	if !is || failed.Execution.Error != "DynamoDb.ResourceNotFoundException" || !strings.Contains(err.Error(), "ratchet executions repair o-1") {
		t.Errorf("a repeated start: %v", err)
	}

	other := content("o-1")
	other.Total.Amount = 1
	if _, err := e.Start(t.Context(), e.machine, other); !errors.Is(err, executions.ErrOtherOrder) {
		t.Errorf("another order under the id: %v", err)
	}

	e.openGate()

	if _, err := e.Redrive(t.Context(), "o-1"); err != nil {
		t.Fatal(err)
	}
	e.ended("o-1")

	if arn, err := e.Start(t.Context(), e.machine, content("o-1")); err != nil || !strings.HasSuffix(arn, ":o-1") {
		t.Errorf("after the success: %s, %v", arn, err)
	}
}

//raced:here
func TestASurveyFindsWhatNobodyBringsOn(t *testing.T) {
	e := newOrderExecutions(t)
	for _, id := range []transitions.OrderID{"o-failed", "wait-1", "done-1", "o-canceled"} {
		e.place(id)
	}

	if _, err := e.orders.Create(t.Context(), content("o-alone")); err != nil {
		t.Fatal(err)
	}

	if r, err := e.orders.Apply(t.Context(), transitions.Request{OrderID: "o-canceled", Event: workflow.Cancel, TransitionID: 2}); err != nil || !r.Verdict.Done() {
		t.Fatal(r.Verdict, err)
	}

	for _, id := range []transitions.OrderID{"o-failed", "done-1", "o-canceled"} {
		e.ended(id)
	}

	soon, late := time.Now(), time.Now().Add(15*24*time.Hour)
	now, problems := e.survey(soon, executions.Filter{})
	equal(t, "now", now, []string{"done-1 ended", "o-canceled failed", "o-failed failed"})

	for _, p := range problems {
		if p.Cause == "" || len(p.Commands) == 0 || p.Since.IsZero() {
			t.Errorf("a person cannot act on %+v", p)
		}
	}

	later, _ := e.survey(late, executions.Filter{})
	equal(t, "two weeks later", later, []string{"done-1 ended", "o-alone missing", "o-canceled failed", "o-failed failed", "wait-1 overdue"})

	for _, row := range []struct {
		is     string
		filter executions.Filter
		want   []string
	}{
		{"by error", executions.Filter{Error: "DynamoDb.ResourceNotFoundException"}, []string{"o-canceled failed", "o-failed failed"}},
		{"by another error", executions.Filter{Error: "Order.Unknown"}, nil},
		{"by order", executions.Filter{Orders: []transitions.OrderID{"o-failed", "wait-1"}}, []string{"o-failed failed"}},
		{"since later", executions.Filter{Since: late}, nil},
		{"until then", executions.Filter{Until: late, Error: "DynamoDb.ResourceNotFoundException"}, []string{"o-canceled failed", "o-failed failed"}},
	} {
		got, _ := e.survey(soon, row.filter)
		equal(t, row.is, got, row.want)
	}

	err := e.Survey(t.Context(), soon, executions.Filter{Orders: []transitions.OrderID{"unknown"}}, nil, nil)
	if !errors.Is(err, transitions.ErrUnknownOrder) {
		t.Errorf("an order that does not exist: %v", err)
	}
}

func TestARepairRedrivesWhereItCanAndElseStartsASuccessor(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("o-1")
	e.ended("o-1")

	for _, successor := range []bool{false, true} {
		plan, err := e.PlanRepair(t.Context(), "o-1", successor)
		want := map[bool]executions.Action{false: executions.Redriven, true: executions.SuccessorStarted}[successor]

		if err != nil || plan.Action != want || plan.Execution.Name != "o-1" || len(plan.Steps) < 2 {
			t.Errorf("the plan with successor %t: %+v, %v", successor, plan, err)
		}
	}

	action, x, err := e.Repair(t.Context(), "o-1", false)
	equal(t, "a redrive", []any{action, x.Name, err}, []any{executions.Redriven, "o-1", nil})

	if x := e.ended("o-1"); x.Redrives != 1 || !x.Failed() {
		t.Errorf("the gate is closed: %+v", x)
	}

	action, first, err := e.Repair(t.Context(), "o-1", true)
	if err != nil || action != executions.SuccessorStarted || first.Number != 2 {
		t.Fatalf("a successor: %s %+v, %v", action, first, err)
	}
	e.ended("o-1")
	e.openGate()

	// The second successor follows the first.
	action, second, err := e.Repair(t.Context(), "o-1", true)
	if err != nil || action != executions.SuccessorStarted || second.Number != 3 {
		t.Fatalf("a second successor: %s %+v, %v", action, second, err)
	}

	if x := e.ended("o-1"); x.Name != second.Name || x.Status != types.ExecutionStatusSucceeded {
		t.Errorf("current: %+v", x)
	}

	d, err := e.sfn.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &second.ARN})
	if err != nil {
		t.Fatal(err)
	}

	var input struct {
		transitions.NewOrder
		Adopt bool `json:"adopt"`
	}
	if err := json.Unmarshal([]byte(*d.Input), &input); err != nil || !input.Adopt {
		t.Errorf("input %s, %v", *d.Input, err)
	}
	equal(t, "the order in the input", input.NewOrder, content("o-1"))

	if _, err := e.Start(t.Context(), e.machine, content("o-1")); err != nil {
		t.Errorf("a repeated start finds the successor: %v", err)
	}
}

func TestAnOrderWithoutAnExecutionGetsOne(t *testing.T) {
	e := newOrderExecutions(t)
	if _, err := e.orders.Create(t.Context(), content("done-1")); err != nil {
		t.Fatal(err)
	}

	action, x, err := e.Repair(t.Context(), "done-1", false)
	equal(t, "the repair", []any{action, x.Name, err}, []any{executions.Started, "done-1", nil})
	e.ended("done-1")

	if _, err := e.Start(t.Context(), e.machine, content("done-1")); err != nil {
		t.Errorf("a start of the same order afterwards: %v", err)
	}
}

// TestAnExecutionThatEndedEarlyHasASuccessor: the order waits for its payment, and no execution
// moves it. Each repair starts the next execution of the chain.
func TestAnExecutionThatEndedEarlyHasASuccessor(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("done-1")
	e.ended("done-1")

	for _, number := range []int{2, 3} {
		action, x, err := e.Repair(t.Context(), "done-1", false)
		equal(t, "the repair", []any{action, x.Number, err}, []any{executions.SuccessorStarted, number, nil})

		if x := e.ended("done-1"); x.Number != number {
			t.Errorf("the current execution is number %d, want %d", x.Number, number)
		}
	}
}

func TestAHealthyExecutionIsNotRepaired(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("wait-1")

	_, _, repaired := e.Repair(t.Context(), "wait-1", true)
	_, redriven := e.Redrive(t.Context(), "wait-1")
	_, _, unknown := e.Repair(t.Context(), "none", false)
	_, none := e.Redrive(t.Context(), "none")

	for _, row := range []struct {
		is        string
		err, want error
	}{
		{"a successor beside a running execution", repaired, executions.ErrHealthy},
		{"a redrive of a running execution", redriven, executions.ErrHealthy},
		{"a repair of no order", unknown, transitions.ErrUnknownOrder},
		{"a redrive of no execution", none, executions.ErrNotRedrivable},
	} {
		if !errors.Is(row.err, row.want) {
			t.Errorf("%s: %v, want %v", row.is, row.err, row.want)
		}
	}
}

// TestRepairsAtOnceStartOneSuccessor lets ten processes repair the same order.
func TestRepairsAtOnceStartOneSuccessor(t *testing.T) {
	e := newOrderExecutions(t)
	e.place("adopted-1")
	e.ended("adopted-1")

	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			// A late repair finds the successor running.
			if _, x, err := e.Repair(t.Context(), "adopted-1", true); err != nil && !errors.Is(err, executions.ErrHealthy) || x.Number != 2 {
				t.Errorf("execution %+v, %v", x, err)
			}
		})
	}
	group.Wait()

	all, err := e.sfn.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &e.machine})
	if err != nil || len(all.Executions) != 2 {
		t.Errorf("%d executions, %v", len(all.Executions), err)
	}
}

func TestNewNamesEveryMissingField(t *testing.T) {
	_, err := executions.New(executions.Config{})
	for _, field := range []string{"SFN", "Orders", "Machine"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%s is not in %v", field, err)
		}
	}
}
