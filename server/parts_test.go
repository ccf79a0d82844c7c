package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet"
	"ratchet/activities"
	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/check"
	"ratchet/workflow/file"
)

// recorder is the far side of every part: it acts once per key and remembers the keys.
type recorder struct {
	mu   sync.Mutex
	keys []string
}

func (r *recorder) do(key string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if !slices.Contains(r.keys, key) {
		r.keys = append(r.keys, key)
	}

	return "ref-" + key, nil
}

func (r *recorder) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return slices.Contains(r.keys, key)
}

// ownBank is a bank that charges at once.
type ownBank struct{ recorder }

func (b *ownBank) Sale(_ context.Context, r payments.Request) (string, error) {
	return b.do("sale " + r.OrderID)
}

func (b *ownBank) Authorize(context.Context, payments.Request) (string, error) {
	return "", payments.ErrDeclined
}

func (b *ownBank) Capture(context.Context, payments.Request) (string, error) {
	return "", payments.ErrDeclined
}

func (b *ownBank) Refund(context.Context, payments.Request) (string, error) {
	return "", payments.ErrDeclined
}

func (b *ownBank) Void(_ context.Context, key string) error {
	_, err := b.do("void " + key)
	return err
}

func (b *ownBank) Lookup(context.Context, string) (payments.Operation, error) {
	return payments.Operation{}, nil
}

// ownCarrier books, and cancels what has not left.
type ownCarrier struct{ recorder }

func (c *ownCarrier) Book(_ context.Context, key, _ string) (string, error) { return c.do(key) }
func (c *ownCarrier) Cancel(context.Context, string) (bool, error)          { return false, nil }

// ownPager is a kind of destination.
type ownPager struct{ recorder }

func (p *ownPager) Send(_ context.Context, m notify.Message) (notify.Answer, error) {
	_, err := p.do(m.Key)
	return notify.Answer{}, err
}

// TestAProgramBringsItsParts: the bank, the carrier, a kind of destination and a handler of the
// program act on an order, and no sandbox does.
func TestAProgramBringsItsParts(t *testing.T) {
	bank, carrier, pager, handled := &ownBank{}, &ownCarrier{}, &ownPager{}, &recorder{}

	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{
		Notify: "pager:112",
		Parts: server.Parts{
			Bank:    bank,
			Carrier: carrier,
			Destinations: map[string]destination.Scheme{"pager": {
				Open: func(notify.Endpoint) (notify.Destination, error) { return pager, nil },
			}},
			Handlers: func(b *server.Backend) []streams.Handler {
				return []streams.Handler{{Name: "search", Handle: func(_ context.Context, r streams.Record) error {
					change, moved, err := transitions.Mapping{}.FromRecord(r.Old, r.New)
					if err != nil || !moved || b.Orders == nil {
						return err
					}
					_, err = handled.do(change.EffectKey("search"))

					return err
				}}}
			},
		},
	}})
	env.SetStock("mug", 1)
	env.Execute(ratchettest.NewOrder("o-1", "mug"))
	env.WantOrder("o-1", workflow.PaymentReceived, 2)

	key := func(handler string) string { return effectKey(t, env.Backend.Orders, "o-1", 2, handler) }
	env.Wait("the parcel to be booked and the pager to ring", func() (bool, string, error) {
		return carrier.has(key("shipping")) && pager.has(key("notify")) && handled.has(key("search")), "", nil
	})

	// The carrier's reports go on as always.
	answer, err := env.Backend.Reports.Take(t.Context(), shipping.Report{ID: "r-1", Shipment: key("shipping"), OrderID: "o-1", Milestone: shipping.Shipped})
	if err != nil || answer != shipping.Accepted {
		t.Fatalf("the report: %v, %v", answer, err)
	}
	env.WantOrder("o-1", workflow.Shipped, 3)

	if !bank.has("sale o-1") || env.Backend.Bank != nil || env.Backend.Carrier != nil {
		t.Errorf("the bank was asked for %q; sandboxes: %v, %v", bank.keys, env.Backend.Bank, env.Backend.Carrier)
	}
}

