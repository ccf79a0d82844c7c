package scheduled_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	table    = "scheduled"
	dueTable = "orders-due"
	day      = 24 * time.Hour
)

// world has orders and their scheduled requests, on a clock.
type world struct {
	*shop.Shop
	t        *testing.T
	clock    embeddedtest.Clock
	orders   *transitions.Orders
	schedule *scheduled.Schedule
	mu       sync.Mutex
	ended    []string                        // that sweeps have ended
	between  func(*dynamodb.DeleteItemInput) // is called after each deletion, if it is set
	before   func()                          // is called before the next transaction, if it is set
}

// hooked calls a function after each deletion, and one before each transaction.
type hooked struct {
	*dynamodb.Client

	w *world
}

func (h hooked) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, err := h.Client.DeleteItem(ctx, in, o...)
	if h.w.between != nil {
		h.w.between(in)
	}

	return out, err
}

func (h hooked) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if before := h.w.before; before != nil {
		h.w.before = nil
		before()
	}

	return h.Client.TransactWriteItems(ctx, in, o...)
}

func newWorld(t *testing.T) *world {
	t.Helper()

	return newWorldIn(t, transitions.Mapping{})
}

func newWorldIn(t *testing.T, mapping transitions.Mapping, change ...func(*transitions.Config)) *world {
	t.Helper()

	w := &world{t: t, Shop: shop.Over(t, embeddedtest.Open(t).AWSConfig())}
	w.Mapping = mapping
	w.Tables(scheduled.TableInput(table), shopDue())
	w.orders, w.schedule = w.machine(0, change...)

	return w
}

// shopDue describes the table of due rows.
func shopDue() *dynamodb.CreateTableInput {
	in := scheduled.TableInput(dueTable)
	for i, name := range []string{"shard", "due"} {
		in.KeySchema[i].AttributeName, in.AttributeDefinitions[i].AttributeName = aws.String(name), aws.String(name)
	}

	return in
}

// machine returns the orders and the schedule of a machine whose clock is ahead of the service's.
func (w *world) machine(ahead time.Duration, change ...func(*transitions.Config)) (*transitions.Orders, *scheduled.Schedule) {
	w.t.Helper()

	now := func() time.Time { return w.clock.Now().Add(ahead) }
	db := dynamodb.New(w.DB.Options(), func(o *dynamodb.Options) {
		o.APIOptions, o.HTTPClient = nil, embeddedtest.Dated{Doer: o.HTTPClient, Now: w.clock.Now}
		o.Retryer = embeddedtest.NoRetries()
	})
	orders := w.Orders(append(change, func(c *transitions.Config) { c.Now, c.DynamoDB = now, hooked{db, w} })...)

	schedule, err := scheduled.New(scheduled.Config{
		DynamoDB: hooked{db, w}, Table: table, DueTable: dueTable, Orders: orders, Log: embeddedtest.Quiet(), Now: now,
		Ended: func(r scheduled.Request, _ time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()

			w.ended = append(w.ended, fmt.Sprintf("%s of %s %s", r.Event, r.OrderID, r.Status))
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}

	return orders, schedule
}

// request is a request for the event.
func request(order transitions.OrderID, event workflow.Event) transitions.Request {
	return transitions.Request{OrderID: order, Event: event, RequestID: transitions.RequestID("later-" + event)}
}

// place places a request that is due after the time from now.
func (w *world) place(r transitions.Request, after time.Duration) scheduled.Request {
	w.t.Helper()

	placed, err := w.schedule.Place(w.t.Context(), r, w.clock.Now().Add(after))
	if err != nil || placed.Repeated || placed.Request.Status != scheduled.Pending {
		w.t.Fatalf("%+v, %v", placed, err)
	}

	return placed.Request
}

// sweep sweeps once, after the time.
func (w *world) sweep(after time.Duration) scheduled.Swept {
	w.t.Helper()
	w.clock.Advance(after)

	swept, err := w.schedule.Sweep(w.t.Context(), 100)
	if err != nil {
		w.t.Fatal(err)
	}

	return swept
}

// is checks what has become of a request, and of its order.
func (w *world) is(r scheduled.Request, status scheduled.Status, verdict transitions.Verdict, state workflow.State) scheduled.Request {
	w.t.Helper()

	now, err := w.schedule.Get(w.t.Context(), r.OrderID, r.ID)
	if err != nil || now.Status != status || now.Verdict != verdict {
		w.t.Errorf("the request is %s, %s, %q, want %s, %s; %v", now.Status, now.Verdict, now.Reason, status, verdict, err)
	}

	order, found, err := w.orders.Get(w.t.Context(), r.OrderID)
	if err != nil {
		w.t.Fatal(err)
	}

	if found && order.State != state {
		w.t.Errorf("the order is %s, want %s", order.State, state)
	}

	return now
}

// rows counts the items of a table.
func (w *world) rows(name string) int32 {
	w.t.Helper()

	out, err := w.DB.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: &name, Select: types.SelectCount})
	if err != nil {
		w.t.Fatal(err)
	}

	return out.Count
}

