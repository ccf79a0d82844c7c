package server_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/scenario"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a backend with one worker and a quick carrier.
type shop struct {
	*server.Backend
	machine string
	moved   chan transitions.Change // every change, after its notification or not
}

func newShop(t *testing.T, edit ...func(*server.Config)) *shop {
	t.Helper()
	dir := t.TempDir()
	s := &shop{moved: make(chan transitions.Change, 1000)}

	cfg := server.Config{Data: filepath.Join(dir, "data"), Notify: "dir:" + filepath.Join(dir, "notices"), CarrierDelay: time.Millisecond}
	for _, e := range edit {
		e(&cfg)
	}

	b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Hooks{Reacted: func(handler string, c transitions.Change) {
		if handler == "journal" {
			s.moved <- c
		}
	}})
	if err != nil {
		t.Fatal(err)
	}

	s.Backend = b
	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	if s.machine, err = b.StateMachineARN(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := b.Stock.Set(t.Context(), "mug", 10); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{b.Engine.Run, b.Carrier.Run, func(ctx context.Context) error { return b.Run(ctx, "test") }} {
		group.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		group.Wait()

		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})

	return s
}

var mug = transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 1250}}, Total: transitions.Money{Amount: 1250, Currency: "EUR"}}

func (s *shop) start(t *testing.T, order transitions.NewOrder) {
	t.Helper()

	if _, err := s.Start(t.Context(), s.machine, order); err != nil {
		t.Fatal(err)
	}
}

// until waits until the stream has reported that the order reached the state.
func (s *shop) until(t *testing.T, want workflow.State) {
	t.Helper()

	timeout := time.After(20 * time.Second)
	for {
		select {
		case c := <-s.moved:
			if c.New.State == want {
				return
			}
		case <-timeout:
			t.Fatalf("the order did not reach %s", want)
		}
	}
}

// ended waits until the order's execution has ended and returns its status.
func (s *shop) ended(t *testing.T, id transitions.OrderID) sfntypes.ExecutionStatus {
	t.Helper()

	if err := scenario.Wait(t.Context(), s.Backend); err != nil {
		t.Fatal(err)
	}

	arn, err := s.ExecutionARN(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}

	out, err := s.SFN.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		t.Fatal(err)
	}

	return out.Status
}

func TestAnOrderIsDelivered(t *testing.T) {
	s := newShop(t)
	s.start(t, mug)
	s.start(t, mug) // the same request again finds the same execution
	s.until(t, workflow.Delivered)

	if status := s.ended(t, mug.ID); status != sfntypes.ExecutionStatusSucceeded {
		t.Errorf("execution %s", status)
	}

	if l, _, err := s.Stock.Level(t.Context(), "mug"); err != nil || l.Available != 9 || l.Committed != 1 {
		t.Errorf("stock %+v, %v", l, err)
	}

	other := mug
	other.Total.Amount++
	if _, err := s.Start(t.Context(), s.machine, other); err == nil {
		t.Error("another order under the same id was taken")
	}
}

func TestAHeldOrderWaitsForItsRelease(t *testing.T) {
	s := newShop(t)
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
	s.start(t, mug)
	s.untilParked(t, mug.ID, workflow.Pending)
	move(workflow.Release)
	s.until(t, workflow.Delivered)

	if status := s.ended(t, mug.ID); status != sfntypes.ExecutionStatusSucceeded {
		t.Errorf("execution %s", status)
	}
}

// untilParked waits until the order's execution waits for the state.
func (s *shop) untilParked(t *testing.T, id transitions.OrderID, want workflow.State) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	timeout := time.After(20 * time.Second)
	for {
		tasks, err := s.Parked.Waiting(t.Context(), string(id))
		if err != nil {
			t.Fatal(err)
		}

		if len(tasks) == 1 && tasks[0].Awaited == string(want) {
			return
		}

		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("the execution did not wait for %s, but for %v", want, tasks)
		}
	}
}

func TestACancelledOrderIsUndone(t *testing.T) {
	s := newShop(t)
	if _, err := s.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	r, err := s.Orders.Apply(t.Context(), transitions.Request{OrderID: mug.ID, Event: workflow.Cancel, RequestID: "customer"})
	if err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s, %v", r.Verdict, err)
	}
	s.start(t, mug)

	if status := s.ended(t, mug.ID); status != sfntypes.ExecutionStatusSucceeded {
		t.Errorf("execution %s", status)
	}

	if l, _, err := s.Stock.Level(t.Context(), "mug"); err != nil || l.Available != 10 || l.Reserved != 0 {
		t.Errorf("stock %+v, %v", l, err)
	}
}

// TestManyOrdersAddUp is the demo in small: duplicates, declines, empty shelves,
// cancellations, two workers, and a recount of every table.
func TestManyOrdersAddUp(t *testing.T) {
	dir := t.TempDir()
	session := &scenario.Session{Plan: scenario.Default(120)}

	b, err := server.Embed(server.Config{Data: filepath.Join(dir, "data"), Notify: "dir:" + filepath.Join(dir, "notices"),
		CarrierDelay: 5 * time.Millisecond, DeclinePercent: 10, TimeoutPercent: 5}, embeddedtest.Quiet(), session.Meter.Hooks())
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

	if count.ByState["DELIVERED"] < 60 || count.ByState["PAYMENT_FAILED"] == 0 || session.Meter.Verdicts(transitions.Replayed) == 0 {
		t.Errorf("the plan went too smoothly: %v, %d replayed", count.ByState, session.Meter.Verdicts(transitions.Replayed))
	}
}
