package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/activities/tasktoken"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/operate/inspect"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
	"ratchet/transitions/refusals"
	"ratchet/workflow"
)

// surroundings are the sources around the order o-1.
type surroundings struct {
	tasks      []tasktoken.Task
	deliveries []notify.Delivery
	letters    []deadletters.Letter
	refused    refusals.Entries
	err        error
}

func (s surroundings) Of(context.Context, string) (refusals.Entries, error) { return s.refused, s.err }

func (s surroundings) Waiting(context.Context, string) ([]tasktoken.Task, error) {
	return s.tasks, s.err
}

func (s surroundings) OfOrder(context.Context, string) ([]notify.Delivery, error) {
	return s.deliveries, s.err
}

func (s surroundings) OfItem(_ context.Context, _ string, keys map[string]types.AttributeValue, _ string, limit int) (own []deadletters.Letter, next string, err error) {
	for _, l := range s.letters {
		if reflect.DeepEqual(l.Keys, keys) {
			own = append(own, l)
		}
	}

	if len(own) > limit {
		return own[:limit], own[limit].ID, s.err
	}

	return own, "", s.err
}

func (s surroundings) around() inspect.Around {
	return inspect.Around{Tasks: s, Deliveries: s, DeadLetters: s, Refusals: s, Handlers: []string{"notify"}}
}

func letterOf(order string, at time.Time) deadletters.Letter {
	return deadletters.Letter{
		ID: "l-" + order, Keys: map[string]types.AttributeValue{"orderId": dynamo.S(order)}, Error: "503", FailedAt: at,
	}
}

// shipped explains an order whose clock moves an hour with each transition.
func shipped(t *testing.T) (inspect.Explanation, time.Time) {
	t.Helper()

	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := start
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.Orders = s.Shop.Orders(func(c *transitions.Config) {
		c.Journal, c.Now = transitions.JournalTransactional, func() time.Time { return now }
	})
	s.place(t, "o-1")

	for i, event := range []workflow.Event{workflow.Pay, workflow.Ship} {
		now = now.Add(time.Hour)
		r := given("o-1", event, transitions.TransitionID(i+2))
		r.Cause = transitions.Cause{Code: "c-" + string(event), Actor: "cli:ada"}
		s.want(t, r, transitions.Applied)
	}

	e, err := inspect.Explain(t.Context(), s.Orders, "o-1")
	if err != nil {
		t.Fatal(err)
	}

	return e, start
}

func TestATimeLineMergesWhatIsAroundAnOrder(t *testing.T) {
	e, start := shipped(t)
	minutes := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

	around := surroundings{
		tasks: []tasktoken.Task{{OrderID: "o-1", Awaited: "DELIVERED", Since: 3}},
		deliveries: []notify.Delivery{{
			Notification: notify.Notification{OrderID: "o-1", Incarnation: "0", TransitionID: 2, State: workflow.PaymentReceived},
			Endpoint:     "shop", Status: notify.Missed, Attempts: 9, Error: "410", CreatedAt: minutes(61), TriedAt: minutes(90),
		}},
		letters: []deadletters.Letter{letterOf("o-1", minutes(70)), letterOf("o-2", minutes(71))},
		refused: refusals.Entries{List: []refusals.Entry{
			{Event: "ship", Code: "WrongState", Text: "the order was PENDING", Source: "api", Count: 3, First: minutes(40), Last: minutes(50)},
			{Event: "add_items", Code: "out-of-stock", Text: "out of stock: mug, wanted 2, 1 left", Count: 1, First: minutes(51), Last: minutes(51)},
		}},
	}.around()
	around.Executions = func(context.Context, transitions.OrderID) ([]inspect.Moment, error) {
		return []inspect.Moment{{At: minutes(1), Kind: inspect.AboutExecution, What: "started"}}, nil
	}

	moments, _, incomplete := e.Timeline(t.Context(), workflow.Order(), around)
	if len(incomplete) != 0 {
		t.Errorf("incomplete: %v", incomplete)
	}

	want := []struct{ what, next string }{
		{"1 place to PENDING", ""},
		{"started", ""},
		{"ship was refused: WrongState, through api (at least 3 times since 2026-03-01T12:40:00Z): the order was PENDING", ""},
		{"add_items was refused: out-of-stock: out of stock: mug, wanted 2, 1 left", ""},
		{"2 pay to PAYMENT_RECEIVED, because c-pay, by cli:ada", ""},
		{"handler notify gave up: 503", "`ratchet deadletters redrive notify l-o-1`"},
		{"notification of PAYMENT_RECEIVED to shop: MISSED after 9 attempts: 410", "`ratchet deliveries resend o-1/0/2/shop`"},
		{"3 ship to SHIPPED, because c-ship, by cli:ada", ""},
		{"an execution waits for DELIVERED", "wait for deliver, or `ratchet orders apply o-1 deliver`"},
	}
	if len(moments) != len(want) {
		t.Fatalf("%d moments: %+v", len(moments), moments)
	}

	for i, m := range moments {
		if m.Words() != want[i].what || !strings.Contains(m.Next, want[i].next) || (want[i].next == "") != (m.Next == "") {
			t.Errorf("moment %d: %+v, want %+v", i, m, want[i])
		}
	}
}

// TestATaskThatWaitsInVainSaysSo: the order has reached the awaited state, or cannot reach it.
func TestATaskThatWaitsInVainSaysSo(t *testing.T) {
	e, _ := shipped(t)

	for awaited, want := range map[string]string{
		"SHIPPED":   "the order has come to SHIPPED",
		"CANCELLED": "the order cannot come to CANCELLED any more",
		"COMPLETED": "the order can still come to COMPLETED",
	} {
		moments, _, _ := e.Timeline(t.Context(), workflow.Order(), surroundings{tasks: []tasktoken.Task{{Awaited: awaited, Since: 2}}}.around())

		found := ""
		for _, m := range moments {
			found += m.Next
		}

		if !strings.Contains(found, want) {
			t.Errorf("%s: %q, want %q", awaited, found, want)
		}
	}
}

// TestATimeLineShowsWhatItCanRead, and names the sources that it cannot read.
func TestATimeLineShowsWhatItCanRead(t *testing.T) {
	e, start := shipped(t)

	moments, _, incomplete := e.Timeline(t.Context(), workflow.Order(), surroundings{err: errors.New("denied")}.around())
	if len(moments) != 3 || len(incomplete) != 4 || !strings.Contains(fmt.Sprint(incomplete), "dead letters of notify: denied") {
		t.Errorf("%d moments, incomplete: %q", len(moments), incomplete)
	}

	var many surroundings
	for range 101 {
		many.letters = append(many.letters, letterOf("o-1", start))
	}

	if _, _, incomplete = e.Timeline(t.Context(), workflow.Order(), many.around()); len(incomplete) != 1 || !strings.Contains(incomplete[0].String(), "only the first 100") {
		t.Errorf("incomplete: %q", incomplete)
	}
}