func TestARequestIsAppliedAtItsTime(t *testing.T) {
	t.Parallel()

	for name, mapping := range shop.Mappings() {
		for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()

				w := newWorldIn(t, mapping, shop.Journal(mode))
				shop.Place(t, w.orders, shop.Mugs("o-1", 1))

				r := request("o-1", workflow.Pay)
				r.From, r.Cause = "PENDING", transitions.Cause{Code: "later", Actor: "cli:ada"}
				placed := w.place(r, day)

				if w.sweep(day + time.Second); w.is(placed, scheduled.Pending, 0, "PENDING").TransitionID != 0 {
					t.Error("a request that waits has a transition")
				}

				if swept := w.sweep(2 * time.Second); swept.Applied != 1 || swept.Rows != 1 || swept.Late < 2*time.Second {
					t.Errorf("%+v", swept)
				}

				now := w.is(placed, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")
				if order, _, err := w.orders.Get(t.Context(), "o-1"); err != nil || order.TransitionID != now.TransitionID || order.Cause.Actor != "cli:ada" || now.EndedAt.IsZero() {
					t.Errorf("%+v, %+v, %v", now, order, err)
				}

				// The caller's own repeat of the request, without a time.
				if result, err := w.orders.Apply(t.Context(), r); err != nil || result.Verdict != transitions.Replayed || result.Transition.ID != now.TransitionID {
					t.Errorf("%s, %v", result.Verdict, err)
				}

				if swept := w.sweep(day); swept.Rows != 0 || w.rows(dueTable) != 0 {
					t.Errorf("%+v, %d due rows are left", swept, w.rows(dueTable))
				}
			})
		}
	}
}

