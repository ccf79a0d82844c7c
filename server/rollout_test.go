package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet"
	"ratchet/activities"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

// rolloutSteps are the steps of every rollout, in their order.
var rolloutSteps = []string{"accept", "resources", "workers", "machine", "migrate", "drop"}

// rollout is an installation on which one program replaces another, with one process of each at a time.
type rollout struct {
	*testing.T
	env    *ratchettest.Env
	placed int
	// ends stops the running process of a program and waits for it.
	ends map[string]func()
}

// program returns a program's backend: version 1 is the shop, version 2 a shop with a further step, another
// version of its definition and lists of orders.
func (r *rollout) program(version int, accepts ...int) *server.Backend {
	r.Helper()

	cfg := &r.env.Backend.Config
	cfg.OrderDefinition, cfg.AcceptVersions, cfg.OrderLists, cfg.Parts.Workflow = "", accepts, false, nil

	if version == 2 {
		cfg.OrderDefinition = filepath.Join(r.TempDir(), "order-v2.yaml")
		text := strings.Replace(file.Format(workflow.Order()), "version: 1", "version: 2", 1)
		if err := os.WriteFile(cfg.OrderDefinition, []byte(text), 0o600); err != nil {
			r.Fatal(err)
		}

		cfg.OrderLists = true
		cfg.Parts.Workflow = &server.Workflow{Shop: true, StateMachine: withStep(r.T), Steps: []server.Step{{
			Name: "stamp",
			Handle: func(*server.Backend) activities.HandlerFunc {
				return func(context.Context, activities.Task) (any, error) { return map[string]bool{"stamped": true}, nil }
			},
		}}}
	}

	b, _, err := r.env.Backend.Process()
	if err != nil {
		r.Fatal(err)
	}

	return b
}

// withStep returns the shop's state machine with a step between Accept and what follows it.
func withStep(t *testing.T) []byte {
	t.Helper()

	var machine map[string]any
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &machine); err != nil {
		t.Fatal(err)
	}

	states, _ := machine["States"].(map[string]any)
	accept, _ := states["Accept"].(map[string]any)
	states["Stamp"] = map[string]any{
		"Type": "Task", "Resource": "${StampArn}", "TimeoutSeconds": 60, "HeartbeatSeconds": 15,
		"Parameters": map[string]any{"orderId.$": "$.orderId"}, "ResultPath": "$.stamp", "Next": accept["Next"],
		"Retry": accept["Retry"],
	}
	accept["Next"] = "Stamp"

	text, err := json.Marshal(machine)
	if err != nil {
		t.Fatal(err)
	}

	return text
}

// run starts the process of a program, in the place of the one under this name.
func (r *rollout) run(name string, b *server.Backend, parts ...server.WorkerPart) {
	r.Helper()
	r.end(name)

	shown := "worker"
	if len(parts) > 0 {
		shown = string(parts[0])
	}

	ctx, stop := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return b.Run(ctx, name, parts...) })

		// Its reports move orders, so it is of the same version as the worker.
		if len(parts) == 0 {
			group.Go(func() error { return b.RunCarrier(ctx) })
		}
		ended <- group.Wait()
	}()

	r.ends[name] = func() {
		stop()

		if err := <-ended; err != nil {
			r.Error(err)
		}
	}
	r.env.Wait(name+" runs", func() (bool, string, error) {
		all, err := b.Processes.Check(r.Context())

		for _, p := range all {
			if p.Name == name && p.Runs(shown) && slices.Equal(p.Versions, append([]int{b.Orders.Definition().Version()}, b.Config.AcceptVersions...)) {
				return true, "", nil
			}
		}

		return false, fmt.Sprint(all), err
	})
}

func (r *rollout) end(name string) {
	if end := r.ends[name]; end != nil {
		end()
		delete(r.ends, name)
	}
}

// place places orders, as callers go on to do during a rollout.
func (r *rollout) place() {
	r.Helper()

	for range 3 {
		r.env.Execute(shop.Mugs(transitions.OrderID(fmt.Sprintf("o-%d", r.placed)), 1))
		r.placed++
	}
}

