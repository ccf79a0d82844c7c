package timers_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/timers"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	dueTable = "orders-due"
	day      = 24 * time.Hour
)

// plan is a subscription that time renews, reminds of and ends.
func plan(t testing.TB) *workflow.Definition {
	t.Helper()

	d, err := workflow.New(planSpec())
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func planSpec() workflow.Spec {
	active := []workflow.State{"ACTIVE"}

	return workflow.Spec{
		Name: "plan", Version: 1, Place: "start", Initial: "ACTIVE",
		States: []workflow.StateSpec{{State: "ACTIVE"}, {State: "PAUSED"}, {State: "ENDED", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "renew", From: active, To: "ACTIVE", After: &workflow.After{Delay: 30 * day}},
			{Event: "remind", From: active, To: "ACTIVE", After: &workflow.After{Attribute: "remindAt"}},
			{Event: "note", From: active, To: "ACTIVE"},
			{Event: "reset", From: active, To: "ACTIVE", Restart: true},
			{Event: "pause", From: active, To: "PAUSED"},
			{Event: "resume", From: []workflow.State{"PAUSED"}, To: "ACTIVE"},
			{Event: "end", From: active, To: "ENDED", After: &workflow.After{Delay: 100 * day},
				Guards: []workflow.Guard{{Name: "not-kept", Attribute: "kept", Op: "missing"}}},
		},
	}
}

// world has the orders of a plan and their timers, on a clock.
type world struct {
	*shop.Shop
	t      *testing.T
	clock  embeddedtest.Clock
	orders *transitions.Orders
	timers *timers.Timers
	mu     sync.Mutex // guards made
	made   []string
}

func newWorld(t *testing.T) *world {
	t.Helper()

	return newWorldIn(t, transitions.Mapping{})
}

func newWorldIn(t *testing.T, mapping transitions.Mapping) *world {
	t.Helper()

	w := &world{t: t, Shop: shop.Over(t, embeddedtest.Open(t).AWSConfig())}
	w.Mapping = mapping
	w.Tables(timers.TableInput(dueTable))
	w.orders, w.timers = w.machine(0)

	return w
}

// machine returns the orders and timers of a machine whose clock is ahead of the service's.
func (w *world) machine(ahead time.Duration) (*transitions.Orders, *timers.Timers) {
	w.t.Helper()

	return w.machineWith(ahead, func(timer transitions.Timer, _ time.Duration) { w.made = append(w.made, string(timer.Event)) })
}

// client returns a client of DynamoDB whose answers state the time of the world.
func (w *world) client() *dynamodb.Client {
	return dynamodb.New(w.DB.Options(), func(o *dynamodb.Options) {
		o.APIOptions, o.HTTPClient = nil, embeddedtest.Dated{Doer: o.HTTPClient, Now: w.clock.Now}
		o.Retryer = embeddedtest.NoRetries()
	})
}

// machineWith is machine with a function that is called for each transition, one after the other.
func (w *world) machineWith(ahead time.Duration, applied func(transitions.Timer, time.Duration)) (*transitions.Orders, *timers.Timers) {
	w.t.Helper()

	now := func() time.Time { return w.clock.Now().Add(ahead) }
	db := w.client()
	orders := w.Orders(func(c *transitions.Config) { c.Definition, c.Now, c.DynamoDB = plan(w.t), now, db })

	timed, err := timers.New(timers.Config{
		DynamoDB: db, Table: dueTable, Orders: orders, Log: embeddedtest.Quiet(), Now: now,
		Applied: func(timer transitions.Timer, late time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()

			applied(timer, late)
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}

	return orders, timed
}

// change changes the order and hands the record of that to the timers.
func (w *world) change(id transitions.OrderID, do func()) {
	w.t.Helper()

	before := w.Item(w.t, id)
	do()

	if err := w.timers.Record(w.t.Context(), before, w.Item(w.t, id)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) place(id transitions.OrderID) {
	w.t.Helper()
	w.change(id, func() {
		shop.Place(w.t, w.orders, transitions.NewOrder{ID: id, Total: transitions.Money{Currency: "EUR"}})
	})
}

func (w *world) apply(id transitions.OrderID, event workflow.Event) {
	w.t.Helper()

	w.change(id, func() {
		r, err := w.orders.Apply(w.t.Context(), transitions.Request{OrderID: id, Event: event, RequestID: transitions.RequestID(fmt.Sprint(event, w.clock.Now()))})
		if err != nil || r.Verdict != transitions.Applied {
			w.t.Fatalf("%s: %s, %v", event, r.Verdict, err)
		}
	})
}

// set writes an attribute of the order as another program does, nil to remove it.
func (w *world) set(id transitions.OrderID, name string, v types.AttributeValue) {
	w.t.Helper()

	w.change(id, func() {
		update := dynamo.NewUpdate(shop.OrdersTable, w.Mapping.ItemKey(id))
		if v == nil {
			update.RemoveAttribute(name)
		} else {
			update.SetValue(name, v)
		}

		if _, err := w.DB.UpdateItem(w.t.Context(), update.Input()); err != nil {
			w.t.Fatal(err)
		}
	})
}

// sweep lets time pass and sweeps. It checks which transitions were made, in that order.
func (w *world) sweep(pass time.Duration, want ...string) {
	w.t.Helper()

	w.clock.Advance(pass)
	w.made = nil

	before := map[transitions.OrderID]map[string]types.AttributeValue{}
	for _, id := range []transitions.OrderID{"o-1", "o-2", "o-3"} {
		before[id] = w.Item(w.t, id)
	}

	if _, err := w.timers.Sweep(w.t.Context(), 100); err != nil {
		w.t.Fatal(err)
	}

	if fmt.Sprint(w.made) != fmt.Sprint(want) {
		w.t.Errorf("time made %v, want %v", w.made, want)
	}

	for id, item := range before {
		if reflect.DeepEqual(item, w.Item(w.t, id)) {
			continue
		}

		if err := w.timers.Record(w.t.Context(), item, w.Item(w.t, id)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// rows counts the due rows.
func (w *world) rows(want int) {
	w.t.Helper()

	out, err := w.DB.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(dueTable)})
	if err != nil {
		w.t.Fatal(err)
	}

	if len(out.Items) != want {
		w.t.Errorf("%d due rows, want %d: %v", len(out.Items), want, out.Items)
	}
}

func (w *world) order(id transitions.OrderID) *transitions.Order {
	w.t.Helper()

	o, found, err := w.orders.Get(w.t.Context(), id)
	if err != nil || !found {
		w.t.Fatal(found, err)
	}

	return o
}

func TestTimeMovesAnOrderOnceAndNotEarly(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	w.rows(1)
	w.sweep(30*day - time.Second)
	w.sweep(4*time.Second, "renew")
	w.sweep(0)

	o := w.order("o-1")
	if o.State != "ACTIVE" || o.TransitionID != 2 || o.Cause.Code != transitions.CodeTime || o.Cause.Source != transitions.CodeTime {
		t.Errorf("%s, %d, %+v", o.State, o.TransitionID, o.Cause)
	}

	// Its own timer starts with the transition. The timer of the end does not.
	w.sweep(30*day-time.Second, []string{}...)
	w.sweep(time.Minute, "renew")
	w.sweep(30*day+time.Minute, "renew")
	w.sweep(10*day, "end")
	w.rows(0)
	w.sweep(365 * day)
}

// The start of an event's own timer has the name that the mapping gives it.
func TestTimersInEveryMapping(t *testing.T) {
	for name, mapping := range shop.Mappings() {
		w := newWorldIn(t, mapping)
		w.place("o-1")
		w.sweep(30*day+time.Minute, "renew")
		w.sweep(29 * day)
		w.sweep(day+time.Minute, "renew")

		attribute := mapping.Attributes["timers"]
		if attribute == "" {
			attribute = mapping.Prefix + "timers"
		}

		if w.Item(t, "o-1")[attribute] == nil {
			t.Errorf("%s: the order has no %s", name, attribute)
		}
	}
}

func TestOtherEventsDoNotStopATimerAndRestartRestartsIt(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")

	for range 12 { // more than the ring holds
		w.clock.Advance(day)
		w.apply("o-1", "note")
	}
	w.sweep(18*day-time.Minute, []string{}...)
	w.sweep(2*time.Minute, "renew")

	w.clock.Advance(29 * day)
	w.apply("o-1", "reset")
	w.sweep(29 * day)
	w.sweep(day+time.Minute, "renew")
}

func TestLeavingTheStateEndsItsTimers(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	w.apply("o-1", "pause")
	w.rows(0)
	w.sweep(200 * day)

	w.apply("o-1", "resume")
	w.rows(1)
	w.sweep(29 * day)
	w.sweep(2*day, "renew")
}

func TestAnEditOfTheAttributeMovesItsTimer(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	w.set("o-1", "remindAt", dynamo.S(w.clock.Now().Add(5*day).Format(time.RFC3339)))
	w.rows(1)
	w.set("o-1", "remindAt", dynamo.Millis(w.clock.Now().Add(10*day)))
	w.rows(1)
	w.sweep(6 * day)
	w.sweep(4*day+time.Minute, "remind")
	w.sweep(10 * day) // until the attribute is moved again

	w.set("o-1", "remindAt", dynamo.Seconds(w.clock.Now().Add(day)))
	w.sweep(day+time.Minute, "remind")
	w.set("o-1", "remindAt", dynamo.S("no time"))
	w.sweep(7 * day)
	w.rows(1)
}

// A stale row moves nothing: the order decides.
func TestARowOfAnotherMomentIsMoved(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	before := w.Item(t, "o-1")

	w.clock.Advance(20 * day)
	w.change("o-1", func() {
		if _, err := w.orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: "reset", RequestID: "r"}); err != nil {
			t.Fatal(err)
		}
		// The record comes again, out of its order: the row of before is there once more.
		if err := w.timers.Record(t.Context(), nil, before); err != nil {
			t.Fatal(err)
		}
	})
	w.sweep(11 * day)
	w.rows(1)
	w.sweep(18 * day)
	w.sweep(2*day, "renew")
}

func TestAGuardThatDoesNotHoldKeepsTheTimer(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	w.set("o-1", "kept", dynamo.Bool(true))

	for range 3 {
		w.sweep(30*day+time.Minute, "renew")
	}
	w.sweep(10 * day)
	w.sweep(time.Minute)

	if all := w.orders.Timers(w.order("o-1")); len(all) != 2 || all[0].Event != "end" || all[0].Unmet != "guard not-kept needs kept missing" {
		t.Errorf("%+v", all)
	}

	// The change brings the row back at once.
	w.set("o-1", "kept", nil)
	w.sweep(0, "end")
	w.sweep(10 * day)
	w.rows(0)
}

// A guard holds again without a record, or the record is late: the waits end.
func TestATimerThatWasRefusedIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	w.set("o-1", "kept", dynamo.Bool(true))

	for range 3 {
		w.sweep(30*day+time.Minute, "renew")
	}
	w.sweep(10 * day)
	w.sweep(time.Minute + 3*time.Second)

	update := dynamo.NewUpdate(shop.OrdersTable, w.Mapping.ItemKey("o-1")).RemoveAttribute("kept")
	if _, err := w.DB.UpdateItem(t.Context(), update.Input()); err != nil {
		t.Fatal(err)
	}
	w.sweep(time.Minute)
	w.sweep(time.Minute+3*time.Second, "end")
}

func TestWrongClocksMakeNoTransitionEarly(t *testing.T) {
	for _, ahead := range []time.Duration{-72 * time.Hour, 72 * time.Hour} {
		w := newWorld(t)
		w.place("o-1")
		w.orders, w.timers = w.machine(ahead)
		w.sweep(30*day - time.Minute)
		w.sweep(2*time.Minute, "renew")

		if entered := w.order("o-1").UpdatedAt; entered.Sub(w.clock.Now()).Abs() > 2*time.Second {
			t.Errorf("%s ahead: written at %s, by the service %s", ahead, entered, w.clock.Now())
		}
	}
}

func TestSweepsAtOnceMakeATransitionOnce(t *testing.T) {
	w := newWorld(t)
	for n := range 20 {
		w.place(transitions.OrderID(fmt.Sprint("many-", n)))
	}
	w.clock.Advance(30*day + time.Minute)

	var group sync.WaitGroup
	for range 4 {
		_, timed := w.machine(0)
		group.Go(func() {
			if _, err := timed.Sweep(t.Context(), 100); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	for n := range 20 {
		if o := w.order(transitions.OrderID(fmt.Sprint("many-", n))); o.TransitionID != 2 {
			t.Errorf("%s has made %d transitions", o.ID, o.TransitionID)
		}
	}
	w.rows(20)
}

func TestAnOrderThatCannotBeMovedBlocksNoOther(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	w.place("o-2")
	broken := dynamo.NewUpdate(shop.OrdersTable, w.Mapping.ItemKey("o-1")).SetValue("orderState", dynamo.N(1))

	if _, err := w.DB.UpdateItem(t.Context(), broken.Input()); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(31 * day)

	for range 2 { // one row at a time: the broken one is postponed
		if swept, err := w.timers.Sweep(t.Context(), 1); swept.Rows != 1 {
			t.Errorf("%+v, %v", swept, err)
		}
	}

	if o := w.order("o-2"); o.TransitionID != 2 {
		t.Error("the other order has not moved")
	}
	w.rows(2)
}

func TestRebuildWritesTheRowsOfOlderOrders(t *testing.T) {
	w := newWorld(t)

	if err := w.timers.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}

	if state, err := w.timers.State(t.Context()); err != nil || state.Missing != "" || state.Since.IsZero() {
		t.Errorf("without orders: %+v, %v", state, err)
	}

	for n := range 30 {
		shop.Place(t, w.orders, transitions.NewOrder{ID: transitions.OrderID(fmt.Sprint("many-", n)), Total: transitions.Money{Currency: "EUR"}})
	}

	// The first one is stopped.
	stopped := w.Wire.Inject(embeddedtest.LoseRequest("PutItem").From(10))
	if _, err := w.timers.Rebuild(t.Context(), nil); err == nil {
		t.Error("the rebuild was not stopped")
	}
	stopped.Remove()

	found, err := w.timers.Rebuild(t.Context(), nil)
	if err != nil || !found.Resumed || found.Orders == 30 || found.Timers != found.Orders || found.Unreadable != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	w.rows(31) // with the one that says so

	if found, err := w.timers.Rebuild(t.Context(), nil); err != nil || found.Resumed || found.Orders != 30 {
		t.Errorf("%+v, %v", found, err)
	}
}

// What has happened since the order was read decides: the write of a timer that is no longer the order's is refused.
func TestATimerThatHasEndedMovesNothing(t *testing.T) {
	for name, change := range map[string]func(*world){
		"the order has left the state":        func(w *world) { w.apply("o-1", "pause") },
		"the order has entered it again":      func(w *world) { w.apply("o-1", "pause"); w.clock.Advance(time.Second); w.apply("o-1", "resume") },
		"an event has restarted it":           func(w *world) { w.apply("o-1", "reset") },
		"the event itself was applied":        func(w *world) { w.apply("o-1", "remind") },
		"its attribute was moved":             func(w *world) { w.set("o-1", "remindAt", dynamo.Seconds(w.clock.Now().Add(day))) },
		"its attribute is gone":               func(w *world) { w.set("o-1", "remindAt", nil) },
		"another sweep has made a transition": func(w *world) { w.sweep(3*time.Second, "remind") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.place("o-1")
			w.clock.Advance(time.Minute)
			w.set("o-1", "remindAt", dynamo.Seconds(w.clock.Now()))
			w.clock.Advance(3 * time.Second)

			order := w.order("o-1")
			timer := w.orders.Timers(order)[0]
			change(w)
			before := w.order("o-1").TransitionID

			r, err := w.orders.ApplyTimer(t.Context(), order, timer)
			if err != nil || timer.Event != "remind" || r.Verdict == transitions.Applied || w.order("o-1").TransitionID != before {
				t.Errorf("%s: %s, %v", timer.Event, r.Verdict, err)
			}
		})
	}
}

// Events that keep the state stop no timer, also between the read of the order and the write.
func TestAnEventBetweenReadAndWriteDoesNotStopATimer(t *testing.T) {
	w := newWorld(t)
	w.place("o-1")
	w.clock.Advance(31 * day)

	order := w.order("o-1")
	w.apply("o-1", "note")

	r, err := w.orders.ApplyTimer(t.Context(), order, w.orders.Timers(order)[0])
	if err != nil || r.Verdict != transitions.Applied || r.Transition.Event != "renew" || r.Transition.ID != 3 {
		t.Errorf("%s, %+v, %v", r.Verdict, r.Transition, err)
	}
}

// TestACrashAtAnyCallOfASweepEndsAsWithoutOne loses each call of a sweep, before and after it was carried out, and
// all calls after it. The next sweep ends what the first one has begun.
func TestACrashAtAnyCallOfASweepEndsAsWithoutOne(t *testing.T) {
	for _, lose := range []func(...string) embeddedtest.Fault{embeddedtest.LoseRequest, embeddedtest.LoseAnswer} {
		for n := 1; ; n++ {
			w := newWorld(t)
			w.place("o-1")
			w.clock.Advance(30*day + time.Minute)

			before := w.Item(t, "o-1")
			answer := w.Wire.Inject(lose().From(n).Next(1))
			rest := w.Wire.Inject(embeddedtest.LoseRequest().From(n + 1))
			_, err := w.timers.Sweep(t.Context(), 100)
			answer.Remove()
			rest.Remove()

			// The stream has the record of what was written.
			if now := w.Item(t, "o-1"); !reflect.DeepEqual(before, now) {
				if err := w.timers.Record(t.Context(), before, now); err != nil {
					t.Fatal(err)
				}
			}

			w.clock.Advance(2 * time.Minute)
			w.sweep(0, w.unless("renew")...)

			if o := w.order("o-1"); o.TransitionID != 2 {
				t.Errorf("call %d: %d transitions", n, o.TransitionID)
			}
			w.sweep(30*day+time.Minute, "renew")

			if err == nil {
				break // the sweep has fewer calls
			}
		}
	}
}

// unless returns the event, or nothing if it was made before.
func (w *world) unless(event string) []string {
	if w.order("o-1").TransitionID > 1 {
		return nil
	}

	return []string{event}
}

// Workers of another definition write no rows for the timers of this one. What was built before they ran says nothing
// about the orders that they have handled.
func TestAWorkerOfAnotherDefinitionEndsWhatWasBuilt(t *testing.T) {
	for about, other := range map[string]func(*workflow.Spec){
		"other moments": func(s *workflow.Spec) { s.Transitions[0].After = &workflow.After{Delay: day} },
		"no timers": func(s *workflow.Spec) {
			for i := range s.Transitions {
				s.Transitions[i].After, s.Transitions[i].Restart = nil, false
			}
		},
	} {
		t.Run(about, func(t *testing.T) {
			w := newWorld(t)

			if err := w.timers.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}

			another := w.withDefinition(other)
			if err := another.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}

			// Its handler has written no row of this order.
			shop.Place(t, w.orders, transitions.NewOrder{ID: "s-1", Total: transitions.Money{Currency: "EUR"}})

			// Back again.
			if err := w.timers.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}

			if state, err := w.timers.State(t.Context()); err != nil || state.Missing == "" {
				t.Errorf("the order has no row: %+v, %v", state, err)
			}

			if found, err := w.timers.Rebuild(t.Context(), nil); err != nil || found.Timers != 1 {
				t.Errorf("%+v, %v", found, err)
			}

			if state, err := w.timers.State(t.Context()); err != nil || state.Missing != "" {
				t.Errorf("after a rebuild: %+v, %v", state, err)
			}
		})
	}
}

