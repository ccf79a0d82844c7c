package inspect_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/operate/inspect"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/leases"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
	"ratchet/workflow"
)

var timelineOrders = flag.Int("timeline-orders", 40, "how many orders the test of time lines simulates")

// facts are the tables around simulated orders, and what was recorded in them, by order: one name for each fact.
type facts struct {
	*orders
	refusals *refusals.Log
	letters  deadletters.Letters
	stock    *inventory.Stock
	recorded map[transitions.OrderID][]string

	// What the services record that this test does not run.
	executions map[transitions.OrderID][]inspect.Moment
	deliveries map[string][]notify.Delivery
	tasks      map[string][]tasktoken.Task

	queue   retryqueue.Queue
	reports *reports.Receiver
	pay     *payments.Payments
	bank    *unreliableBank
	paid    map[transitions.OrderID]string // the payments, by their orders
}

// unreliableBank is the sandbox, whose refunds may have no answer, or be declined.
type unreliableBank struct {
	*sandbox.Bank
	fails error
}

func (b *unreliableBank) Refund(ctx context.Context, r payments.Request) (string, error) {
	if b.fails != nil {
		return "", b.fails
	}

	return b.Bank.Refund(ctx, r)
}

func (f *facts) OfOrder(_ context.Context, order string) ([]notify.Delivery, error) {
	return f.deliveries[order], nil
}

func (f *facts) Waiting(_ context.Context, life string) ([]tasktoken.Task, error) {
	return f.tasks[life], nil
}

func (f *facts) note(id transitions.OrderID, format string, args ...any) {
	f.recorded[id] = append(f.recorded[id], fmt.Sprintf(format, args...))
}

// TestEachRecordedFactIsOneMoment: of simulated orders with edits, refusals, reservations, outages, retries, dead letters, redrives,
// attempts, steps of payments, parcels and reports of the carrier, each fact that was recorded is one moment with its reference, and nothing else is there.
// The orders share tables, so none shows another's facts.
func TestEachRecordedFactIsOneMoment(t *testing.T) {
	f := newFacts(t)
	random := rand.New(rand.NewPCG(29, 1))

	var ids []transitions.OrderID
	for i := range *timelineOrders {
		id := transitions.OrderID(fmt.Sprintf("o-%d", i))
		ids = append(ids, id)
		f.simulate(t, id, random)
	}
	f.refusals.Flush(t.Context())

	around := inspect.Around{
		Tasks: f, Deliveries: f, DeadLetters: f.letters, Refusals: f.refusals, Stock: f.stock, Queue: f.queue, Reports: f.reports,
		Mapping: f.Orders.Mapping(), Handlers: []string{"notify", "shipping", "billing"},
		Executions: func(_ context.Context, id transitions.OrderID) ([]inspect.Moment, error) {
			return f.executions[id], nil
		},
		Payment: func(ctx context.Context, o *transitions.Order) (payments.Payment, bool, error) {
			id, found := f.paid[o.ID]
			if !found {
				return payments.Payment{}, false, nil
			}
			p, err := f.pay.Get(ctx, id)

			return p, true, err
		},
	}

	kinds := map[string]int{}
	for _, id := range ids {
		e, err := inspect.Explain(t.Context(), f.Orders, id)
		if err != nil {
			t.Fatal(err)
		}

		moments, _, incomplete := e.Timeline(t.Context(), workflow.Order(), around)
		if len(incomplete) > 0 {
			t.Fatal(incomplete)
		}

		var shown []string
		for _, m := range moments {
			shown = append(shown, nameOf(t, m))
		}
		slices.Sort(shown)
		slices.Sort(f.recorded[id])

		if !slices.Equal(shown, f.recorded[id]) {
			t.Errorf("order %s shows\n%q\nrecorded were\n%q", id, shown, f.recorded[id])
		}

		for _, name := range shown {
			kinds[strings.SplitN(name, ":", 2)[0]]++
		}
	}

	for _, kind := range []string{
		"transition", "edit", "refusal", "execution", "task", "reservation", "payment", "delivery", "dead letter", "retry", "parcel", "carrier report",
	} {
		if kinds[kind] < 2 {
			t.Errorf("%d moments of the kind %q: the simulation shows nothing about it (%v)", kinds[kind], kind, kinds)
		}
	}
}