// next returns the first step that is left of rolling out a program, and all that are left.
func (r *rollout) next(b *server.Backend) (first string, left []string) {
	r.Helper()

	plan, err := b.PlanRollout(r.Context(), transitions.Sweep{})
	if err != nil {
		r.Fatal(err)
	}

	var names []string
	for _, step := range plan.Steps {
		names = append(names, step.Step)

		if len(step.Differs) > 0 {
			left = append(left, step.Step)
		}

		if step.Do == "" {
			r.Errorf("%s says nothing to do", step.Step)
		}
	}

	if !slices.Equal(names, rolloutSteps) {
		r.Errorf("the steps are %v", names)
	}

	if len(left) > 0 {
		first = left[0]
	}

	return first, left
}

// TestARolloutHasOneOrder: the plan names one step after the other, each done makes the next one the first that is left,
// and orders that are placed before, between and after the steps all reach their end: forwards, and back.
func TestARolloutHasOneOrder(t *testing.T) {
	r := &rollout{T: t, ends: map[string]func(){}, env: ratchettest.Start(t, ratchettest.Config{
		NoWorker: true, Server: server.Config{CarrierDelay: 50 * time.Millisecond},
		// Workers are stopped between an effect and its record.
		Repeats: true,
	})}
	r.env.SetStock("mug", 1000)
	defer func() {
		for name := range r.ends {
			r.end(name)
		}
	}()

	first := r.program(1)
	r.run("one", first)
	r.place()

	if step, left := r.next(first); step != "" {
		t.Fatalf("the program that runs has %v left", left)
	}

	r.rollOut(1, 2, []string{"accept", "resources", "workers", "machine", "migrate", "drop"})
	// The way back lacks nothing that it would have to create.
	r.rollOut(2, 1, []string{"accept", "workers", "machine", "migrate", "drop"})

	r.executed()

	for i := range r.placed {
		id := transitions.OrderID(fmt.Sprintf("o-%d", i))

		order, found, err := first.Orders.Get(t.Context(), id)
		if err != nil || !found || order.State != workflow.Delivered || order.DefinitionVersion != 1 {
			t.Errorf("order %s: %+v, %v", id, order, err)
		}
	}
}

// rollOut does what the plan of the program says, until it has nothing left but the activities that the other program used.
func (r *rollout) rollOut(from, to int, want []string) {
	r.Helper()

	names := map[int]string{1: "one", 2: "two"}

	for i, step := range want {
		if first, left := r.next(r.program(to, from)); first != step {
			r.Fatalf("from %d to %d: step %d is %q of %v, want %q", from, to, i, first, left, step)
		}
		r.place()

		switch step {
		case "accept":
			r.run(names[from], r.program(from, to))
		case "resources":
			if err := r.program(to, from).InitResources(r.Context()); err != nil {
				r.Fatal(err)
			}
		case "workers":
			r.run(names[to], r.program(to, from))
			r.end(names[from])

			// The executions of version 2 need a step that version 1 does not have.
			if from == 2 {
				r.run("rest", r.program(from, to), server.PartActivities)
			}
		case "machine":
			if err := r.program(to, from).Init(r.Context()); err != nil {
				r.Fatal(err)
			}
		case "migrate":
			r.executed()
			r.end("rest")
			r.migrate(from, to)
		case "drop":
			r.run(names[to], r.program(to))
		}
	}

	plan, err := r.program(to).PlanRollout(r.Context(), transitions.Sweep{})
	if err != nil {
		r.Fatal(err)
	}

	for _, step := range plan.Steps {
		// The activity of the other program stays until a person deletes it.
		if len(step.Differs) > 0 && !(to == 1 && step.Step == "drop" && len(step.Differs) == 1 && strings.Contains(step.Differs[0], "stamp")) {
			r.Errorf("from %d to %d: %+v is left", from, to, step)
		}
	}
}

// executed waits until the executions have ended that were started so far.
func (r *rollout) executed() {
	r.Helper()

	for i := range r.placed {
		r.env.WantExecution(transitions.OrderID(fmt.Sprintf("o-%d", i)), sfntypes.ExecutionStatusSucceeded)
	}
}

func (r *rollout) migrate(from, to int) {
	r.Helper()

	b := r.program(to, from)

	ways, err := workflow.NewMigrations([]*workflow.Definition{r.program(from).Orders.Definition(), b.Orders.Definition()}, []workflow.Migration{{From: from, To: to}})
	if err != nil {
		r.Fatal(err)
	}

	if found, err := b.Orders.MigrateAll(r.Context(), ways, transitions.Sweep{}, transitions.Cause{}); err != nil || found.Unmapped+found.Unreadable > 0 {
		r.Fatalf("%+v, %v", found, err)
	}
}