// ticketFlow is the workflow of examples/ticket, with a step that chooses a queue.
func ticketFlow(t *testing.T) *server.Workflow {
	t.Helper()

	read := func(name string) []byte {
		text, err := os.ReadFile("../examples/ticket/" + name)
		if err != nil {
			t.Fatal(err)
		}

		return text
	}

	definition, err := file.Parse("workflow.yaml", read("workflow.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	return &server.Workflow{
		Definition:   definition,
		StateMachine: read("statemachine.asl.json"),
		Steps: []server.Step{{Name: "triage", Handle: func(*server.Backend) activities.HandlerFunc {
			return func(context.Context, activities.Task) (any, error) { return map[string]string{"queue": "billing"}, nil }
		}}},
	}
}

// TestAnOwnWorkflowRunsFromItsPlacingToItsEnd: the general steps, a step of the program, and a
// wait that a person ends. Of the reactions only those run that every workflow has.
func TestAnOwnWorkflowRunsFromItsPlacingToItsEnd(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{Parts: server.Parts{Workflow: ticketFlow(t)}}})
	ticket := func(id transitions.OrderID) transitions.NewOrder {
		return transitions.NewOrder{ID: id}
	}

	env.Execute(ticket("t-1"))
	env.WantOrder("t-1", "ASSIGNED", 2)
	env.Move("t-1", "resolve")
	env.WantOrder("t-1", "CLOSED", 4)
	env.WantExecution("t-1", sfntypes.ExecutionStatusSucceeded)
	env.WantJournal("t-1", "OPEN", "ASSIGNED", "RESOLVED", "CLOSED")
	env.WantEffects("t-1", "1/notify", "2/notify", "3/notify", "4/notify")

	// A ticket that is withdrawn while its execution waits ends it, too.
	env.Execute(ticket("t-2"))
	env.WantOrder("t-2", "ASSIGNED", 2)
	env.Move("t-2", "withdraw")
	env.WantExecution("t-2", sfntypes.ExecutionStatusSucceeded)
	env.WantJournal("t-2", "OPEN", "ASSIGNED", "WITHDRAWN")

	if names, want := env.Backend.HandlerNames(), []string{"journal", "notify", "parked"}; !slices.Equal(names, want) {
		t.Errorf("handlers %q, want %q", names, want)
	}

	arn, err := env.Backend.StateMachineARN(t.Context())
	if err != nil || !strings.HasSuffix(arn, ":ratchet-ticket") {
		t.Errorf("the state machine is %s, %v", arn, err)
	}

	if env.Backend.Config.Carrier != "" {
		t.Errorf("a ticket has the carrier %q", env.Backend.Config.Carrier)
	}
}