// What a request says is stored as it is: own attributes, values of guards, conditions.
func TestTheWholeRequestIsApplied(t *testing.T) {
	t.Parallel()

	guarded, err := workflow.New(workflow.Spec{
		Name: "g", Version: 1, Place: "place", Initial: "NEW", States: []workflow.StateSpec{{State: "NEW"}, {State: "OLD", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "age", From: []workflow.State{"NEW"}, To: "OLD", Guards: []workflow.Guard{{Name: "limit", Attribute: "limit", Op: "<=", Request: "limit"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}

	w := newWorldIn(t, transitions.Mapping{}, func(c *transitions.Config) { c.Definition = guarded })
	shop.Place(t, w.orders, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}, Own: transitions.Attributes{"limit": &types.AttributeValueMemberN{Value: "9007199254740993"}}})

	seen := transitions.TransitionID(1)
	r := request("o-1", "age")
	r.Values, r.IfMatch = map[string]any{"limit": int64(9007199254740993)}, &seen
	r.Own = transitions.OwnChange{
		Set: transitions.Attributes{"note": &types.AttributeValueMemberS{Value: "done"}}, Remove: []string{"gone"},
		If: transitions.OwnGuards{Exists: []string{"limit"}, Missing: []string{"note"}},
	}
	placed := w.place(r, day)
	w.sweep(day + time.Minute)
	w.is(placed, scheduled.Applied, transitions.Applied, "OLD")

	if order, _, err := w.orders.Get(t.Context(), "o-1"); err != nil || order.Own["note"] == nil {
		t.Errorf("%+v, %v", order, err)
	}
}

func TestARepeatGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	r, at := request("o-1", workflow.Pay), w.clock.Now().Add(day)
	placed := w.place(r, day)

	repeat := func(about string, r transitions.Request, at time.Time, want error) {
		t.Helper()

		again, err := w.schedule.Place(t.Context(), r, at)
		if !errors.Is(err, want) || err == nil && (!again.Repeated || again.Request.ID != placed.ID) {
			t.Errorf("%s: %+v, %v, want %v", about, again, err, want)
		}
	}

	other := r
	other.Cause.Text = "again"
	repeat("another cause", other, at, nil)
	repeat("another time", r, at.Add(time.Millisecond), scheduled.ErrConflict)
	other.From = "PENDING"
	repeat("another content", other, at, scheduled.ErrConflict)

	if _, err := w.schedule.Move(t.Context(), "o-1", placed.ID, at.Add(day)); err != nil {
		t.Fatal(err)
	}
	repeat("after a move", r, at, nil)

	w.sweep(2*day + time.Minute)
	repeat("after the end", r, at, nil)
	w.is(placed, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")

	// In the end it is forgotten, and then its time is long past.
	w.clock.Advance(40 * day)
	repeat("of what was forgotten", r, at, scheduled.ErrTime)
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))

	change := func(do func(*transitions.Request)) transitions.Request {
		r := request("o-1", workflow.Pay)
		do(&r)

		return r
	}

	for about, test := range map[string]struct {
		request transitions.Request
		after   time.Duration
		want    error
	}{
		"no request id":      {change(func(r *transitions.Request) { r.RequestID, r.TransitionID = "", 2 }), day, transitions.ErrInvalidRequest},
		"the placing event":  {change(func(r *transitions.Request) { r.Event = w.orders.Definition().Place() }), day, transitions.ErrInvalidRequest},
		"a field as own":     {change(func(r *transitions.Request) { r.Own.Remove = []string{"orderState"} }), day, transitions.ErrInvalidRequest},
		"an unknown order":   {request("o-2", workflow.Pay), day, transitions.ErrUnknownOrder},
		"another life":       {change(func(r *transitions.Request) { r.Incarnation = transitions.NewIncarnation(w.clock.Now()) }), day, scheduled.ErrAnotherLife},
		"beyond a year":      {request("o-1", workflow.Pay), 366*day + time.Second, scheduled.ErrTime},
		"more than a minute": {request("o-1", workflow.Pay), -61 * time.Second, scheduled.ErrTime},
	} {
		if placed, err := w.schedule.Place(t.Context(), test.request, w.clock.Now().Add(test.after)); !errors.Is(err, test.want) {
			t.Errorf("%s: %+v, %v, want %v", about, placed, err, test.want)
		}
	}

	if _, err := w.schedule.Get(t.Context(), "o-1", "00"); !errors.Is(err, scheduled.ErrNotFound) {
		t.Error(err)
	}
}

func TestWhatCannotBeMadeIsEnded(t *testing.T) {
	t.Parallel()

	w := newWorld(t)

	for n, test := range []struct {
		about   string
		request func(*transitions.Request)
		before  func(transitions.OrderID)
		want    transitions.Verdict
		state   workflow.State
	}{
		{"the order has left the state", func(r *transitions.Request) {}, func(id transitions.OrderID) { w.apply(id, workflow.Pay) }, transitions.WrongState, "PAYMENT_RECEIVED"},
		{"no such event", func(r *transitions.Request) { r.Event = "fly" }, nil, transitions.Illegal, "PENDING"},
		{"not from this state", func(r *transitions.Request) { r.From = "SHIPPED" }, nil, transitions.Illegal, "PENDING"},
		{"the order has moved since", func(r *transitions.Request) { r.IfMatch = new(transitions.TransitionID(1)) }, func(id transitions.OrderID) { w.apply(id, workflow.Hold) }, transitions.Superseded, "ON_HOLD"},
		{"the order is gone", func(r *transitions.Request) {}, w.remove, transitions.NotFound, ""},
		{"another order has the id", func(r *transitions.Request) {}, func(id transitions.OrderID) {
			w.remove(id)
			w.clock.Advance(time.Minute)
			shop.Place(t, w.orders, shop.Mugs(id, 1))
		}, transitions.Superseded, "PENDING"},
		{"an own attribute has another value", func(r *transitions.Request) { r.Own.If.Exists = []string{"absent"} }, nil, transitions.WrongState, "PENDING"},
	} {
		id := transitions.OrderID(fmt.Sprint("o-", n))
		shop.Place(t, w.orders, shop.Mugs(id, 1))

		r := request(id, workflow.Pay)
		test.request(&r)
		placed := w.place(r, day)

		if test.before != nil {
			test.before(id)
		}

		if swept := w.sweep(day + time.Minute); swept.Refused != 1 {
			t.Errorf("%s: %+v", test.about, swept)
		}

		if now := w.is(placed, scheduled.Refused, test.want, test.state); now.Reason == "" || now.EndedAt.IsZero() {
			t.Errorf("%s: %+v", test.about, now)
		}

		if swept := w.sweep(day); swept.Rows != 0 {
			t.Errorf("%s: it is judged again: %+v", test.about, swept)
		}
	}
}

// apply applies an event at once.
func (w *world) apply(id transitions.OrderID, event workflow.Event) {
	w.t.Helper()

	r := request(id, event)
	r.RequestID = "now-" + r.RequestID

	if result, err := w.orders.Apply(w.t.Context(), r); err != nil || !result.Verdict.Done() {
		w.t.Fatalf("%s: %s, %v", event, result.Verdict, err)
	}
}

// remove deletes an order as another program does.
func (w *world) remove(id transitions.OrderID) {
	w.t.Helper()

	if _, err := w.DB.DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: w.Mapping.ItemKey(id)}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAMovedRequestIsAppliedAtItsNewTime(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	shop.Place(t, w.orders, shop.Mugs("o-2", 1))

	later, sooner := w.place(request("o-1", workflow.Pay), day), w.place(request("o-2", workflow.Pay), 10*day)

	for to, r := range map[time.Duration]scheduled.Request{3 * day: later, 2 * day: sooner} {
		for range 2 {
			moved, err := w.schedule.Move(t.Context(), r.OrderID, r.ID, w.clock.Now().Add(to))
			if err != nil || !moved.At.Equal(w.clock.Now().Add(to).Truncate(time.Millisecond)) {
				t.Errorf("%+v, %v", moved, err)
			}
		}
	}

	if _, err := w.schedule.Move(t.Context(), "o-1", later.ID, w.clock.Now().Add(400*day)); !errors.Is(err, scheduled.ErrTime) {
		t.Error(err)
	}

	w.sweep(day + time.Minute)
	w.is(later, scheduled.Pending, 0, "PENDING")
	w.sweep(day)
	w.is(later, scheduled.Pending, 0, "PENDING")
	w.is(sooner, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")
	w.sweep(day)
	w.is(later, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")

	ended := (*scheduled.EndedError)(nil)
	if _, err := w.schedule.Move(t.Context(), "o-1", later.ID, w.clock.Now().Add(day)); !errors.As(err, &ended) || ended.Request.Status != scheduled.Applied {
		t.Error(err)
	}

	if n := w.rows(dueTable); n != 0 {
		t.Errorf("%d due rows are left", n)
	}
}

func TestAWithdrawnRequestIsNeverApplied(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	placed := w.place(request("o-1", workflow.Pay), day)

	for range 2 {
		if r, err := w.schedule.Withdraw(t.Context(), "o-1", placed.ID); err != nil || r.Status != scheduled.Withdrawn {
			t.Errorf("%+v, %v", r, err)
		}
	}

	if n := w.rows(dueTable); n != 0 {
		t.Errorf("%d due rows are left", n)
	}

	// A due row that is left over changes nothing.
	if _, err := w.schedule.Move(t.Context(), "o-1", placed.ID, w.clock.Now().Add(2*day)); !errors.Is(err, scheduled.ErrEnded) {
		t.Error(err)
	}

	w.sweep(day + time.Minute)
	w.is(placed, scheduled.Withdrawn, 0, "PENDING")
}

// Two workers judge a request while a caller withdraws it, another one moves it, and others move the order: one of them
// is first, and all answers agree with that.
func TestOneOfTwoWins(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	_, other := w.machine(3 * time.Hour)
	won := map[scheduled.Status]int{}

	for n := range 60 {
		id := transitions.OrderID(fmt.Sprint("o-", n))
		shop.Place(t, w.orders, shop.Mugs(id, 1))
		placed := w.place(request(id, workflow.Pay), time.Second)
		w.clock.Advance(4 * time.Second)

		var (
			all       sync.WaitGroup
			withdrawn error
			movedTo   error
		)

		for _, s := range []*scheduled.Schedule{w.schedule, other} {
			all.Go(func() {
				if _, err := s.Sweep(t.Context(), 100); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() { _, withdrawn = w.schedule.Withdraw(t.Context(), id, placed.ID) })

		if n%2 == 0 {
			all.Go(func() { _, movedTo = w.schedule.Move(t.Context(), id, placed.ID, w.clock.Now().Add(day)) })
		}
		all.Wait()

		now, err := w.schedule.Get(t.Context(), id, placed.ID)
		if err != nil {
			t.Fatal(err)
		}

		order, _, err := w.orders.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		won[now.Status]++

		if applied := order.State == "PAYMENT_RECEIVED"; applied != (now.Status == scheduled.Applied) || (withdrawn == nil) != (now.Status == scheduled.Withdrawn) {
			t.Errorf("the order is %s, the request %s; the withdrawal: %v, the move: %v", order.State, now.Status, withdrawn, movedTo)
		}

		if withdrawn != nil && !errors.Is(withdrawn, scheduled.ErrEnded) || movedTo != nil && !errors.Is(movedTo, scheduled.ErrEnded) {
			t.Error(withdrawn, movedTo)
		}
	}
	t.Log(won)
}

func TestAnOrderHasAtMostAThousand(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))

	later := func(n int) transitions.Request {
		r := request("o-1", workflow.Pay)
		r.RequestID = transitions.RequestID(fmt.Sprint("n-", n))

		return r
	}

	// The count of those that wait is brought near the bound.
	first := w.place(later(0), day)
	w.count(1000 - 3)

	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		full int
	)

	for n := range 8 {
		all.Go(func() {
			_, err := w.schedule.Place(t.Context(), later(n+1), w.clock.Now().Add(day))
			if err != nil && !errors.Is(err, scheduled.ErrFull) {
				t.Error(err)
			}

			mu.Lock()
			defer mu.Unlock()

			if err != nil {
				full++
			}
		})
	}
	all.Wait()

	if full != 5 {
		t.Errorf("%d of 8 were refused where 3 had room", full)
	}

	// Each that ends makes room for one.
	if _, err := w.schedule.Withdraw(t.Context(), "o-1", first.ID); err != nil {
		t.Fatal(err)
	}
	w.place(later(20), day)

	if _, err := w.schedule.Place(t.Context(), later(21), w.clock.Now().Add(day)); !errors.Is(err, scheduled.ErrFull) {
		t.Error(err)
	}

	w.sweep(day + time.Minute)

	if found, complete, err := w.schedule.OfOrder(t.Context(), "o-1"); err != nil || !complete || len(found) != 5 || found[0].Status == scheduled.Pending {
		t.Errorf("%v, %t, %v", found, complete, err)
	}
	w.place(later(22), day)
}

// count sets how many requests wait.
func (w *world) count(n int) {
	w.t.Helper()

	out, err := w.DB.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
	if err != nil {
		w.t.Fatal(err)
	}

	for _, item := range out.Items {
		if item["pending"] != nil {
			item["pending"] = &types.AttributeValueMemberN{Value: fmt.Sprint(n)}
			if _, err := w.DB.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// After an outage, requests of one order are judged in the order of their times, by several workers.
func TestRequestsOfAnOrderAreJudgedInTheirOrder(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	_, other := w.machine(-5 * time.Hour)
	events := []workflow.Event{workflow.Hold, workflow.Release, workflow.Pay, workflow.Ship, workflow.Deliver}

	for n := range 6 {
		id := transitions.OrderID(fmt.Sprint("o-", n))
		shop.Place(t, w.orders, shop.Mugs(id, 1))

		for i, event := range events {
			w.place(request(id, event), day+time.Duration(i)*time.Millisecond)
		}
	}
	w.clock.Advance(2 * day)

	var all sync.WaitGroup
	for _, s := range []*scheduled.Schedule{w.schedule, other} {
		all.Go(func() {
			if _, err := s.Sweep(t.Context(), 100); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.sweep(time.Minute)

	for n := range 6 {
		if order, _, err := w.orders.Get(t.Context(), transitions.OrderID(fmt.Sprint("o-", n))); err != nil || order.State != "DELIVERED" {
			t.Errorf("%+v, %v", order, err)
		}
	}
}

// Forgotten requests of an order are gone, and none comes after the person was erased.
func TestForget(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	w.apply("o-1", workflow.Cancel)
	w.place(request("o-1", workflow.Pay), day)
	done := w.place(request("o-1", workflow.Ship), day)

	if _, err := w.schedule.Withdraw(t.Context(), "o-1", done.ID); err != nil {
		t.Fatal(err)
	}

	order, _, err := w.orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	erase, err := w.orders.EraseIn(order)
	if err != nil {
		t.Fatal(err)
	}

	writer, err := txn.New(txn.Config{DynamoDB: w.DB})
	if err != nil {
		t.Fatal(err)
	}

	var transaction txn.Transaction
	if erase(&transaction); writer.Write(t.Context(), &transaction) != nil {
		t.Fatal("the order was not erased")
	}

	if _, err := w.schedule.Place(t.Context(), request("o-1", workflow.Deliver), w.clock.Now().Add(day)); !errors.Is(err, scheduled.ErrAnotherLife) {
		t.Error(err)
	}

	for _, want := range []int{2, 0} {
		if n, err := w.schedule.Forget(t.Context(), "o-1"); err != nil || n != want {
			t.Errorf("%d were deleted, want %d, %v", n, want, err)
		}
	}

	if rows, due := w.rows(table), w.rows(dueTable); rows != 0 || due != 0 {
		t.Errorf("%d items and %d due rows are left", rows, due)
	}
}

func TestRebuildWritesLostRows(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	placed := w.place(request("o-1", workflow.Pay), day)
	gone := w.place(request("o-1", workflow.Ship), day)

	if _, err := w.schedule.Withdraw(t.Context(), "o-1", gone.ID); err != nil {
		t.Fatal(err)
	}

	out, err := w.DB.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(dueTable)})
	if err != nil || len(out.Items) != 1 {
		t.Fatal(out, err)
	}

	row := out.Items[0]
	if _, err := w.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(dueTable), Key: map[string]types.AttributeValue{"shard": row["shard"], "due": row["due"]}}); err != nil {
		t.Fatal(err)
	}

	read := 0
	if waiting, err := w.schedule.Rebuild(t.Context(), func(n int) { read = n }); err != nil || waiting != 1 || read != 3 {
		t.Errorf("%d, %d, %v", waiting, read, err)
	}
	w.sweep(day + time.Minute)
	w.is(placed, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")
}

func TestPagesOfAnOrder(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))

	for n := range 7 {
		r := request("o-1", workflow.Pay)
		r.RequestID = transitions.RequestID(fmt.Sprint(n))
		w.place(r, day)
	}

	seen := map[scheduled.ID]bool{}
	for after := scheduled.ID(""); ; {
		page, err := w.schedule.List(t.Context(), "o-1", after, 3)
		if err != nil {
			t.Fatal(err)
		}

		for _, r := range page {
			if seen[r.ID] || !r.ID.Valid() {
				t.Errorf("%s comes twice", r.ID)
			}
			seen[r.ID], after = true, r.ID
		}

		if len(page) < 3 {
			break
		}
	}

	if len(seen) != 7 {
		t.Errorf("%d of 7", len(seen))
	}
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	t.Parallel()

	if _, err := scheduled.New(scheduled.Config{}); err == nil || len(err.Error()) < 100 {
		t.Error(err)
	}
}

// What has expired is gone, whether DynamoDB has deleted it or not.
func TestAnExpiredRequestIsNotInTheWayOfAnother(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	first := w.place(request("o-1", workflow.Pay), day)

	if _, err := w.schedule.Withdraw(t.Context(), "o-1", first.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(40 * day)

	again := w.place(request("o-1", workflow.Pay), day)
	w.sweep(day + time.Minute)
	w.is(again, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")
}

// A request may end while the requests of its order are forgotten. The item that counts is not left behind.
func TestARequestThatEndsWhileItIsForgottenLeavesNothing(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	w.place(request("o-1", workflow.Pay), day)
	w.place(request("o-1", workflow.Ship), day)

	withdrawn := false
	w.between = func(in *dynamodb.DeleteItemInput) {
		if withdrawn {
			return
		}
		withdrawn = true

		for _, event := range []workflow.Event{workflow.Pay, workflow.Ship} {
			all, _, err := w.schedule.OfOrder(t.Context(), "o-1")
			if err != nil {
				t.Error(err)
			}

			for _, r := range all {
				if r.Event == event {
					_, _ = w.schedule.Withdraw(t.Context(), "o-1", r.ID) // one of them may be gone
				}
			}
		}
	}

	if _, err := w.schedule.Forget(t.Context(), "o-1"); err != nil {
		t.Fatal(err)
	}

	if rows, due := w.rows(table), w.rows(dueTable); rows != 0 || due != 0 || !withdrawn {
		t.Errorf("%d items and %d due rows are left, %t", rows, due, withdrawn)
	}
}

// An order whose tables were restored goes on in another life, and so do its requests.
func TestRequestsGoOnWithARenewedOrder(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	at := w.clock.Now().Add(day)
	placed, moved := w.place(request("o-1", workflow.Pay), day), w.place(request("o-1", workflow.Ship), 2*day)

	order, _, err := w.orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second)

	if renewed, err := w.orders.Renew(t.Context(), order); err != nil || !renewed {
		t.Fatal(renewed, err)
	}

	again, err := w.schedule.Place(t.Context(), request("o-1", workflow.Pay), at)
	if err != nil || !again.Repeated || again.Request.ID != placed.ID {
		t.Errorf("a repeat: %+v, %v", again, err)
	}

	if _, err := w.schedule.Move(t.Context(), "o-1", moved.ID, at.Add(2*day)); err != nil {
		t.Error(err)
	}
	w.sweep(day + time.Minute)
	w.is(placed, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")

	// Another order under the id is another one.
	w.remove("o-1")
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	w.apply("o-1", workflow.Pay)
	w.sweep(3 * day)
	w.is(moved, scheduled.Refused, transitions.Superseded, "PAYMENT_RECEIVED")
}

// A request for which the order has no room is not in the way of others.
func TestARequestWithoutRoomDoesNotStopOthers(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	large := func(name string) transitions.OwnChange {
		return transitions.OwnChange{Set: transitions.Attributes{name: &types.AttributeValueMemberB{Value: make([]byte, 60<<10)}}}
	}

	for n := range 6 {
		name := fmt.Sprint("large-", n)
		if r, err := w.orders.SetOwn(t.Context(), transitions.Edit{OrderID: "o-1", EventID: transitions.RequestID(name)}, large(name)); err != nil || !r.Verdict.Done() {
			t.Fatal(r.Verdict, err)
		}
	}
	r := request("o-1", workflow.Pay)
	r.Own = large("one more")
	full, next := w.place(r, day), w.place(request("o-1", workflow.Cancel), day+time.Second)

	w.sweep(day + time.Minute)

	if is := w.is(full, scheduled.Refused, 0, "CANCELLED"); is.Reason == "" {
		t.Errorf("%+v", is)
	}
	w.is(next, scheduled.Applied, transitions.Applied, "CANCELLED")
}

// What happens between the look at a request and the write decides.
func TestARequestThatIsMovedWhileItIsJudgedWaits(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	placed := w.place(request("o-1", workflow.Pay), day)

	w.before = func() {
		if _, err := w.schedule.Move(t.Context(), "o-1", placed.ID, w.clock.Now().Add(day)); err != nil {
			t.Error(err)
		}
	}
	w.sweep(day + time.Minute)
	w.is(placed, scheduled.Pending, 0, "PENDING")

	w.sweep(day + time.Minute)
	w.is(placed, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")
}

func TestNoRequestIsPlacedWhileThePersonIsErased(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	w.apply("o-1", workflow.Cancel)

	w.before = func() {
		item := w.Item(t, "o-1")
		item["erasedAt"] = dynamo.Millis(w.clock.Now())

		if _, err := w.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: item}); err != nil {
			t.Error(err)
		}
	}

	if placed, err := w.schedule.Place(t.Context(), request("o-1", workflow.Pay), w.clock.Now().Add(day)); !errors.Is(err, scheduled.ErrAnotherLife) {
		t.Errorf("%+v, %v", placed, err)
	}

	if rows, due := w.rows(table), w.rows(dueTable); rows != 0 || due != 0 {
		t.Errorf("%d items and %d due rows are left", rows, due)
	}
}

func TestARequestThatWasAppliedMakesRoomForAnother(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	placed := w.place(request("o-1", workflow.Pay), day)
	w.count(1000)
	w.sweep(day + time.Minute)
	w.is(placed, scheduled.Applied, transitions.Applied, "PAYMENT_RECEIVED")

	w.place(request("o-1", workflow.Ship), day)

	if _, err := w.schedule.Place(t.Context(), request("o-1", workflow.Deliver), w.clock.Now().Add(day)); !errors.Is(err, scheduled.ErrFull) {
		t.Error(err)
	}
}

// A request is kept for 30 days after its end and after each of its times: until then a repeat gets it.
func TestAnEndedRequestIsKeptBeyondItsTime(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	at := w.clock.Now().Add(100 * day)
	placed := w.place(request("o-1", workflow.Pay), 100*day)

	if _, err := w.schedule.Move(t.Context(), "o-1", placed.ID, at.Add(-50*day)); err != nil {
		t.Fatal(err)
	}

	if _, err := w.schedule.Withdraw(t.Context(), "o-1", placed.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(129 * day)

	if again, err := w.schedule.Place(t.Context(), request("o-1", workflow.Pay), at); err != nil || !again.Repeated || again.Request.Status != scheduled.Withdrawn {
		t.Errorf("%+v, %v", again, err)
	}
	w.clock.Advance(2 * day)

	if _, err := w.schedule.Get(t.Context(), "o-1", placed.ID); !errors.Is(err, scheduled.ErrNotFound) {
		t.Error(err)
	}
}
