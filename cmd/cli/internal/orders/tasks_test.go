package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/spf13/cobra"

	"ratchet/activities/tasktoken"
	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// parkTask places the order and stores the token of a task that waits for its shipment, as Step
// Functions does.
func parkTask(ctx context.Context, b *server.Backend, order, token string) error {
	placed, err := b.Orders.Create(ctx, transitions.NewOrder{ID: transitions.OrderID(order), Total: transitions.Money{Amount: 5, Currency: "EUR"}})
	if err != nil {
		return err
	}

	zero, text := &types.AttributeValueMemberN{Value: "0"}, func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

	_, err = b.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:        &b.Tables.Parked,
		Key:              map[string]types.AttributeValue{"orderId": text(placed.Order.LifeID())},
		UpdateExpression: aws.String(tasktoken.ParkUpdate),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": text(token), ":awaited": text("SHIPPED"), ":since": zero,
			":started": text("2026-01-01T00:00:00.000Z"), ":redrives": zero, ":visits": zero, ":retries": zero,
		},
	})

	return err
}

func TestParkedTasksAreListedWithoutTheirTokens(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		for _, order := range []string{"o-1", "o-2", "o-3"} {
			if err := parkTask(ctx, b, order, "secret-"+order); err != nil {
				return err
			}
		}

		return nil
	})
	var pages []string
	for after := ""; ; {
		args := []string{"list", "--limit", "1"}
		if after != "" {
			args = append(args, "--after", after)
		}
		s.JSON = true

		var more bytes.Buffer
		command := tasksCommand(s)
		command.PersistentPreRun = func(c *cobra.Command, _ []string) { c.SetErr(&more) }

		out, code := commandtest.Ask(t, command, args...)
		if code != exit.OK || strings.Contains(out+more.String(), "secret") {
			t.Fatalf("exit status %d\n%s", code, out)
		}

		var found bool
		if _, after, found = strings.Cut(strings.TrimSpace(more.String()), "more: --after "); !found {
			break
		}

		// The position names a life, and is no id of an order.
		if strings.Contains(after, "o-") {
			t.Errorf("the position %s shows how tasks are stored", after)
		}

		var task printedTask
		if err := json.Unmarshal([]byte(out), &task); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		pages = append(pages, task.Order)
	}
	slices.Sort(pages)

	if !slices.Equal(pages, []string{"o-1", "o-2", "o-3"}) {
		t.Errorf("%q", pages)
	}
	s.JSON = false

	for _, args := range [][]string{
		{"--after", ""}, {"--after", "o-1"}, {"--after", "bm8tbGlmZQ"}, {"--after", strings.Repeat("b", 3000)}, {"o-1", "--after", taskPosition("o-1.0")},
		{"--limit", "0"}, {"--limit", "10001"}, {"o\n1"}, {""},
	} {
		if out, code := commandtest.Ask(t, tasksCommand(s), append([]string{"list"}, args...)...); code != exit.Usage {
			t.Errorf("%q: exit status %d\n%s", args, code, out)
		}
	}

	out, code := commandtest.Ask(t, tasksCommand(s), "list", "o-1")
	if code != exit.OK || !strings.Contains(out, "SHIPPED") || strings.Contains(out, "o-2") || strings.Contains(out, "secret") {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

// waitForShipment starts an execution of its own state machine, which waits for the shipment
// of order o-1.
func waitForShipment(ctx context.Context, b *server.Backend) error {
	if err := commandtest.PlaceAndPay(ctx, b); err != nil {
		return err
	}

	order, err := getOrder(ctx, b, "o-1")
	if err != nil {
		return err
	}

	input, err := json.Marshal(map[string]any{"orderId": order.ID, "incarnation": order.Incarnation, "transitionId": 4, "visits": 0})
	if err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Engine.Run(ctx) }()
	defer func() { stop(); <-ended }()

	definition, err := json.Marshal(map[string]any{"StartAt": "Wait", "States": map[string]any{"Wait": map[string]any{
		"Type":     "Task",
		"Resource": "arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken",
		"Parameters": tasktoken.WaitParameters(b.Tables.Parked, "SHIPPED", tasktoken.Paths{
			OrderID: "$.orderId", Incarnation: "$.incarnation", Since: "$.transitionId", Visits: "$.visits",
		}),
		"End": true,
	}}})
	if err != nil {
		return err
	}

	machine, err := b.SFN.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("waits"), Definition: aws.String(string(definition)), RoleArn: aws.String("arn:aws:iam::000000000000:role/any"),
	})
	if err != nil {
		return err
	}

	if _, err := b.SFN.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: machine.StateMachineArn, Name: aws.String("w-1"), Input: aws.String(string(input)),
	}); err != nil {
		return err
	}

	for {
		tasks, err := tasksOf(ctx, b, "o-1")
		if err != nil || len(tasks) > 0 {
			return err
		}

		time.Sleep(time.Millisecond)
	}
}

