package ratchettest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"go.uber.org/goleak"

	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnExecutedOrderIsDeliveredWithEachEffectOnce(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{})
	env.SetStock("mug", 10)
	env.SetStock("cup", 10)

	order := ratchettest.NewOrder("o-1", "mug", "cup")
	env.Execute(order)
	env.Execute(order) // the same execution

	env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)

	if o := env.WantOrder("o-1", workflow.Delivered, 4); o.Total.Amount != 2000 {
		t.Errorf("total %+v", o.Total)
	}
	env.WantJournal("o-1", workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered)
	env.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")

	if sent := env.Notifications(); len(sent) != 3 || sent[2].State != workflow.Delivered {
		t.Errorf("notifications %+v", sent)
	}

	if level, _, err := env.Backend.Stock.Level(t.Context(), "cup"); err != nil || level.Available != 9 {
		t.Errorf("stock %+v, error %v", level, err)
	}
}

func TestADeclinedOrderEndsUnpaid(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{DeclinePercent: 100}})
	env.SetStock("mug", 10)

	env.Execute(ratchettest.NewOrder("o-1", "mug"))
	env.WantOrder("o-1", workflow.PaymentFailed, 2)
	env.WantEffects("o-1", "2/notify")
	env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded)
}

func TestSingleTransitionsAreAppliedAndRefused(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{})
	env.Place(ratchettest.NewOrder("o-1", "mug"))

	if r := env.Move("o-1", workflow.Hold); r.Transition.ID != 2 || r.Order.State != workflow.OnHold {
		t.Errorf("moved to %+v", r.Order)
	}
	env.Move("o-1", workflow.Release)

	env.Apply(transitions.Request{OrderID: "o-1", Event: workflow.Deliver, RequestID: "r"}, transitions.WrongState)
	env.Apply(transitions.Request{OrderID: "o-1", Event: workflow.Cancel, TransitionID: 4}, transitions.Applied)
	env.Apply(transitions.Request{OrderID: "o-1", Event: workflow.Cancel, TransitionID: 4}, transitions.Replayed)

	env.WantOrder("o-1", workflow.Cancelled, 4)
	env.WantJournal("o-1", workflow.Pending, workflow.OnHold, workflow.Pending, workflow.Cancelled)
	env.WantEffects("o-1", "4/notify")

	t.Run("a subtest reports to its own test", func(t *testing.T) {
		env := env.With(t)
		env.WantOrder("o-1", workflow.Cancelled, 4)
	})
}

// TestABubblesClockPassesFaster starts the server in a synctest bubble with a carrier that
// takes a minute for each milestone.
func TestABubblesClockPassesFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{
			Server:   server.Config{CarrierDelay: time.Minute},
			Patience: 10 * time.Minute,
		})
		env.SetStock("mug", 1)
		began := time.Now()

		env.Execute(ratchettest.NewOrder("o-1", "mug"))
		env.WantOrder("o-1", workflow.Delivered, 4)

		if passed := time.Since(began); passed < 2*time.Minute || passed > 3*time.Minute {
			t.Errorf("delivered after %v, want two minutes", passed)
		}
		env.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")
	})
}

func TestAnOwnDefinitionNeedsNoWorker(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{
		NoWorker: true,
		Server:   server.Config{OrderDefinition: "testdata/parking.yaml", Journal: "transactional"},
	})
	env.Place(ratchettest.NewOrder("car-1", "ticket"))
	env.Move("car-1", "leave")

	env.WantOrder("car-1", "LEFT", 2)
	env.WantJournal("car-1", "INSIDE", "LEFT")
	env.WantEffects("car-1")
}

func TestAnOwnComponentStopsWithTheTest(t *testing.T) {
	var stopped atomic.Bool
	t.Run("component", func(t *testing.T) {
		env := ratchettest.Start(t, ratchettest.Config{NoWorker: true})
		env.Go("component", func(ctx context.Context) error {
			<-ctx.Done()

			// The backend still answers while components drain.
			_, _, err := env.Backend.Orders.Get(context.Background(), "o-1")
			stopped.Store(true)

			return err
		})
	})

	if !stopped.Load() {
		t.Error("the component still runs")
	}
}

func TestNotificationsMayGoElsewhere(t *testing.T) {
	dir := t.TempDir()
	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{Notify: "dir:" + filepath.Join(dir, "notices")}})
	env.Place(ratchettest.NewOrder("o-1", "mug"))
	env.Move("o-1", workflow.Cancel)
	env.WantEffects("o-1", "2/notify")

	if sent := env.Notifications(); sent != nil {
		t.Errorf("notifications %+v in a file that is not used", sent)
	}

	if files, err := os.ReadDir(filepath.Join(dir, "notices")); err != nil || len(files) == 0 {
		t.Errorf("%d files, error %v", len(files), err)
	}
}

// failing runs a part of a test that must fail, and records how.
type failing struct {
	testing.TB
	messages []string
}

type fatal struct{}

func (f *failing) Errorf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(fatal{})
}

func (f *failing) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