// nameOf names the fact of a moment by its reference alone.
func nameOf(t *testing.T, m inspect.Moment) string {
	t.Helper()

	switch r := m.Ref; m.Kind {
	case "transition":
		return fmt.Sprint("transition: ", r.Transition, r.Event)
	case "edit":
		return fmt.Sprint("edit: ", r.ContentVersion)
	case "refusal":
		return fmt.Sprint("refusal: ", r.Event, r.Code, r.Count, len(r.Needs) > 0)
	case inspect.AboutExecution:
		return fmt.Sprint("execution: ", r.Execution, r.Status, r.Count)
	case "task":
		return fmt.Sprint("task: ", r.Transition, r.State)
	case "reservation":
		return fmt.Sprint("reservation: ", r.Reservation, r.Status)
	case "payment":
		return fmt.Sprint("payment: ", r.Payment, r.Step, r.Status)
	case "delivery":
		return fmt.Sprint("delivery: ", r.Delivery, r.Endpoint, r.Attempt)
	case "retry":
		return fmt.Sprint("retry: ", r.Handler, r.Attempt, " of ", r.Count, r.Error, r.NextTry.UnixMilli())
	case "parcel":
		return fmt.Sprint("parcel: ", r.Parcel, r.Status)
	case "carrier report":
		return fmt.Sprint("carrier report: ", r.Report, r.Event, r.Parcel, r.Status)
	case "dead letter":
		return fmt.Sprint("dead letter: ", r.Handler, r.DeadLetter, r.Attempt, r.Error)
	}
	t.Errorf("unexpected: %+v", m)

	return ""
}

func newFacts(t *testing.T) *facts {
	t.Helper()

	s := newOrdersIn(t, transitions.JournalTransactional)
	f := &facts{
		orders: s, recorded: map[transitions.OrderID][]string{}, executions: map[transitions.OrderID][]inspect.Moment{},
		deliveries: map[string][]notify.Delivery{}, tasks: map[string][]tasktoken.Task{}, paid: map[transitions.OrderID]string{},
	}
	embeddedtest.Create(t, s.DB, refusals.TableInput("refusals"), deadletters.TableInput("letters"), leases.TableInput("leases"), reports.Table("reports"))
	f.letters = deadletters.Letters{DynamoDB: s.DB, Table: "letters"}

	f.queue = retryqueue.Queue{DynamoDB: s.DB, TableName: shop.OrdersTable, DeadLetterTable: "letters", LeaseTable: "leases"}
	f.stock = s.Stock()

	book := s.Ledger()
	if _, err := payments.OpenOrderAccounts(t.Context(), book, "EUR"); err != nil {
		t.Fatal(err)
	}
	f.bank = &unreliableBank{Bank: s.Bank()}
	f.pay = s.Payments(book, f.bank)

	var err error
	if f.reports, err = reports.New(reports.Config{DynamoDB: s.DB, Table: "reports", Orders: s.Orders, Payments: f.pay, Log: embeddedtest.Quiet()}); err != nil {
		t.Fatal(err)
	}

	if f.refusals, err = refusals.New(refusals.Config{DynamoDB: s.DB, Table: "refusals"}); err != nil {
		t.Fatal(err)
	}

	if err := f.stock.Set(t.Context(), "sku-1", 1_000_000); err != nil {
		t.Fatal(err)
	}

	return f
}

