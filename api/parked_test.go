package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/activities/tasktoken"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
)

// waitForShipment places and pays the order o-1, unless it exists, and starts an execution of
// its own state machine, which waits for the shipment of the stored order. It returns the
// execution.
func (s *apiServer) waitForShipment(order string, headers ...string) (execution *string) {
	s.t.Helper()
	embeddedtest.Run(s.t, s.engine)
	s.must("PUT", "/v1/orders/o-1", mugs, headers...)
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"pay"}`, append(headers, "Idempotency-Key", "pay")...)

	definition, err := json.Marshal(map[string]any{"StartAt": "Wait", "States": map[string]any{"Wait": map[string]any{
		"Type":     "Task",
		"Resource": "arn:aws:states:::aws-sdk:dynamodb:updateItem.waitForTaskToken",
		"Parameters": tasktoken.WaitParameters(shop.ParkedTasksTable, "SHIPPED", tasktoken.Paths{
			OrderID: "$.orderId", Incarnation: "$.incarnation", Since: "$.transitionId", Visits: "$.visits",
		}),
		"End": true,
	}}})
	if err != nil {
		s.t.Fatal(err)
	}

	machine, err := s.sfn.CreateStateMachine(s.t.Context(), &sfn.CreateStateMachineInput{
		Name:       aws.String("waits"),
		RoleArn:    aws.String("arn:aws:iam::000000000000:role/any"),
		Definition: aws.String(string(definition)),
	})
	if err != nil {
		s.t.Fatal(err)
	}

	started, err := s.sfn.StartExecution(s.t.Context(), &sfn.StartExecutionInput{
		StateMachineArn: machine.StateMachineArn,
		Input:           aws.String(fmt.Sprintf(`{"orderId":%q,"incarnation":%q,"transitionId":2,"visits":0}`, order, s.incarnation(order))),
	})
	if err != nil {
		s.t.Fatal(err)
	}

	s.until(func() bool {
		tasks, err := s.cfg.Parked.Waiting(s.t.Context(), transitions.OrderID(order).Life(s.incarnation(order)))
		return err != nil || len(tasks) == 1
	})

	return started.ExecutionArn
}

// incarnation is the incarnation of the stored order, "0" if there is none.
func (s *apiServer) incarnation(order string) transitions.Incarnation {
	s.t.Helper()

	o, found, err := s.cfg.Orders.Get(s.t.Context(), transitions.OrderID(order))
	if err != nil {
		s.t.Fatal(err)
	}

	if !found {
		return "0"
	}

	return o.Incarnation
}

// park stores the token of a task as Step Functions does.
func (s *apiServer) park(task tasktoken.Task) {
	s.t.Helper()

	number := func(n int64) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
	}
	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

	_, err := s.db.UpdateItem(s.t.Context(), &dynamodb.UpdateItemInput{
		TableName:        aws.String(shop.ParkedTasksTable),
		Key:              map[string]types.AttributeValue{"orderId": text(transitions.OrderID(task.OrderID).Life(s.incarnation(task.OrderID)))},
		UpdateExpression: aws.String(tasktoken.ParkUpdate),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": text(string(task.Token)), ":awaited": text(task.Awaited), ":since": number(task.Since),
			":started": text("2026-01-01T00:00:00.000Z"), ":redrives": number(0), ":visits": number(0), ":retries": number(0),
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// until waits for a condition, and at most until the test's deadline.
func (s *apiServer) until(reached func() bool) {
	s.t.Helper()

	for !reached() {
		select {
		case <-s.t.Context().Done():
			s.t.Fatal("the test has ended")
		case <-time.After(time.Millisecond):
		}
	}
}

// ended returns how the execution has ended.
func (s *apiServer) ended(execution *string) string {
	s.t.Helper()

	var x *sfn.DescribeExecutionOutput
	s.until(func() (over bool) {
		var err error
		if x, err = s.sfn.DescribeExecution(s.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: execution}); err != nil {
			s.t.Fatal(err)
		}

		return x.Status != sfntypes.ExecutionStatusRunning
	})

	if x.Status == sfntypes.ExecutionStatusSucceeded {
		return string(x.Status) + " " + aws.ToString(x.Output)
	}

	return string(x.Status) + " " + aws.ToString(x.Error) + " " + aws.ToString(x.Cause)
}

func TestAParkedTaskIsAnswered(t *testing.T) {
	const position = `{"orderId":"acme:o-1","incarnation":"$","state":"PAYMENT_RECEIVED","transitionId":2}`

	for _, row := range []struct{ method, path, body, want string }{
		{"POST", "/complete", `{}`, "SUCCEEDED " + position},
		{"POST", "/complete", `{"output":{"a":1}}`, `SUCCEEDED {"a":1}`},
		{"POST", "/complete", `{"output":null}`, `SUCCEEDED null`},
		{"POST", "/fail", `{}`, "FAILED Order.Abandoned " + position},
		{"POST", "/fail", `{"error":"Order.Lost","cause":"the parcel is lost"}`, "FAILED Order.Lost the parcel is lost"},
		{"DELETE", "", "", "FAILED Order.Abandoned given up by key:"},
	} {
		s := newAPIServer(t, nil)
		acme, other := s.key("acme", auth.Admin), s.key("other", auth.Admin)
		execution := s.waitForShipment("acme:o-1", "Authorization", acme)
		tasks := "/v1/orders/o-1/parked-tasks"
		ask := func(bearer, state string) answer {
			return s.ask(row.method, tasks+"/"+state+row.path, row.body, "Authorization", bearer)
		}

		s.want(ask(other, "SHIPPED"), http.StatusNotFound, "parked_task_not_found")
		s.want(ask(acme, "DELIVERED"), http.StatusNotFound, "parked_task_not_found")

		if a := s.want(ask(acme, "SHIPPED"), http.StatusOK, ""); a.field("awaited") != "SHIPPED" || a.field("since") != "2" {
			t.Errorf("%s %s", row.path, a.text)
		}

		want := strings.ReplaceAll(row.want, "$", string(s.incarnation("acme:o-1")))
		if got := s.ended(execution); !strings.HasPrefix(got, want) {
			t.Errorf("%s %s: %s, want %s", row.path, row.body, got, want)
		}

		s.want(ask(acme, "SHIPPED"), http.StatusNotFound, "parked_task_not_found")

		if a := s.must("GET", tasks, "", "Authorization", acme); a.field("tasks") != "[]" {
			t.Errorf("%s", a.text)
		}
	}
}

// The execution of a task is stopped first. The first answer removes the token.
func TestAParkedTaskThatHasEndedIsRefused(t *testing.T) {
	for _, verb := range []string{"complete", "fail"} {
		s := newAPIServer(t, dev)
		execution := s.waitForShipment("o-1")
		if _, err := s.sfn.StopExecution(t.Context(), &sfn.StopExecutionInput{ExecutionArn: execution}); err != nil {
			t.Fatal(err)
		}

		path := "/v1/orders/o-1/parked-tasks/SHIPPED/" + verb
		s.want(s.ask("POST", path, `{}`), http.StatusConflict, "task_ended")
		s.want(s.ask("POST", path, `{}`), http.StatusNotFound, "parked_task_not_found")
	}
}

// The answer arrives and its response does not: the task is over, by whichever request.
func TestAnAnswerWhoseResponseIsLostIsOfUnknownOutcome(t *testing.T) {
	s := newAPIServer(t, dev)
	execution := s.waitForShipment("o-1")
	s.answers.Inject(embeddedtest.LoseAnswer("SendTaskSuccess").Next(1))

	path := "/v1/orders/o-1/parked-tasks/SHIPPED/complete"
	s.want(s.ask("POST", path, `{}`), http.StatusConflict, "unknown_outcome")
	s.want(s.ask("POST", path, `{}`), http.StatusNotFound, "parked_task_not_found")

	if got := s.ended(execution); !strings.HasPrefix(got, "SUCCEEDED") {
		t.Error(got)
	}
}

// The service does not answer, or refuses with a text that has the token in it. The task
// waits on.
func TestAnAnswerThatIsNotGivenLeavesTheTaskWaiting(t *testing.T) {
	s := newAPIServer(t, dev)
	s.waitForShipment("o-1")
	s.completeWithin(100 * time.Millisecond)

	tasks, err := s.cfg.Parked.Waiting(t.Context(), transitions.OrderID("o-1").Life(s.incarnation("o-1")))
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	secret := string(tasks[0].Token)
	path := "/v1/orders/o-1/parked-tasks/SHIPPED"

	refusal := embeddedtest.Answer("AccessDeniedException", "SendTaskSuccess", "SendTaskFailure")
	refusal.Err = &embeddedtest.Error{Code: "AccessDeniedException", Message: "no right to end " + secret}

	for _, fault := range []embeddedtest.Fault{
		refusal,
		embeddedtest.Throttle("SendTaskSuccess", "SendTaskFailure"),
		embeddedtest.Delay(time.Minute, "SendTaskSuccess", "SendTaskFailure"),
	} {
		injected := s.answers.Inject(fault)

		for _, a := range []answer{
			s.ask("POST", path+"/complete", `{}`),
			s.ask("POST", path+"/fail", `{}`),
			s.ask("DELETE", path, ""),
		} {
			s.want(a, http.StatusServiceUnavailable, "unavailable")

			if strings.Contains(a.text, secret) {
				t.Errorf("the token is in an answer: %s", a.text)
			}
		}
		injected.Remove()
	}

	if a := s.must("GET", "/v1/orders/o-1/parked-tasks", ""); a.field("tasks") == "[]" {
		t.Error("the task is gone")
	}

	if logged := s.log.String(); strings.Count(logged, "a task is not answered") != 9 || strings.Contains(logged, secret) {
		t.Errorf("an answer that was not given is not logged, or with the token: %s", logged)
	}
}

func TestTheErrorsOfTheServiceAreReserved(t *testing.T) {
	s := newAPIServer(t, dev)
	parkedTask(s)
	a := s.want(s.ask("POST", "/v1/orders/o-1/parked-tasks/SHIPPED/fail", `{"error":"States.Timeout"}`), http.StatusUnprocessableEntity, "invalid_request")

	if !strings.Contains(a.text, "/error") {
		t.Errorf("the field is not named: %s", a.text)
	}

	s.want(s.ask("POST", "/v1/orders/o-1/parked-tasks/SHIPPED/fail", `{"error":"Order.Timeout"}`), http.StatusConflict, "task_ended") // any other name is sent to the service
}

// The task of a former life waits under a key that the order has no longer. It is neither shown nor
// answered, and the position of the new life is never sent to its execution.
func TestATaskOfAFormerLifeIsNotAnswered(t *testing.T) {
	s := newAPIServer(t, dev)
	s.waitForShipment("o-1")

	order, found, err := s.cfg.Orders.Get(t.Context(), "o-1")
	if err != nil || !found {
		t.Fatal(found, err)
	}

	if renewed, err := s.cfg.Orders.Renew(t.Context(), order); err != nil || !renewed {
		t.Fatal(renewed, err)
	}

	for _, verb := range []string{"/complete", "/fail"} {
		s.want(s.ask("POST", "/v1/orders/o-1/parked-tasks/SHIPPED"+verb, `{}`), http.StatusNotFound, "parked_task_not_found")
	}
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"ship"}`, "Idempotency-Key", "ship")

	for _, path := range []string{"/v1/orders/o-1/parked-tasks", "/v1/orders/o-1/parked-tasks?overdue=true", "/v1/parked-tasks?overdue=true"} {
		if a := s.must("GET", path, ""); a.field("tasks") != "[]" {
			t.Errorf("%s: %s", path, a.text)
		}
	}

	if tasks, err := s.cfg.Parked.Waiting(t.Context(), order.LifeID()); err != nil || len(tasks) != 1 {
		t.Errorf("the task of the former life: %v %v", tasks, err)
	}
}