// TestAWorkflowThatDoesNotFitCreatesNothing: every way to begin is refused before the first write.
func TestAWorkflowThatDoesNotFitCreatesNothing(t *testing.T) {
	flow := ticketFlow(t)
	flow.StateMachine = []byte(strings.Replace(string(flow.StateMachine), `"event": "close"`, `"event": "shut"`, 1))

	b, err := server.Embed(server.Config{Data: t.TempDir(), Parts: server.Parts{Workflow: flow}}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	stopped, stop := context.WithCancel(t.Context())
	stop() // a run that were not refused would go on

	_, startErr := b.Start(t.Context(), "arn", transitions.NewOrder{ID: "t-1"})
	for what, err := range map[string]error{
		"init":  b.Init(t.Context()),
		"run":   b.Run(stopped, "worker"),
		"start": startErr,
	} {
		if !errors.Is(err, server.ErrStateMachine) || !strings.Contains(err.Error(), `"shut"`) {
			t.Errorf("%s: %v", what, err)
		}
	}

	tables, err := b.DynamoDB.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || len(tables.TableNames) > 0 {
		t.Errorf("tables %v, %v", tables.TableNames, err)
	}

	known, err := b.SFN.ListActivities(t.Context(), &sfn.ListActivitiesInput{})
	if err != nil || len(known.Activities) > 0 {
		t.Errorf("activities %v, %v", known.Activities, err)
	}
}

// TestAFlowThatCannotRunIsRefused names what is wrong.
func TestAFlowThatCannotRunIsRefused(t *testing.T) {
	asl := func(edit func(string) string) func(*server.Config) {
		return func(c *server.Config) {
			c.Parts.Workflow.StateMachine = []byte(edit(string(c.Parts.Workflow.StateMachine)))
		}
	}

	for name, row := range map[string]struct {
		edit func(*server.Config)
		want string
	}{
		"it fits":                              {func(*server.Config) {}, ""},
		"a placeholder without a step":         {func(c *server.Config) { c.Parts.Workflow.Steps = nil }, "state Triage uses ${TriageArn}: no step of this program serves it (it has ApplyArn, LookArn, PlaceArn)"},
		"another program serves it":            {func(c *server.Config) { c.Parts.Workflow.Steps, c.OtherActivities = nil, []string{"triage"} }, ""},
		"a step of the shop outside of a shop": {asl(func(s string) string { return strings.Replace(s, "${ApplyArn}", "${PayArn}", 1) }), "state Assign uses ${PayArn}: no step of this program serves it"},
		"a shop that uses a step that it does not have": {func(c *server.Config) {
			c.Parts.Workflow = &server.Workflow{Shop: true, StateMachine: []byte(strings.ReplaceAll(ratchet.StateMachine, "${PayArn}", "${ChargeArn}"))}
		}, "state Pay uses ${ChargeArn}: no step of this program serves it (it has AcceptArn, ApplyArn, "},
		"a shop with a step that it does not use": {func(c *server.Config) {
			c.Parts.Workflow.Shop, c.Parts.Workflow.Definition, c.Parts.Workflow.StateMachine = true, nil, []byte(ratchet.StateMachine)
		}, "no state uses ${TriageArn} of the activity triage"},
		"an activity that no state uses": {func(c *server.Config) { c.OtherActivities = []string{"take-photo"} }, "no state uses ${TakePhotoArn} of the activity take-photo"},
		"no state machine":               {asl(func(string) string { return "" }), "a workflow of your own needs a state machine"},
		"YAML":                           {asl(func(string) string { return "StartAt: A\n" }), "must be JSON"},
		"not ASL":                        {asl(func(s string) string { return s[:len(s)/2] }), "state-machine"},
		"a task without a time-out":      {asl(func(s string) string { return strings.Replace(s, `"TimeoutSeconds": 60,`, "", 1) }), "TimeoutSeconds"},
		"the machine's name is too long": {func(c *server.Config) {
			spec := c.Parts.Workflow.Definition.Spec()
			spec.Name = strings.Repeat("x", 80)
			c.Parts.Workflow.Definition, _ = workflow.New(spec)
		}, "at most 80"},
		"a step that moves the ticket by an event that it lacks": {func(c *server.Config) {
			c.Parts.Workflow.Steps[0].Effect = func(map[string]any) check.Effect { return check.Effect{Event: "fly"} }
		}, "unknown-event"},
		"an event that is unknown": {asl(func(s string) string { return strings.Replace(s, `"event": "assign"`, `"event": "fly"`, 1) }), "unknown-event"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := server.Config{Parts: server.Parts{Workflow: ticketFlow(t)}}
			row.edit(&cfg)

			_, err := cfg.CheckWorkflow()
			if row.want == "" && err != nil || row.want != "" && (!errors.Is(err, server.ErrStateMachine) || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// TestAProgramsStepsServeFilesOfTheSettings: order-definition and state-machine name the files, the
// program has the steps, with the shop's steps or without them.
func TestAProgramsStepsServeFilesOfTheSettings(t *testing.T) {
	stockedBackend := strings.Replace(ratchet.StateMachine, `"${LookArn}"`, `"${TriageArn}"`, 1)
	file := filepath.Join(t.TempDir(), "shop.asl.json")
	if err := os.WriteFile(file, []byte(stockedBackend), 0o600); err != nil {
		t.Fatal(err)
	}

	steps := ticketFlow(t).Steps
	for name, row := range map[string]struct {
		cfg  server.Config
		want string // a part of the error
	}{
		"a ticket": {cfg: server.Config{OrderDefinition: "../examples/ticket/workflow.yaml", StateMachine: "../examples/ticket/statemachine.asl.json",
			Parts: server.Parts{Workflow: &server.Workflow{Steps: steps}}}},
		"a ticket without its step": {cfg: server.Config{OrderDefinition: "../examples/ticket/workflow.yaml", StateMachine: "../examples/ticket/statemachine.asl.json"},
			want: "state Triage uses ${TriageArn}"},
		// The check does not know what the step returns.
		"a shop": {cfg: server.Config{StateMachine: file, Parts: server.Parts{Workflow: &server.Workflow{Shop: true, Steps: steps}}},
			want: "lost-position at WhatNow"},
		"a shop without its step": {cfg: server.Config{StateMachine: file, Parts: server.Parts{Workflow: &server.Workflow{Shop: true}}},
			want: "state Look uses ${TriageArn}"},
		"no shop": {cfg: server.Config{StateMachine: file, Parts: server.Parts{Workflow: &server.Workflow{Steps: steps}}},
			want: "state Accept, AcceptAgain uses ${AcceptArn}"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := row.cfg.CheckWorkflow()
			if row.want == "" && err != nil || row.want != "" && (!errors.Is(err, server.ErrStateMachine) || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// TestAPartAndItsSettingExcludeEachOther, and every part that breaks a rule is named.
func TestAPartAndItsSettingExcludeEachOther(t *testing.T) {
	step := func(name string) server.Step {
		return server.Step{Name: name, Handle: func(*server.Backend) activities.HandlerFunc { return nil }}
	}

	cfg := server.Config{
		Bank: "sandbox", Carrier: "sandbox", OrderDefinition: "d.yaml", StateMachine: "m.json", OtherActivities: []string{"apply"},
		Parts: server.Parts{
			Bank: &ownBank{}, Carrier: &ownCarrier{}, Destinations: map[string]destination.Scheme{"https": {}},
			Workflow: &server.Workflow{
				Definition: workflow.Order(), StateMachine: []byte("{}"),
				Steps: []server.Step{step("Triage"), step("place"), step("a"), step("a"), {Name: "b"}},
			},
		},
	}.WithDefaults()

	err := cfg.Validate()
	if err == nil {
		t.Fatal("the configuration is accepted")
	}

	for _, want := range []string{
		"bank: this program brings its own", "carrier: this program", "order-definition: this program", "state-machine: this program",
		`scheme "https"`, `steps[0].name "Triage"`, `steps[1].name "place": is a step that Ratchet has`, `steps[3].name "a": is there twice`, "steps[4] (b): Handle",
		`other-activities "apply"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}

	handlers := func(*server.Backend) []streams.Handler { return []streams.Handler{{Name: "journal"}} }
	if _, err := server.Embed(server.Config{Data: t.TempDir(), Parts: server.Parts{Handlers: handlers}}, embeddedtest.Quiet(), server.Events{}); err == nil {
		t.Error("a second handler named journal is accepted")
	}
}

// TestNoSandboxIsUsedOnAWSUnlessItIsNamed: a worker and an API that would charge a table say what
// to set, before they call anything.
func TestNoSandboxIsUsedOnAWSUnlessItIsNamed(t *testing.T) {
	for name, value := range map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"} {
		t.Setenv(name, value)
	}

	stopped, stop := context.WithCancel(t.Context())
	stop() // no call leaves the process

	var log strings.Builder
	run := func(cfg server.Config) (*server.Backend, error) {
		log.Reset()

		b, err := server.Connect(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)), server.Events{})
		if err != nil {
			t.Fatal(err)
		}

		return b, b.Run(stopped, "worker")
	}

	// An endpoint of a VPC is AWS, too.
	for _, endpoint := range []string{"https://vpce-0a1b.dynamodb.eu-west-1.vpce.amazonaws.com", "https://dynamodb.eu-west-1.API.aws."} {
		if _, err := run(server.Config{EndpointURL: endpoint}); !errors.Is(err, server.ErrUnnamed) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}

	b, err := run(server.Config{})
	if !errors.Is(err, server.ErrUnnamed) || !strings.Contains(err.Error(), "set bank to sandbox") || !strings.Contains(err.Error(), "set carrier to") {
		t.Errorf("neither is named: %v", err)
	}

	if b.CheckBank() == nil {
		t.Error("there is a bank")
	}

	// Reading goes on, and nothing that would begin a payment does.
	refused := httptest.NewRecorder()
	server.RefusePayments(http.NotFoundHandler()).ServeHTTP(refused, httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/v1/payments/p-1", nil))
	read := httptest.NewRecorder()
	server.RefusePayments(http.NotFoundHandler()).ServeHTTP(read, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/payments/p-1", nil))

	if refused.Code != http.StatusServiceUnavailable || !strings.Contains(refused.Body.String(), "set bank") || read.Code != http.StatusNotFound {
		t.Errorf("a payment is answered %d %s, a read %d", refused.Code, refused.Body, read.Code)
	}

	if _, err := run(server.Config{Bank: server.Sandbox}); !errors.Is(err, server.ErrUnnamed) || strings.Contains(err.Error(), "set bank") {
		t.Errorf("only the bank is named: %v", err)
	}

	if _, err := run(server.Config{Bank: server.Sandbox, Carrier: server.Sandbox}); err != nil ||
		!strings.Contains(log.String(), "no money moves") || !strings.Contains(log.String(), "no parcels move") {
		t.Errorf("both are named: %v; the log is %s", err, &log)
	}

	if _, err := run(server.Config{Parts: server.Parts{Bank: &ownBank{}, Carrier: &ownCarrier{}}}); err != nil || strings.Contains(log.String(), "sandbox") {
		t.Errorf("the program brings both: %v; the log is %s", err, &log)
	}

	if _, err := run(server.Config{Parts: server.Parts{Workflow: ticketFlow(t)}}); err != nil || strings.Contains(log.String(), "sandbox") {
		t.Errorf("a workflow of your own needs neither: %v; the log is %s", err, &log)
	}
}