// simulate places an order and lets happen to it what the random numbers say, and notes each fact that is recorded.
func (f *facts) simulate(t *testing.T, id transitions.OrderID, random *rand.Rand) {
	t.Helper()

	ctx, chance := t.Context(), func() bool { return random.IntN(2) == 0 }
	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}
	f.place(t, id)
	f.note(id, "transition: 1place")

	for n := range random.IntN(3) {
		_, err := f.AddNote(ctx, transitions.Edit{OrderID: id, EventID: transitions.RequestID(fmt.Sprint("e-", n))}, transitions.Note{Text: "ring twice"})
		must(err)
		f.note(id, "edit: %d", n+1)
	}

	if n := random.IntN(3); n > 0 {
		for range n {
			f.want(t, keyed(id, workflow.Deliver, transitions.RequestID(fmt.Sprint("r-", random.Int()))), transitions.WrongState)
			f.refusals.Note(refusals.Refusal{Order: string(id), Event: "deliver", Code: "WrongState", Text: "the order was PENDING"})
		}
		f.note(id, "refusal: deliverWrongState%d true", n)
	}

	order, _, err := f.Get(ctx, id)
	must(err)

	if life := order.PlacedLifeID(); chance() {
		must(f.stock.Reserve(ctx, life, []inventory.Line{{SKU: "sku-1", Quantity: 2}}))
		f.note(id, "reservation: %sRESERVED", life)

		if chance() {
			must(f.stock.Commit(ctx, life))
			f.note(id, "reservation: %sCOMMITTED", life)
		}
	}

	now := time.Now()
	next := transitions.TransitionID(1)

	events := []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver}[:random.IntN(4)]
	if len(events) == 1 && chance() { // it was paid: the carrier moves it
		f.want(t, given(id, workflow.Pay, 2), transitions.Applied)
		f.note(id, "transition: 2pay")
		next = f.carry(t, order, random)
		events = nil
	}

	for _, event := range events {
		next++
		f.want(t, given(id, event, next), transitions.Applied)
		f.note(id, "transition: %d%s", next, event)

		tries := 1 + random.IntN(4) // the far side may be down for a while
		d := notify.Delivery{
			Notification: notify.Notification{OrderID: id, Incarnation: order.Incarnation, TransitionID: next, State: "SHIPPED"},
			Endpoint:     "shop", Status: notify.Delivered, Attempts: tries, CreatedAt: now, TriedAt: now,
		}

		for n := range tries {
			d.Tries = append(d.Tries, notify.Try{At: now, Number: n + 1, Answer: 503})
			f.note(id, "delivery: %sshop%d", d.ID(), n+1)
		}
		f.deliveries[string(id)] = append(f.deliveries[string(id)], d)

		if chance() {
			f.giveUp(t, id, next, []string{"notify", "shipping"}[random.IntN(2)], random.IntN(3))
		}
	}

	x := inspect.Moment{At: now, Kind: inspect.AboutExecution, Ref: inspect.Ref{Execution: string(id), Status: "STARTED"}}
	f.executions[id] = append(f.executions[id], x)
	f.note(id, "execution: %sSTARTED0", id)

	if redrives := random.IntN(3); redrives > 0 {
		x.Ref.Status, x.Ref.Count = "REDRIVEN", int64(redrives)
		f.executions[id] = append(f.executions[id], x)
		f.note(id, "execution: %sREDRIVEN%d", id, redrives)
	}

	if chance() {
		f.tasks[order.LifeID()] = []tasktoken.Task{{OrderID: order.LifeID(), Awaited: "DELIVERED", Since: int64(next)}}
		f.note(id, "task: %dDELIVERED", next)
	}

	f.wait(t, id, random)

	if chance() {
		f.charge(t, order, random)
	} else if next > 1 {
		f.note(id, "payment: elsewhere") // the order was paid, and not here
	}
}

