package server_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow/plan"
)

// statesShown returns the values of ratchet_processes, by state.
func statesShown(t *testing.T, b *server.Backend) map[string]float64 {
	t.Helper()

	totals, err := b.Telemetry.Totals()
	if err != nil {
		t.Fatal(err)
	}

	shown := map[string]float64{}
	for _, series := range totals["ratchet_processes"].GetMetric() {
		shown[series.GetLabel()[0].GetValue()] = series.GetGauge().GetValue()
	}

	return shown
}

// TestAMissingProcessIsShownByTheOthers: another process writes its row and is killed.
func TestAMissingProcessIsShownByTheOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("operate/processes has the goroutine, and TestAProcessHasOneRowForItsParts the row")
	}

	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{})
		kill := runAndKill(t, env.Backend)

		time.Sleep(20 * time.Second)

		if shown := statesShown(t, env.Backend); shown["missing"] != 0 || shown["ready"] < 1 {
			t.Errorf("while both run: %v", shown)
		}
		kill()
		time.Sleep(2 * time.Minute)

		if shown := statesShown(t, env.Backend); shown["missing"] != 1 || shown["ready"] != 1 {
			t.Errorf("after the kill: %v", shown)
		}

		status, err := env.Backend.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		i := slices.IndexFunc(status.Problems, func(p inspect.SystemProblem) bool { return p.Area == "processes" })
		if status.OK || i < 0 || !strings.Contains(status.Problems[i].Text, "process killed on ") || !strings.Contains(status.Problems[i].Text, "gives no sign of life") {
			t.Errorf("problems: %+v", status.Problems)
		}
	})
}

// runAndKill runs the row of another process. kill ends it as a kill does: the end is not written.
func runAndKill(t *testing.T, b *server.Backend) (kill func()) {
	t.Helper()

	cfg := b.Engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	transport := embeddedtest.Intercept(&cfg)

	store, err := processes.New(processes.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: b.Tables.Processes, Log: embeddedtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})

	go func() {
		defer close(ended)
		store.Run(ctx, processes.Self{Report: func(context.Context) processes.Report {
			return processes.Report{Name: "killed", Parts: []string{"worker"}, Ready: true}
		}})
	}()

	return func() {
		transport.Inject(embeddedtest.LoseRequest("PutItem"))
		stop()
		<-ended
	}
}

// TestARowCountsWhatUsesQuotas: the rates are about the last minute, and the row is whole beside all
// of its counters.
func TestARowCountsWhatUsesQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{})
		time.Sleep(5 * time.Second) // a first sample

		env.SetStock("mug", 100)

		for i := range 6 {
			env.Execute(ratchettest.NewOrder(transitions.OrderID(fmt.Sprint("o-", i)), "mug"))
		}
		time.Sleep(30 * time.Second)

		status, err := env.Backend.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		for _, name := range []string{plan.StartExecution, plan.GetActivityTask, plan.SendTaskSuccess, "orderReadUnits", "orderWriteUnits"} {
			if p := status.Processes[0]; p.Counters[name] < 1 || status.Rates[name] <= 0 {
				t.Errorf("%s: counter %d, rate %v", name, p.Counters[name], status.Rates[name])
			}
		}

		// The stream was described when the worker began, before the first sample.
		if status.Processes[0].Counters[plan.DescribeStream] < 1 {
			t.Errorf("counters %v", status.Processes[0].Counters)
		}

		if len(status.Quotas) > 0 {
			t.Errorf("the engine has quotas: %+v", status.Quotas)
		}
	})
}

// TestAProcessHasOneRowForItsParts: the row lives from the first part to the last, and says what failed.
func TestAProcessHasOneRowForItsParts(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	go func() { served <- env.Backend.ServeAPI(ctx, listener, true) }()

	only := func() processes.Process {
		t.Helper()

		found, err := env.Backend.Processes.Check(t.Context())
		if err != nil || len(found) > 1 {
			t.Fatalf("%+v, %v", found, err)
		}

		if len(found) == 0 {
			return processes.Process{}
		}

		return found[0]
	}

	env.Wait("the row of the API", func() (bool, string, error) {
		p := only()
		return p.Runs("api") && p.Ready, string(p.State), nil
	})

	// A second part that fails: the address is refused.
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = other.Close()

	if err := env.Backend.ServeAPI(ctx, other, true); err == nil {
		t.Error("a closed listener was served")
	}

	stop()

	if err := <-served; err != nil {
		t.Fatal(err)
	}

	if p := only(); p.State != processes.Failed || !strings.Contains(p.Failure, "use of closed") || p.Name != "api" {
		t.Errorf("after the end: %+v", p)
	}
}

// TestWorkersCountStuckOrdersInTurn: an order without an execution needs a person.
func TestWorkersCountStuckOrdersInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
		for range 2 {
			env.Go("survey", env.Backend.SurveyStuck)
		}

		_, err := env.Backend.Orders.Create(t.Context(), transitions.NewOrder{
			ID:    "o-1",
			Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 1}},
			Total: transitions.Money{Amount: 1, Currency: "EUR"},
		})
		if err != nil {
			t.Fatal(err)
		}

		time.Sleep(50 * time.Minute)

		if _, known, err := env.Backend.Processes.NewestSurvey(t.Context()); known || err != nil {
			t.Errorf("within the first hour: %t, %v", known, err)
		}

		time.Sleep(15 * time.Minute)

		survey, known, err := env.Backend.Processes.NewestSurvey(t.Context())
		if err != nil || !known || survey.Orders != 1 || survey.Stuck["missing"] != 1 || survey.Total() != 1 {
			t.Errorf("after an hour: %+v, %t, %v", survey, known, err)
		}

		status, err := env.Backend.Status(t.Context())
		if err != nil || !slices.ContainsFunc(status.Problems, func(p inspect.SystemProblem) bool { return p.Area == "orders" }) {
			t.Errorf("problems: %+v, %v", status.Problems, err)
		}
	})
}

// TestAFailedReadIsAProblemOfTheStatus: the other parts are shown.
func TestAFailedReadIsAProblemOfTheStatus(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
	cfg := env.Backend.Engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	embeddedtest.Intercept(&cfg).Inject(embeddedtest.Answer("AccessDeniedException", "Query"))

	var err error
	if env.Backend.Processes, err = processes.New(processes.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "none"}); err != nil {
		t.Fatal(err)
	}

	status, err := env.Backend.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(status.Problems, func(p inspect.SystemProblem) bool { return p.Area == "processes" })
	if i < 0 || !strings.Contains(status.Problems[i].Text, "AccessDenied") || len(status.Handlers) == 0 {
		t.Errorf("status: %+v", status)
	}
}