// A task waits for an order, so without its order it is not found.
func TestTheTaskOfAMissingOrderIsNotFound(t *testing.T) {
	s := newAPIServer(t, dev)
	s.park(tasktoken.Task{OrderID: "o-1", Awaited: "SHIPPED", Since: 2, Token: "the-token"})

	for _, verb := range []string{"/complete", "/fail"} {
		s.want(s.ask("POST", "/v1/orders/o-1/parked-tasks/SHIPPED"+verb, `{}`), http.StatusNotFound, "parked_task_not_found")
	}

	if a := s.must("GET", "/v1/orders/o-1/parked-tasks", ""); a.field("tasks") != "[]" {
		t.Error(a.text)
	}
}

// The order moves while no worker reads the stream. On hold, it may still be shipped.
func TestOverdueParkedTasksAreListed(t *testing.T) {
	s := newAPIServer(t, dev)
	s.waitForShipment("o-1")

	for _, row := range []struct{ event, want string }{
		{"", "[]"},
		{"hold", "[]"},
		{"release", "[]"},
		{"ship", `[{"awaited":"SHIPPED","since":2,"state":"SHIPPED"}]`},
	} {
		if row.event != "" {
			s.must("POST", "/v1/orders/o-1/transitions", `{"event":"`+row.event+`"}`, "Idempotency-Key", row.event)
		}

		if a := s.must("GET", "/v1/orders/o-1/parked-tasks?overdue=true", ""); a.field("tasks") != row.want {
			t.Errorf("after %s: %s, want %s", row.event, a.text, row.want)
		}

		if a := s.must("GET", "/v1/orders/o-1/parked-tasks", ""); a.field("tasks") != `[{"awaited":"SHIPPED","since":2}]` {
			t.Errorf("after %s: %s", row.event, a.text)
		}
	}

	if a := s.must("GET", "/v1/orders/o-2/parked-tasks?overdue=true", ""); a.field("tasks") != "[]" {
		t.Errorf("an order that does not exist: %s", a.text)
	}
}

