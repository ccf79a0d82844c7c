package server_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// watched is a worker behind a transport.
type watched struct {
	*server.Backend

	wire *embeddedtest.Transport
}

// watch runs a worker on the clock of a bubble.
func watch(t *testing.T, test func(t *testing.T, w watched)) {
	cfg := server.Config{
		Data:          filepath.Join(t.TempDir(), "data"),
		Notify:        "none",
		RequestsQueue: "requests",
		ReadyLag:      time.Minute,
	}

	synctest.Test(t, func(t *testing.T) {
		b := initialized(t, cfg)

		if err := b.Stock.Set(t.Context(), "mug", 10); err != nil {
			t.Fatal(err)
		}

		worker, wire, err := b.Process()
		if err != nil {
			t.Fatal(err)
		}

		stop := run(t, b, worker)
		test(t, watched{Backend: worker, wire: wire})
		_ = stop() // it may have failed: what some tests break makes a worker give up
	})
}

// run runs the engine of a backend and a worker. The function that it returns stops both, and returns
// the error of the worker.
func run(t *testing.T, b, worker *server.Backend) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	engine, ended := make(chan error, 1), make(chan error, 1)
	go func() { engine <- b.Engine.Run(ctx) }()
	go func() { ended <- worker.Run(ctx, "worker") }()

	return func() error {
		cancel()

		if err := <-engine; err != nil {
			t.Error(err)
		}

		return <-ended
	}
}