// waitingExecution returns the ARN of the execution of waitForShipment.
func waitingExecution(ctx context.Context, b *server.Backend) (string, error) {
	list, err := b.SFN.ListStateMachines(ctx, &sfn.ListStateMachinesInput{})
	if err != nil {
		return "", err
	}

	for _, machine := range list.StateMachines {
		if *machine.Name == "waits" {
			return strings.Replace(*machine.StateMachineArn, ":stateMachine:", ":execution:", 1) + ":w-1", nil
		}
	}

	return "", exit.ErrNotFound
}

// executionEnd returns how the execution of waitForShipment has ended.
func executionEnd(t *testing.T, s *settings.Settings) (end string) {
	t.Helper()

	if err := s.With(t.Context(), func(b *server.Backend) error {
		arn, err := waitingExecution(t.Context(), b)
		if err != nil {
			return err
		}

		out, err := b.SFN.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		if err == nil {
			end = fmt.Sprint(out.Status, " ", aws.ToString(out.Output), aws.ToString(out.Error), " ", aws.ToString(out.Cause))
		}

		return err
	}); err != nil {
		t.Fatal(err)
	}

	return strings.TrimSpace(end)
}

// incarnation is an order's incarnation in JSON. It differs in each run.
var incarnation = regexp.MustCompile(`"[0-9a-v]{13}"`)

func TestAWaitingTaskIsCompletedAndFailed(t *testing.T) {
	const position = `{"orderId":"o-1","incarnation":"LIFE","state":"PAYMENT_RECEIVED","transitionId":4}`

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"complete", "o-1"}, string(sfntypes.ExecutionStatusSucceeded) + " " + position},
		{[]string{"complete", "o-1", "--state", "SHIPPED", "--output", `{"a":1}`}, `SUCCEEDED {"a":1}`},
		{[]string{"fail", "o-1"}, "FAILED Order.Abandoned " + position},
		{[]string{"fail", "o-1", "--error", "Order.Lost", "--cause", "the parcel is lost"}, "FAILED Order.Lost the parcel is lost"},
	} {
		s := commandtest.OrdersAt(t, waitForShipment)
		s.JSON = true

		if out, code := commandtest.Ask(t, tasksCommand(s), "list", "o-1"); code != exit.OK || out != `{"orderId":"o-1","awaited":"SHIPPED","since":4}`+"\n" {
			t.Errorf("exit status %d\n%s", code, out)
		}

		if _, code := commandtest.Ask(t, tasksCommand(s), test.args[0], "o-1", "--state", "DELIVERED"); code != exit.NotFound {
			t.Errorf("a state that no task waits for: exit status %d", code)
		}

		out, code := commandtest.Ask(t, tasksCommand(s), test.args...)
		if code != exit.OK || !strings.Contains(out, `"awaited":"SHIPPED"`) {
			t.Errorf("%q: exit status %d\n%s", test.args, code, out)
		}

		if got := incarnation.ReplaceAllString(executionEnd(t, s), `"LIFE"`); got != test.want {
			t.Errorf("%q: %s, want %s", test.args, got, test.want)
		}

		if out, code := commandtest.Ask(t, tasksCommand(s), test.args...); code != exit.NotFound || out != "" {
			t.Errorf("%q again: exit status %d\n%s", test.args, code, out)
		}
	}
}

// TestATaskThatHasEndedIsRefused stops the execution of a task first.
func TestATaskThatHasEndedIsRefused(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		if err := waitForShipment(ctx, b); err != nil {
			return err
		}

		arn, err := waitingExecution(ctx, b)
		if err != nil {
			return err
		}
		_, err = b.SFN.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &arn})

		return err
	})

	for _, want := range []int{exit.Refused, exit.NotFound} {
		if out, code := commandtest.Ask(t, tasksCommand(s), "complete", "o-1"); code != want {
			t.Errorf("exit status %d, want %d\n%s", code, want, out)
		}
	}

	if _, code := commandtest.Ask(t, tasksCommand(s), "complete", "o-1", "--output", "{"); code != exit.Usage {
		t.Errorf("an output that is no JSON: exit status %d", code)
	}
}

// TestOverdueTasksAreListed ships an order while no worker reads the stream.
func TestOverdueTasksAreListed(t *testing.T) {
	s := commandtest.OrdersAt(t, waitForShipment)

	for _, test := range []struct {
		event workflow.Event
		state string
	}{
		{workflow.Hold, ""},
		{workflow.Release, ""},
		{workflow.Cancel, "CANCELLED"},
	} {
		if err := s.With(t.Context(), func(b *server.Backend) error {
			_, err := b.Orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: test.event, RequestID: transitions.RequestID(test.event)})
			return err
		}); err != nil {
			t.Fatal(err)
		}

		for _, args := range [][]string{{"list", "--overdue"}, {"list", "o-1", "--overdue"}} {
			out, code := commandtest.Ask(t, tasksCommand(s), args...)
			if code != exit.OK || strings.Contains(out, "o-1") != (test.state != "") || !strings.Contains(out, test.state) {
				t.Errorf("%s, %q: exit status %d\n%s", test.event, args, code, out)
			}
		}
	}
}