// The list of all orders' tasks has the tasks of the caller's tenant, in pages, without tokens.
func TestTheParkedTasksOfAllOrdersAreListed(t *testing.T) {
	s := newAPIServer(t, nil)
	acme, other, reader := s.key("acme", auth.Admin), s.key("other", auth.Admin), s.key("acme", auth.Read)
	s.waitForShipment("acme:o-1", "Authorization", acme)

	for _, order := range []string{"acme:o-2", "acme:o-3", "other:o-1"} {
		s.park(tasktoken.Task{OrderID: order, Awaited: "DELIVERED", Since: 4, Token: "secret-" + tasktoken.Token(order)})
	}
	s.want(s.ask("GET", "/v1/parked-tasks", "", "Authorization", reader), http.StatusForbidden, "forbidden")

	var found []string
	for path := "/v1/parked-tasks?limit=2"; path != ""; {
		a := s.must("GET", path, "", "Authorization", acme)

		var page struct {
			Tasks []struct{ OrderID, Awaited string }
			Next  string
		}
		if err := json.Unmarshal([]byte(a.text), &page); err != nil || strings.Contains(a.text, "secret-") {
			t.Fatal(a.text, err)
		}

		for _, task := range page.Tasks {
			found = append(found, task.OrderID+" "+task.Awaited)
		}

		if path = ""; page.Next != "" {
			path = "/v1/parked-tasks?limit=2&cursor=" + page.Next
		}
	}
	slices.Sort(found)

	if want := []string{"o-1 SHIPPED", "o-2 DELIVERED", "o-3 DELIVERED"}; !slices.Equal(found, want) {
		t.Errorf("listed %q, want %q", found, want)
	}

	overdue := s.must("GET", "/v1/parked-tasks?overdue=true", "", "Authorization", acme)
	if overdue.field("tasks") != "[]" {
		t.Errorf("overdue: %s", overdue.text)
	}
	s.must("POST", "/v1/orders/o-1/transitions", `{"event":"cancel"}`, "Authorization", acme, "Idempotency-Key", "cancel")

	if a := s.must("GET", "/v1/parked-tasks?overdue=true", "", "Authorization", acme); !strings.Contains(a.text, `"orderId":"o-1"`) || !strings.Contains(a.text, `"state":"CANCELLED"`) {
		t.Errorf("overdue after the cancellation: %s", a.text)
	}

	if a := s.must("GET", "/v1/parked-tasks", "", "Authorization", other); !strings.Contains(a.text, `"tasks":[{"orderId":"o-1","awaited":"DELIVERED"`) {
		t.Errorf("the other tenant: %s", a.text)
	}
}