func (f *failing) run(part func()) (message string) {
	defer func() {
		if r := recover(); r != nil && r != any(fatal{}) {
			panic(r)
		}
		message = strings.Join(f.messages, "; ")
		f.messages = nil
	}()
	part()

	return ""
}

func TestAFailureSaysWhatWasWantedAndWhatWasThere(t *testing.T) {
	// The bubble's clock makes vain waits short.
	synctest.Test(t, func(t *testing.T) {
		real := ratchettest.Start(t, ratchettest.Config{Patience: 10 * time.Second})
		real.SetStock("mug", 1)
		real.Place(ratchettest.NewOrder("o-1", "mug"))
		real.Move("o-1", workflow.Cancel)
		real.WantEffects("o-1", "2/notify")
		real.Execute(ratchettest.NewOrder("o-2", "mug"))
		real.WantExecution("o-2", sfntypes.ExecutionStatusSucceeded)

		f := &failing{TB: t}
		env := real.With(f)

		for _, c := range []struct {
			name string
			part func()
			want string
		}{
			{"an order that exists is placed", func() { env.Place(ratchettest.NewOrder("o-1", "cup")) }, "place order o-1: verdict Conflict"},
			{"another order is executed under the same id", func() { env.Execute(ratchettest.NewOrder("o-2", "cup")) }, "another order"},
			{"stock is negative", func() { env.SetStock("mug", -1) }, "set the stock of mug"},
			{"an event is not legal", func() { env.Move("o-1", workflow.Deliver) }, "apply deliver to order o-1: verdict WrongState, want Applied; the order is CANCELLED at transition 2"},
			{"a request is not valid", func() { env.Apply(transitions.Request{OrderID: "o-1"}, transitions.Applied) }, "apply  to order o-1: invalid request"},
			{"an order does not come", func() { env.WantOrder("o-9", workflow.Pending, 1) }, "waited 10s in vain for order o-9 to be PENDING at transition 1; last seen: not there"},
			{"an order does not move", func() { env.WantOrder("o-1", workflow.Refunded, 3) }, "last seen: CANCELLED at transition 2"},
			{"an order is in another state", func() { env.WantOrder("o-1", workflow.Pending, 2) }, "the order is CANCELLED at transition 2"},
			{"an order has moved on", func() { env.WantOrder("o-1", workflow.Pending, 1) }, "the order is CANCELLED at transition 2"},
			{"an execution was not started", func() { env.WantExecution("o-1", sfntypes.ExecutionStatusSucceeded) }, "last seen: it was not started"},
			{"an execution ended otherwise", func() { env.WantExecution("o-2", sfntypes.ExecutionStatusFailed) }, "it ended as SUCCEEDED"},
			{"a row is another one", func() { env.WantJournal("o-1", workflow.Pending, workflow.Shipped) }, "row 2 is transition 2 from \"PENDING\" to CANCELLED; the journal is PENDING, CANCELLED"},
			{"a row is one too many", func() { env.WantJournal("o-1", workflow.Pending) }, "row 2 is transition 2"},
			{"a row is missing", func() { env.WantJournal("o-1", workflow.Pending, workflow.Cancelled, workflow.Refunded) }, "last seen: PENDING, CANCELLED"},
			{"an effect is missing", func() { env.WantEffects("o-1", "2/notify", "2/shipping") }, "waited 10s in vain for the effects of order o-1 to be 2/notify, 2/shipping; last seen: 2/notify"},
			{"an effect is one too many", func() { env.WantEffects("o-1") }, "effect 2/notify is one too many"},
			{"a check fails", func() {
				env.Wait("the moon", func() (bool, string, error) { return false, "", errors.New("new moon") })
			}, "wait for the moon: new moon"},
		} {
			if got := f.run(c.part); !strings.Contains(got, c.want) {
				t.Errorf("%s: the failure is %q, want %q", c.name, got, c.want)
			}
		}
	})
}

func TestANotificationThatIsSentTwiceFailsTheTest(t *testing.T) {
	env := ratchettest.Start(t, ratchettest.Config{})
	env.Place(ratchettest.NewOrder("o-1", "mug"))
	env.Move("o-1", workflow.Cancel)
	env.WantEffects("o-1", "2/notify")

	// As a worker does that sends again after a crash: the same key, once more.
	file, err := destination.OpenFile(strings.TrimPrefix(env.Backend.Config.Notify, "file:"))
	if err != nil {
		t.Fatal(err)
	}

	_, err = file.Send(t.Context(), notify.Message{Notification: env.Notifications()[0]})
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}

	f := &failing{TB: t}
	want := env.WantOrder("o-1", workflow.Cancelled, 2).EffectKey(2, "notify") + " happened 2 times"
	if got := f.run(func() { env.With(f).WantEffects("o-1", "2/notify") }); !strings.Contains(got, want) {
		t.Errorf("the failure is %q, want %q", got, want)
	}

	// The check at the end of the test would fail this test: take the second one back.
	path := strings.TrimPrefix(env.Backend.Config.Notify, "file:")

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
}