// pays starts an order, which the worker then pays.
func (w watched) pays(t *testing.T) {
	t.Helper()

	arn, err := w.StateMachineARN(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	order := mug
	order.ID = "o-1"
	if _, err := w.Start(t.Context(), arn, order); err != nil {
		t.Fatal(err)
	}
}

// TestAProcessThatExpectsAWorkerIsNotReadyWithoutIt: its admin listener may be asked before the worker
// has begun.
func TestAProcessThatExpectsAWorkerIsNotReadyWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := initialized(t, server.Config{Data: filepath.Join(t.TempDir(), "data"), Notify: "none"})

		if h := b.Health(t.Context()); !h.Ready {
			t.Errorf("without a worker: %+v", h.Checks)
		}

		b.ExpectWorker()
		watched{Backend: b}.wantFailed(t, "worker", "not begun", "wait")

		stop := run(t, b, b)
		time.Sleep(10 * time.Second)

		if h := b.Health(t.Context()); !h.Ready {
			t.Errorf("with the worker: %+v", h.Checks)
		}

		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// cause is a fault, and the check that must fail because of it.
type cause struct {
	fault                 embeddedtest.Fault
	check, reason, action string
}

func TestAWorkerSaysWhyItIsNotReady(t *testing.T) {
	toLeases := func(c *embeddedtest.Call) bool { return bytes.Contains(c.Body(), []byte("ratchet-leases")) }

	for _, c := range []struct {
		name string
		// after is how long the faults last when the worker is asked. A poll of Step Functions
		// that was open before them ends after a minute.
		after  time.Duration
		causes []cause
	}{
		{"it is denied", 80 * time.Second, []cause{
			{embeddedtest.Answer("AccessDeniedException", "GetActivityTask"), "activity pay", "AccessDenied", "states:GetActivityTask"},
			{embeddedtest.Answer("AccessDenied", "ReceiveMessage"), "requests queue", "AccessDenied", "sqs:ReceiveMessage"},
			{embeddedtest.Answer("AccessDeniedException", "GetItem"), "table", "AccessDenied", "dynamodb:GetItem"},
		}},
		{"it is throttled, and so lags behind", 80 * time.Second, []cause{
			{embeddedtest.Throttle("GetActivityTask"), "activity accept", "ThrottlingException", "quota"},
			{embeddedtest.Throttle("GetRecords"), "stream lag", "stream GetRecords: ", "ratchet streams status"},
		}},
		{"nothing answers", 3 * time.Minute, []cause{
			{embeddedtest.Delay(time.Hour, "GetActivityTask"), "activity pay", "not answered within 1m10s", "network"},
			{embeddedtest.Delay(time.Hour, "GetItem"), "table", "deadline", "endpoint"},
			{embeddedtest.LoseRequest().If(toLeases), "stream", "the connection broke", "ratchet-leases"},
		}},
	} {
		if testing.Short() && c.after > 2*time.Minute {
			continue
		}

		t.Run(c.name, func(t *testing.T) {
			watch(t, func(t *testing.T, w watched) {
				time.Sleep(10 * time.Second)

				if h := w.Health(t.Context()); !h.Ready {
					t.Fatalf("before the faults: %+v", h.Checks)
				}

				var faults []*embeddedtest.Injection
				for _, cause := range c.causes {
					faults = append(faults, w.wire.Inject(cause.fault))
				}

				time.Sleep(c.after)

				for _, cause := range c.causes {
					w.wantFailed(t, cause.check, cause.reason, cause.action)
				}

				for _, fault := range faults {
					fault.Remove()
				}

				time.Sleep(90 * time.Second)

				if h := w.Health(t.Context()); !h.Ready {
					t.Errorf("after the faults: %+v", h.Checks)
				}
			})
		})
	}
}

// wantFailed checks that the process is not ready because of one check, and says why.
func (w watched) wantFailed(t *testing.T, check, reason, action string) {
	t.Helper()

	h := w.Health(t.Context())
	i := slices.IndexFunc(h.Checks, func(c server.HealthCheck) bool { return c.Name == check })

	if h.Ready || i < 0 {
		t.Fatalf("ready: %t; no check %q in %+v", h.Ready, check, h.Checks)
	}

	if got := h.Checks[i]; got.Status != server.HealthFailed || !strings.Contains(got.Reason, reason) || !strings.Contains(got.Action, action) {
		t.Errorf("got %+v, want a failure because of %q that asks for %q", got, reason, action)
	}
}

func TestAWorkerWithAStuckTaskIsNotReady(t *testing.T) {
	watch(t, func(t *testing.T, w watched) {
		release := make(chan struct{})
		w.wire.Before(func(c *embeddedtest.Call) error {
			if bytes.Contains(c.Body(), []byte("ratchet-sandbox-charges")) {
				<-release // whatever its context says
			}

			return nil
		})
		w.pays(t)

		time.Sleep(2 * time.Minute)

		if h := w.Health(t.Context()); !h.Ready {
			t.Errorf("the handler has not run for too long yet: %+v", h.Checks)
		}

		time.Sleep(2 * time.Minute)
		w.wantFailed(t, "tasks", "stuck: 1 task; the oldest, of pay", "pprof/goroutine")

		w.wire.Before(nil)
		close(release)
		time.Sleep(2 * time.Minute)

		if h := w.Health(t.Context()); !h.Ready {
			t.Errorf("after the handler has returned: %+v", h.Checks)
		}
	})
}

// TestAWorkerWithoutActivitiesIsReady: other programs serve all of them, and this one handles the
// stream.
func TestAWorkerWithoutActivitiesIsReady(t *testing.T) {
	flow := ticketFlow(t)
	flow.Steps = nil
	flow.StateMachine = []byte(`{"StartAt": "Triage", "States": {"Triage": {
		"Type": "Task", "Resource": "${TriageArn}", "TimeoutSeconds": 60, "HeartbeatSeconds": 20, "End": true}}}`)
	cfg := server.Config{
		Data: filepath.Join(t.TempDir(), "data"), Notify: "none", OtherActivities: []string{"triage"}, Parts: server.Parts{Workflow: flow},
	}

	synctest.Test(t, func(t *testing.T) {
		b := initialized(t, cfg)

		stop := run(t, b, b)

		time.Sleep(10 * time.Second)

		if h := b.Health(t.Context()); !h.Ready || !slices.ContainsFunc(h.Checks, func(c server.HealthCheck) bool { return c.Name == "stream" }) {
			t.Errorf("%+v", h)
		}

		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
