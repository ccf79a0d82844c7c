package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/operate/erasure"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/shipping"
	"ratchet/streams"
	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// person is in every text that may tell whose order it is.
const person = "MARKED"

// term is after what time expires orders that are not paid, and closes those that were delivered.
const term = 10 * time.Minute

// carrierDelay is so long that the sandbox carrier seldom looks for reports that are due: much time passes in these tests.
const carrierDelay = 20 * time.Second

// ended is an order of the person, and the content of its tables before the erasure.
type ended struct {
	*ratchettest.Env

	t       *testing.T
	records []streams.Record // of the order's transitions, from the stream
}

// start runs a server in which one handler gives up on every change, with the person in its error.
func start(t *testing.T) *ended { return startIn(t, "") }

// startIn is start with the engine's data in dir, "" for a new directory.
func startIn(t *testing.T, dir string) *ended { return startWith(t, dir, func(*ended) {}) }

// startWith is startIn with something done before the order is placed, and with more handlers.
func startWith(t *testing.T, dir string, before func(*ended), more ...streams.Handler) *ended {
	e := &ended{t: t}

	seen := make(chan streams.Record, 1000)
	handlers := func(*server.Backend) []streams.Handler {
		return append(more, streams.Handler{Name: "breaks", Handle: func(_ context.Context, r streams.Record) error {
			seen <- r
			return streams.Permanent(errors.New("cannot reach " + person + "-handler"))
		}})
	}

	e.Env = ratchettest.Start(t, ratchettest.Config{
		Server: server.Config{
			Data: dir, OrderLists: true, JournalOwn: true, ExpireUnpaid: term, ReturnWindow: term, Parts: server.Parts{Handlers: handlers},
			CarrierDelay: carrierDelay,
		},
		Patience: 10 * time.Minute,
	})
	e.SetStock("mug", 10)
	before(e)
	e.carry()

	for range len(seen) {
		e.records = append(e.records, <-seen)
	}

	return e
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func because(what string) transitions.Cause {
	return transitions.Cause{Code: "asked", Text: person + "-text " + what, Actor: person + "-actor", Source: "api"}
}

// carry takes an order through its execution to its end, with a note, a refusal, a dead letter for
// each change and a report of the carrier that is refused.
func (e *ended) carry() {
	order := transitions.NewOrder{
		ID:        "o-1",
		Items:     []transitions.Item{{SKU: "mug", Quantity: 1, Price: 500}},
		Total:     transitions.Money{Amount: 500, Currency: "EUR"},
		Customer:  person + "-customer",
		Reference: person + "-reference",
		Shipping:  transitions.Address{"name": person + "-shipping"},
		Billing:   transitions.Address{"name": person + "-billing"},
		Metadata:  transitions.Metadata{"phone": person + "-metadata"},
		Own:       transitions.Attributes{"nickname": text(person + "-own")},
		Cause:     because("place"),
	}
	if _, err := e.Backend.Orders.Create(e.t.Context(), order); err != nil {
		e.t.Fatal(err)
	}

	edit := transitions.Edit{OrderID: "o-1", EventID: "note-1", Cause: because("note")}
	if _, err := e.Backend.Orders.AddNote(e.t.Context(), edit, transitions.Note{By: person + "-by", Text: person + "-note"}); err != nil {
		e.t.Fatal(err)
	}

	e.Apply(transitions.Request{OrderID: "o-1", Event: workflow.Close, RequestID: "too-early", Cause: because("early")}, transitions.WrongState)

	if err := e.eraser().Check(e.t.Context(), e.order()); !errors.Is(err, transitions.ErrNotEnded) {
		e.t.Errorf("an order that is PENDING: %v", err)
	}

	e.Apply(transitions.Request{OrderID: "o-1", Event: workflow.Pay, RequestID: "pay", Cause: because("pay")}, transitions.Applied)
	e.WantOrder("o-1", workflow.Delivered, 4)
	e.report()

	e.Apply(transitions.Request{
		OrderID: "o-1", Event: workflow.Close, RequestID: person + "-request", Cause: because("close"),
		Own: transitions.OwnChange{Set: transitions.Attributes{"last words": text(person + "-words")}},
	}, transitions.Applied)
	e.WantJournal("o-1", workflow.Pending, workflow.PaymentReceived, workflow.Shipped, workflow.Delivered, workflow.Completed)
	e.WantEffects("o-1", "2/shipping", "2/notify", "3/notify", "4/notify")
	e.until("a dead letter of each change", func() bool { return len(e.tables()["dead-letters"]) >= 5 })
	e.until("the lists", func() bool { return len(e.tables()["order-lists"]) >= 2 })
}

// report has the carrier report a parcel that the order does not have.
func (e *ended) report() {
	effect, err := e.Backend.Reports.Receive(e.t.Context(), shipping.Report{
		ID: person + "-report", Shipment: e.order().EffectKey(2, shipping.Effect), OrderID: "o-1",
		Milestone: shipping.Delivered, Parcel: person + "-parcel", Tracking: person + "-tracking",
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Log("the carrier's report is", effect)
}

func (e *ended) until(what string, holds func() bool) {
	e.t.Helper()
	e.Wait(what, func() (bool, string, error) { return holds(), fmt.Sprint(slices.Sorted(maps.Keys(e.tables()))), nil })
}

func (e *ended) eraser() *erasure.Eraser {
	e.t.Helper()

	eraser, err := e.Backend.Eraser()
	if err != nil {
		e.t.Fatal(err)
	}

	return eraser
}

func (e *ended) order() *transitions.Order {
	e.t.Helper()

	order, found, err := e.Backend.Orders.Get(e.t.Context(), "o-1")
	if err != nil || !found {
		e.t.Fatal(found, err)
	}

	return order
}

// tables returns the items of every table of the engine that the person is in, by the table's name
// without its prefix.
func (e *ended) tables() map[string][]string {
	e.t.Helper()

	found := map[string][]string{}
	db := e.Backend.DynamoDB

	for pages := dynamodb.NewListTablesPaginator(db, &dynamodb.ListTablesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(e.t.Context())
		if err != nil {
			e.t.Fatal(err)
		}

		for _, table := range page.TableNames {
			items := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table})
			for items.HasMorePages() {
				page, err := items.NextPage(e.t.Context())
				if err != nil {
					e.t.Fatal(err)
				}

				for _, item := range page.Items {
					if text := textOf(e.t, item); strings.Contains(text, person) {
						name := strings.TrimPrefix(table, e.Backend.Config.Prefix)
						found[name] = append(found[name], text)
					}
				}
			}
		}
	}

	return found
}

func textOf(t *testing.T, item map[string]types.AttributeValue) string {
	t.Helper()

	text, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// settle lets the time pass in which an order cannot be erased.
func settle() { time.Sleep(3 * time.Minute) }

func TestNothingOfAPersonIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t)

		// The test would prove nothing if the person had not been there.
		for _, table := range []string{"orders", "order-events", "deliveries", "dead-letters", "order-lists", "carrier-reports"} {
			if len(e.tables()[table]) == 0 {
				t.Errorf("before: nothing in table %s", table)
			}
		}

		if _, err := e.eraser().Erase(t.Context(), "o-1"); !errors.Is(err, erasure.ErrTooSoon) {
			t.Fatalf("an order that has just moved: %v", err)
		}
		settle()

		before, history, sent := e.order(), e.Journal("o-1"), len(e.Notifications())

		done, err := e.eraser().Erase(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		if done.JournalRows == 0 || done.Deliveries == 0 || done.DeadLetters < 5 || done.Reports != 1 {
			t.Errorf("erased %+v", done)
		}

		// A record of before comes late, and operators redrive and replay.
		for _, h := range e.Backend.Handlers() {
			for _, r := range e.records {
				r.Late, r.Replay = true, &streams.Replayed{Again: "test"}
				if h.Name == reactions.NotifyHandler || h.Name == reactions.JournalHandler || h.Name == "lists" {
					if err := h.Handle(t.Context(), r); err != nil {
						t.Errorf("%s: %v", h.Name, err)
					}
				}
			}
		}
		settle()

		// The handler that breaks has given up on the erasure's own record. A repeat finds it.
		again, err := e.eraser().Erase(t.Context(), "o-1")
		if want := (erasure.Erased{OrderID: "o-1", DeadLetters: 1}); err != nil || again != want {
			t.Errorf("again: %+v, %v, want %+v", again, err, want)
		}

		for table, items := range e.tables() {
			t.Errorf("table %s has %d items of the person, like %s", table, len(items), items[0])
		}

		e.unmoved(before, history, sent)

		if done, err := e.eraser().Erase(t.Context(), "o-1"); err != nil || done != (erasure.Erased{OrderID: "o-1"}) {
			t.Errorf("a third time: %+v, %v", done, err)
		}
	})
}

// unmoved checks that the erasure was no transition, and that the order keeps the sold items.
func (e *ended) unmoved(before *transitions.Order, history []transitions.Transition, sent int) {
	e.t.Helper()

	after := e.order()
	if after.TransitionID != before.TransitionID || after.State != before.State || after.Total != before.Total || len(after.Items) != 1 || after.ErasedAt.IsZero() {
		e.t.Errorf("the order is %+v", after)
	}

	now := e.Journal("o-1")
	if len(now) != len(history) {
		e.t.Errorf("%d rows in the journal, there were %d", len(now), len(history))
	}

	for i, row := range now {
		if row.Event != history[i].Event || row.Cause.Code != history[i].Cause.Code || row.Cause.Source != history[i].Cause.Source {
			e.t.Errorf("row %+v was %+v", row, history[i])
		}
	}

	// The three of the replay are new. None is of the erasure.
	if n := len(e.Notifications()); n > sent+3 {
		e.t.Errorf("%d notifications, there were %d", n, sent)
	}
}