// A rebuild that was stopped does not go on over what workers of another definition have done meanwhile, and one that
// runs beside them has not come to the end of it.
func TestAWorkerOfAnotherDefinitionEndsARebuild(t *testing.T) {
	w := newWorld(t)
	for n := range 30 {
		shop.Place(t, w.orders, transitions.NewOrder{ID: transitions.OrderID(fmt.Sprint("many-", n)), Total: transitions.Money{Currency: "EUR"}})
	}
	another := w.withDefinition(func(s *workflow.Spec) { s.Transitions[0].After = &workflow.After{Delay: day} })

	stopped := w.Wire.Inject(embeddedtest.LoseRequest("PutItem").From(10))
	if _, err := w.timers.Rebuild(t.Context(), nil); err == nil {
		t.Error("the rebuild was not stopped")
	}
	stopped.Remove()

	if err := another.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}

	begun := false
	found, err := w.timers.Rebuild(t.Context(), func(timers.Rebuilt) {
		if !begun {
			begun = true

			if err := another.Begin(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil || found.Resumed || !begun {
		t.Errorf("%+v, %t, %v", found, begun, err)
	}

	if state, err := w.timers.State(t.Context()); err != nil || state.Missing == "" {
		t.Errorf("%+v, %v", state, err)
	}

	if found, err := w.timers.Rebuild(t.Context(), nil); err != nil || found.Orders != 30 {
		t.Errorf("%+v, %v", found, err)
	}
}

// withDefinition returns the timers of a worker with a changed definition.
func (w *world) withDefinition(change func(*workflow.Spec)) *timers.Timers {
	w.t.Helper()

	spec := planSpec()
	change(&spec)

	d, err := workflow.New(spec)
	if err != nil {
		w.t.Fatal(err)
	}

	other, err := timers.New(timers.Config{
		DynamoDB: w.DB, Table: dueTable, Log: embeddedtest.Quiet(),
		Orders: w.Orders(func(c *transitions.Config) { c.Definition = d }),
	})
	if err != nil {
		w.t.Fatal(err)
	}

	return other
}