// charge takes the money of the order, in steps whose answers come, are refusals, or do not come.
func (f *facts) charge(t *testing.T, order *transitions.Order, random *rand.Rand) {
	t.Helper()

	accounts := payments.AccountsForOrders("EUR")
	id := "p-" + string(order.ID)
	f.paid[order.ID] = id

	if _, err := f.pay.Charge(t.Context(), payments.NewPayment{ID: id, OrderID: string(order.ID), Payer: accounts.Payer, Payee: accounts.Payee, Amount: 100, Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
	f.note(order.ID, "payment: %schargesucceeded", id)

	for n := range random.IntN(4) {
		outcome := payments.Succeeded
		f.bank.fails = nil

		switch random.IntN(3) {
		case 0:
			f.bank.fails, outcome = payments.ErrTimeout, payments.Pending
		case 1:
			f.bank.fails, outcome = payments.ErrDeclined, payments.Failed
		}

		step := fmt.Sprint("r-", n)
		_, _ = f.pay.Refund(t.Context(), id, payments.StepRequest{ID: step, Amount: 1}) // it returns what the bank said
		f.note(order.ID, "payment: %s%s%s", id, step, outcome)

		if outcome == payments.Pending { // until it is answered, there is no other step
			return
		}
	}
}

// carry lets the carrier report the two parcels of a paid order, and some that do not fit. It returns the order's newest transition.
func (f *facts) carry(t *testing.T, order *transitions.Order, random *rand.Rand) (next transitions.TransitionID) {
	t.Helper()

	id := string(order.ID)
	receive := func(parcel string, m shipping.Milestone, want reports.Effect, lines ...shipping.Line) shipping.Report {
		t.Helper()

		r := shipping.Report{ID: fmt.Sprint("r/", parcel, "/", m), Shipment: id + "/" + string(order.Incarnation) + "/2/shipping", OrderID: id, Milestone: m, Parcel: parcel, Lines: lines}
		if got, err := f.reports.Receive(t.Context(), r); err != nil || got != want {
			t.Fatalf("%s of parcel %s: %q, %v, want %q", m, parcel, got, err, want)
		}

		return r
	}

	next = 2
	if random.IntN(2) == 0 { // too early
		receive("c", shipping.Delivered, reports.Waiting)
		f.note(order.ID, "carrier report: %s/r/c/delivereddeliveredcwaiting", id)
	}

	delivered, returned := 0, 0
	for i, parcel := range []string{"a", "b"}[:1+random.IntN(2)] {
		receive(parcel, shipping.Shipped, reports.Applied, shipping.Line{SKU: "mug", Quantity: 1})
		next++
		f.note(order.ID, "transition: %d%s", next, []workflow.Event{workflow.ShipPart, workflow.Ship}[i])

		switch random.IntN(4) {
		case 0:
			f.note(order.ID, "parcel: %sshipped", parcel)
		case 1:
			f.comeBack(t, receive(parcel, shipping.Returned, reports.Attention), random)
			returned++
		default:
			receive(parcel, shipping.Delivered, reports.Applied)
			f.note(order.ID, "parcel: %sdelivered", parcel)
			delivered++
		}
	}

	if delivered > 0 && delivered+returned == 2 { // no parcel is under way any more
		next++
		f.note(order.ID, "transition: %d%s", next, workflow.Deliver)
		receive("z", shipping.Delivered, reports.Refused)
		f.note(order.ID, "carrier report: %s/r/z/delivereddeliveredzrefused", id)
	}

	if delivered+returned == 0 && random.IntN(2) == 0 {
		receive("a", shipping.Lost, reports.Applied)
		f.note(order.ID, "carrier report: r/a/lostlost")
	}

	return next
}

// comeBack notes that a parcel has come back, with which a person may have dealt.
func (f *facts) comeBack(t *testing.T, r shipping.Report, random *rand.Rand) {
	t.Helper()

	id, effect := transitions.OrderID(r.OrderID), reports.Attention
	f.note(id, "parcel: %sreturned", r.Parcel)

	if random.IntN(2) == 0 {
		stored, err := f.reports.Find(t.Context(), r.OrderID+"/"+r.ID)
		if err != nil {
			t.Fatal(err)
		}

		if _, err := f.reports.MarkDone(t.Context(), stored, transitions.Cause{Actor: "cli:ada", Text: "paid back by hand"}); err != nil {
			t.Fatal(err)
		}
		effect = reports.Done
	}
	f.note(id, "carrier report: %s/%sreturned%s%s", id, r.ID, r.Parcel, effect)
}

// wait lets records about the order wait for another attempt of a handler.
func (f *facts) wait(t *testing.T, id transitions.OrderID, random *rand.Rand) {
	t.Helper()

	attempts, due := 1+random.IntN(5), time.Now().Add(time.Hour).Truncate(time.Millisecond)
	records := random.IntN(4)

	for n := range records {
		r := streams.Record{
			StreamARN: "arn:aws:dynamodb:eu-central-1:000000000000:table/orders/stream/1", ShardID: "s", SequenceNumber: fmt.Sprint(100 + n), Handler: "billing", Epoch: 1,
			Keys: f.Orders.Mapping().ItemKey(id),
		}

		state := retryqueue.Row{NextTry: due}
		if n == 0 { // the others wait behind it
			state = retryqueue.Row{Attempts: attempts, Since: time.Now(), NextTry: due, LastErr: "outage"}
		}

		if _, err := f.queue.Rows().Park(t.Context(), store.HashOf(store.ItemKey(r)), r, state); err != nil {
			t.Fatal(err)
		}
	}

	if records > 0 {
		f.note(id, "retry: billing%d of %doutage%d", attempts, records, due.UnixMilli())
	}
}

// giveUp makes a handler give up on a transition of the order, and redrives it so often in vain.
func (f *facts) giveUp(t *testing.T, id transitions.OrderID, n transitions.TransitionID, handler string, redrives int) {
	t.Helper()

	rows := f.letters.Rows()
	r := streams.Record{
		StreamARN: "arn:aws:dynamodb:eu-central-1:000000000000:table/orders/stream/1", ShardID: "s", SequenceNumber: fmt.Sprint(n), Handler: handler, Attempt: 3,
		Keys: dynamo.Item{"orderId": dynamo.S(string(id))},
	}

	if err := rows.Store(t.Context(), r, fmt.Errorf("outage %d", n), nil); err != nil {
		t.Fatal(err)
	}

	letters, _, err := f.letters.OfItem(t.Context(), handler, r.Keys, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	letter := letters[len(letters)-1] // of one shard, in the order of the stream

	failure := fmt.Sprintf("outage %d", n)
	for range redrives {
		failure = "still down"
		h := streams.Handler{Name: handler, Handle: func(context.Context, streams.Record) error { return fmt.Errorf("still down") }}
		_ = f.letters.Redrive(t.Context(), letter.ID, h) // it returns the handler's error
	}
	f.note(id, "dead letter: %s%s%d%s", handler, letter.ID, 3+redrives, failure)
}
