package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/operate/executions"
	"ratchet/transitions"
)

// unplacedMachine waits with the orders whose ids begin with "wait", and fails with others.
const unplacedMachine = `{"StartAt":"Which","States":{
	"Which":{"Type":"Choice","Choices":[{"Variable":"$.orderId","StringMatches":"*wait*","Next":"Wait"}],"Default":"Accept"},
	"Wait":{"Type":"Wait","Seconds":2592000,"End":true},
	"Accept":{"Type":"Fail","Error":"Order.Invalid","Cause":"the total is wrong"}}}`

// withExecutions serves the routes of executions, of a state machine that places no order. It returns a
// function that starts an execution and waits until it has failed, unless it waits.
func withExecutions(t *testing.T, change func(*api.Config)) (*apiServer, func(name, order string)) {
	t.Helper()

	s := newAPIServer(t, change)

	return s, s.serveExecutions()
}

// serveExecutions is withExecutions for a server that runs already.
func (s *apiServer) serveExecutions() (start func(name, order string)) {
	t := s.t
	t.Helper()
	embeddedtest.Run(t, s.engine)

	m, err := s.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), Definition: aws.String(unplacedMachine),
	})
	if err != nil {
		t.Fatal(err)
	}
	machine := *m.StateMachineArn

	s.cfg.Executions, err = executions.New(executions.Config{
		SFN: s.sfn, Orders: s.cfg.Orders,
		Machine: func(context.Context) (string, error) { return machine, nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	if s.handler, err = api.New(s.cfg); err != nil {
		t.Fatal(err)
	}

	return func(name, order string) {
		t.Helper()

		x, err := s.sfn.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: &machine, Name: &name, Input: aws.String(fmt.Sprintf(`{"orderId":%q}`, order))})
		if err != nil {
			t.Fatal(err)
		}

		for !strings.Contains(order, "wait") {
			out, err := s.sfn.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: x.ExecutionArn})
			if err != nil {
				t.Fatal(err)
			}

			if out.Status != types.ExecutionStatusRunning {
				return
			}
			<-time.After(time.Millisecond)
		}
	}
}

// TestAnOrderThatWasNeverPlacedIsExplained: by the execution that is to place it, under the id of the order
// or the execution's own name, and redriven and repaired by that.
func TestAnOrderThatWasNeverPlacedIsExplained(t *testing.T) {
	s, start := withExecutions(t, dev)
	start("o-1", "o-1")
	start("run-17", "o-2")
	start("wait-1", "wait-1")

	for _, id := range []string{"o-1", "run-17"} {
		a := s.want(s.ask("GET", "/v1/orders/"+id+"/explanation", ""), http.StatusOK, "")
		if a.field("order") != "null" || a.field("unplaced", "kind") != "failed" || a.field("unplaced", "execution", "error") != "Order.Invalid" ||
			!strings.Contains(a.field("unplaced", "cause"), "the total is wrong; order o-") || !strings.Contains(a.field("unplaced", "commands"), "executions redrive "+id) {
			t.Errorf("%s: %s", id, a.text)
		}

		a = s.want(s.ask("POST", "/v1/orders/"+id+"/execution/redrive", "", "Idempotency-Key", "again"), http.StatusOK, "")
		if a.field("action") != "redriven" || a.field("execution", "name") != id {
			t.Errorf("%s redriven: %s", id, a.text)
		}

		if again := s.want(s.ask("POST", "/v1/orders/"+id+"/execution/redrive", "", "Idempotency-Key", "again"), http.StatusOK, ""); again.text != a.text || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s repeated: %s", id, again.text)
		}
	}

	a := s.want(s.ask("GET", "/v1/orders/wait-1/explanation", ""), http.StatusOK, "")
	if a.field("unplaced", "kind") != "placing" || a.field("unplaced", "execution", "status") != "RUNNING" {
		t.Errorf("it runs: %s", a.text)
	}
	s.want(s.ask("POST", "/v1/orders/wait-1/execution/repair", `{}`), http.StatusConflict, "execution_healthy")
	s.want(s.ask("POST", "/v1/orders/wait-1/execution/redrive", ""), http.StatusConflict, "execution_healthy")

	for _, route := range []string{"GET /v1/orders/none/explanation", "POST /v1/orders/none/execution/redrive", "POST /v1/orders/none/execution/repair"} {
		method, path, _ := strings.Cut(route, " ")
		body := ""
		if strings.HasSuffix(path, "repair") {
			body = `{}`
		}
		s.want(s.ask(method, path, body), http.StatusNotFound, "order_not_found")
	}

	start("o-3", "o-3")

	if a := s.want(s.ask("POST", "/v1/orders/o-3/execution/repair", `{"successor":true}`), http.StatusOK, ""); a.field("action") != "successor started" || a.field("execution", "name") == "o-3" {
		t.Errorf("repaired: %s", a.text)
	}
}

// TestExecutionsBelongToTenants: an execution is found by a name, and shown to the tenant of the order in its
// input only.
func TestExecutionsBelongToTenants(t *testing.T) {
	s, start := withExecutions(t, func(*api.Config) {})
	name := executions.Name("acme:o-1")
	start(name, "acme:o-1")

	acme := s.key("acme", auth.Admin)

	a := s.want(s.ask("GET", "/v1/orders/o-1/explanation", "", "Authorization", acme), http.StatusOK, "")
	if a.field("unplaced", "orderId") != "o-1" || strings.Contains(a.field("unplaced", "cause"), "acme:") {
		t.Errorf("its own: %s", a.text)
	}
	s.want(s.ask("POST", "/v1/orders/o-1/execution/repair", `{}`, "Authorization", s.key("acme", auth.Act)), http.StatusForbidden, "forbidden")
	s.want(s.ask("POST", "/v1/orders/o-1/execution/repair", `{}`, "Authorization", acme), http.StatusOK, "")

	for _, id := range []string{"o-1", name} {
		for _, other := range []auth.Tenant{auth.DefaultTenant, "evil"} {
			key := s.key(other, auth.Admin)
			s.want(s.ask("GET", "/v1/orders/"+id+"/explanation", "", "Authorization", key), http.StatusNotFound, "order_not_found")
			s.want(s.ask("POST", "/v1/orders/"+id+"/execution/redrive", "", "Authorization", key), http.StatusNotFound, "order_not_found")
			s.want(s.ask("POST", "/v1/orders/"+id+"/execution/repair", `{}`, "Authorization", key), http.StatusNotFound, "order_not_found")
		}
	}
}

// failedExecution is the setup of a request about an execution that has failed.
func failedExecution(s *apiServer) string {
	s.serveExecutions()("o-1", "o-1")

	return ""
}

// bookable is the setup of a request that books again.
func bookable(s *apiServer) string {
	s.cfg.BookAgain = func(context.Context, transitions.OrderID) (string, error) { return "trk-2", nil }

	var err error
	if s.handler, err = api.New(s.cfg); err != nil {
		s.t.Fatal(err)
	}

	return ""
}
