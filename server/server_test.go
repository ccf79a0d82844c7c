package server_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/server/scenario"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stockedBackend is a backend with one worker, a quick carrier and ten mugs in stock.
type stockedBackend struct {
	*server.Backend
	env *ratchettest.Env
}

func newStockedBackend(t *testing.T, edit ...func(*server.Config)) *stockedBackend {
	t.Helper()

	var cfg server.Config
	for _, e := range edit {
		e(&cfg)
	}
	env := ratchettest.Start(t, ratchettest.Config{Server: cfg})
	env.SetStock("mug", 10)

	return &stockedBackend{Backend: env.Backend, env: env}
}

// mug is an order of one mug.
var mug = shop.Mugs("o-1", 1)

// until waits until the order's journal has reached the state.
func (s *stockedBackend) until(want workflow.State) {
	s.env.Wait("the order to reach "+string(want), func() (bool, string, error) {
		rows := s.env.Journal(mug.ID)
		reached := slices.ContainsFunc(rows, func(row transitions.Transition) bool { return row.To == want })

		return reached, fmt.Sprintf("%+v", rows), nil
	})
}

//raced:here
func TestAnOrderIsDelivered(t *testing.T) {
	s := newStockedBackend(t)
	s.env.Execute(mug)
	s.env.Execute(mug) // the same request again finds the same execution
	s.until(workflow.Delivered)

	s.env.WantExecution(mug.ID, sfntypes.ExecutionStatusSucceeded)

	if l, _, err := s.Stock.Level(t.Context(), "mug"); err != nil || l.Available != 9 || l.Committed != 1 {
		t.Errorf("stock %+v, %v", l, err)
	}

	other := mug
	other.Total.Amount++

	machine, err := s.StateMachineARN(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := s.Start(t.Context(), machine, other); err == nil {
		t.Error("another order under the same id was accepted")
	}
}

func TestAHeldOrderWaitsForItsRelease(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}
	move := func(event workflow.Event) {
		t.Helper()

		r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: event, RequestID: transitions.RequestID("clerk/" + event)})
		if err != nil || r.Verdict != transitions.Applied {
			t.Fatalf("%s: %s, %v", event, r.Verdict, err)
		}
	}
	move(workflow.Hold)
	s.env.Execute(mug)
	s.untilParked(t, mug.ID, workflow.Pending)
	move(workflow.Release)
	s.until(workflow.Delivered)

	s.env.WantExecution(mug.ID, sfntypes.ExecutionStatusSucceeded)
}

// untilParked waits until the order's execution waits for the state.
func (s *stockedBackend) untilParked(t *testing.T, id transitions.OrderID, want workflow.State) {
	t.Helper()

	s.env.With(t).Wait("the execution to wait for "+string(want), func() (bool, string, error) {
		tasks, err := s.ParkedTasks.Waiting(t.Context(), lifeOf(t, s.Orders, id))
		return len(tasks) == 1 && tasks[0].Awaited == string(want), fmt.Sprintf("it waits for %v", tasks), err
	})
}

func TestACancelledOrderIsUndone(t *testing.T) {
	s := newStockedBackend(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Cancel, RequestID: "customer"})
	if err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
	s.env.Execute(mug)

	s.env.WantExecution(mug.ID, sfntypes.ExecutionStatusSucceeded)

	if l, _, err := s.Stock.Level(t.Context(), "mug"); err != nil || l.Available != 10 || l.Reserved != 0 {
		t.Errorf("stock %+v, %v", l, err)
	}
}

// TestManyOrdersAddUp is a small demo: duplicates, declined payments, items out of stock,
// cancellations, two workers, and a recount of every table.
//
//raced:here
func TestManyOrdersAddUp(t *testing.T) {
	orders := 120
	if testing.Short() {
		orders = 50
	}

	dir := t.TempDir()
	session := &scenario.Session{Plan: scenario.Default(orders)}

	b, err := server.Embed(server.Config{
		Data:           filepath.Join(dir, "data"),
		Notify:         "dir:" + filepath.Join(dir, "notices"),
		CarrierDelay:   5 * time.Millisecond,
		DeclinePercent: 10,
		TimeoutPercent: 5,
	}, embeddedtest.Quiet(), session.Meter.Events())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	count, err := session.Run(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range count.Discrepancies {
		t.Errorf("%s: %s", d.OrderID, d.What)
	}

	if count.ByState["DELIVERED"] < orders/2 || count.ByState["PAYMENT_FAILED"] == 0 || session.Meter.Verdicts(transitions.Replayed) == 0 {
		t.Errorf("the plan caused too few faults: %v, %d replayed", count.ByState, session.Meter.Verdicts(transitions.Replayed))
	}
}

// lifeOf names the order's present life, as its payment, reservation and parked task are named.
func lifeOf(t *testing.T, orders *transitions.Orders, id transitions.OrderID) string {
	t.Helper()

	order, found, err := orders.Get(t.Context(), id)
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return order.LifeID()
}
