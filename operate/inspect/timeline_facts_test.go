package inspect_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ratchet/activities/tasktoken"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/once/inventory"
	"ratchet/operate/inspect"
	"ratchet/payments"
	"ratchet/streams"
	"ratchet/streams/deadletters"
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
	payments   map[transitions.OrderID]payments.Payment
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

// TestEachRecordedFactIsOneMoment: of simulated orders with edits, refusals, outages, dead letters, redrives, attempts
// and steps of payments, each fact that was recorded is one moment with its reference, and nothing else is there.
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
		Tasks: f, Deliveries: f, DeadLetters: f.letters, Refusals: f.refusals, Stock: f.stock, Handlers: []string{"notify", "shipping"},
		Executions: func(_ context.Context, id transitions.OrderID) ([]inspect.Moment, error) {
			return f.executions[id], nil
		},
		Payment: func(_ context.Context, o *transitions.Order) (payments.Payment, bool, error) {
			p, found := f.payments[o.ID]
			return p, found, nil
		},
	}

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
	}
}

// nameOf names the fact of a moment by its reference alone.
func nameOf(t *testing.T, m inspect.Moment) string {
	t.Helper()

	switch r := m.Ref; m.Kind {
	case "transition":
		return fmt.Sprint("transition ", r.Transition, r.Event)
	case "edit":
		return fmt.Sprint("edit ", r.ContentVersion)
	case "refusal":
		return fmt.Sprint("refusal ", r.Event, r.Code, r.Count, len(r.Needs) > 0)
	case inspect.AboutExecution:
		return fmt.Sprint("execution ", r.Execution, r.Status, r.Count)
	case "task":
		return fmt.Sprint("task ", r.Transition, r.State)
	case "reservation":
		return fmt.Sprint("reservation ", r.Reservation, r.Status)
	case "payment":
		return fmt.Sprint("payment ", r.Payment, r.Step, r.Status)
	case "delivery":
		return fmt.Sprint("delivery ", r.Delivery, r.Endpoint, r.Attempt)
	case "dead letter":
		return fmt.Sprint("dead letter ", r.Handler, r.DeadLetter, r.Attempt, r.Error)
	}
	t.Errorf("unexpected: %+v", m)

	return ""
}

func newFacts(t *testing.T) *facts {
	t.Helper()

	s := newOrdersIn(t, transitions.JournalTransactional)
	f := &facts{
		orders: s, recorded: map[transitions.OrderID][]string{}, executions: map[transitions.OrderID][]inspect.Moment{},
		deliveries: map[string][]notify.Delivery{}, tasks: map[string][]tasktoken.Task{}, payments: map[transitions.OrderID]payments.Payment{},
	}
	embeddedtest.Create(t, s.DB, refusals.TableInput("refusals"), deadletters.TableInput("letters"))
	f.letters = deadletters.Letters{DynamoDB: s.DB, Table: "letters"}

	f.stock = s.Stock()

	var err error
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
	f.note(id, "transition 1place")

	for n := range random.IntN(3) {
		_, err := f.AddNote(ctx, transitions.Edit{OrderID: id, EventID: transitions.RequestID(fmt.Sprint("e-", n))}, transitions.Note{Text: "ring twice"})
		must(err)
		f.note(id, "edit %d", n+1)
	}

	if n := random.IntN(3); n > 0 {
		for range n {
			f.want(t, keyed(id, workflow.Deliver, transitions.RequestID(fmt.Sprint("r-", random.Int()))), transitions.WrongState)
			f.refusals.Note(refusals.Refusal{Order: string(id), Event: "deliver", Code: "WrongState", Text: "the order was PENDING"})
		}
		f.note(id, "refusal deliverWrongState%d true", n)
	}

	order, _, err := f.Get(ctx, id)
	must(err)

	if life := order.PlacedLifeID(); chance() {
		must(f.stock.Reserve(ctx, life, []inventory.Line{{SKU: "sku-1", Quantity: 2}}))
		f.note(id, "reservation %sRESERVED", life)

		if chance() {
			must(f.stock.Commit(ctx, life))
			f.note(id, "reservation %sCOMMITTED", life)
		}
	}

	now := time.Now()
	next := transitions.TransitionID(1)

	for _, event := range []workflow.Event{workflow.Pay, workflow.Ship, workflow.Deliver}[:random.IntN(4)] {
		next++
		f.want(t, given(id, event, next), transitions.Applied)
		f.note(id, "transition %d%s", next, event)

		tries := 1 + random.IntN(4) // the far side may be down for a while
		d := notify.Delivery{
			Notification: notify.Notification{OrderID: id, Incarnation: order.Incarnation, TransitionID: next, State: "SHIPPED"},
			Endpoint:     "shop", Status: notify.Delivered, Attempts: tries, CreatedAt: now, TriedAt: now,
		}

		for n := range tries {
			d.Tries = append(d.Tries, notify.Try{At: now, Number: n + 1, Answer: 503})
			f.note(id, "delivery %sshop%d", d.ID(), n+1)
		}
		f.deliveries[string(id)] = append(f.deliveries[string(id)], d)

		if chance() {
			f.giveUp(t, id, next, []string{"notify", "shipping"}[random.IntN(2)], random.IntN(3))
		}
	}

	x := inspect.Moment{At: now, Kind: inspect.AboutExecution, Ref: inspect.Ref{Execution: string(id), Status: "STARTED"}}
	f.executions[id] = append(f.executions[id], x)
	f.note(id, "execution %sSTARTED0", id)

	if redrives := random.IntN(3); redrives > 0 {
		x.Ref.Status, x.Ref.Count = "REDRIVEN", int64(redrives)
		f.executions[id] = append(f.executions[id], x)
		f.note(id, "execution %sREDRIVEN%d", id, redrives)
	}

	if chance() {
		f.tasks[order.LifeID()] = []tasktoken.Task{{OrderID: order.LifeID(), Awaited: "DELIVERED", Since: int64(next)}}
		f.note(id, "task %dDELIVERED", next)
	}

	if chance() {
		p := payments.Payment{Steps: []payments.Step{{ID: "s-1", Kind: "charge", Outcome: "failed", At: now}}}
		p.ID = "p-" + string(id)
		f.note(id, "payment %ss-1failed", p.ID)

		if chance() {
			p.Pending = &payments.Step{ID: "s-2", Kind: "charge", At: now}
			f.note(id, "payment %ss-2pending", p.ID)
		}
		f.payments[id] = p
	} else if next > 1 {
		f.note(id, "payment elsewhere") // the order was paid, and not here
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
	f.note(id, "dead letter %s%s%d%s", handler, letter.ID, 3+redrives, failure)
}
