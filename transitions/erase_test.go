package transitions_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ratchet/once/txn"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// eraseItem writes the erasure of the order, as it was read, in a transaction of its own.
func (s *orders) eraseItem(t testing.TB, order *transitions.Order) error {
	t.Helper()

	part, err := s.EraseIn(order)
	if err != nil {
		return err
	}

	writer, err := txn.New(txn.Config{DynamoDB: s.DB})
	if err != nil {
		t.Fatal(err)
	}
	var tx txn.Transaction
	part(&tx)

	return writer.Write(t.Context(), &tx)
}

func (s *orders) read(t testing.TB, id transitions.OrderID) *transitions.Order {
	t.Helper()

	order, found, err := s.Get(t.Context(), id)
	if err != nil || !found {
		t.Fatal(found, err)
	}

	return order
}

func TestAnErasedOrderKeepsWhatWasSold(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")

		if err := s.eraseItem(t, s.read(t, "o-1")); !errors.Is(err, transitions.ErrNotEnded) {
			t.Errorf("an order that is PENDING: %v", err)
		}

		note := edit("o-1", "note")
		note.Cause = transitions.Cause{Text: "Ada asked"}
		edited(t, transitions.Applied)(s.AddNote(t.Context(), note, transitions.Note{By: "Ada", Text: "Ada rang"}))
		edited(t, transitions.Applied)(s.SetAddress(t.Context(), edit("o-1", "address"), "shipping", transitions.Address{"name": "Ada"}))

		before := s.Item(t, "o-1")
		expire := given("o-1", workflow.Expire, 2)
		expire.Cause = transitions.Cause{Code: "late", Text: "Ada did not pay", Actor: "cli:Ada", Source: "cli"}
		s.want(t, expire, transitions.Applied)

		seen := s.read(t, "o-1")
		for i := range 2 {
			if err := s.eraseItem(t, seen); err != nil {
				t.Fatalf("time %d: %v", i, err)
			}
		}
		after := s.Item(t, "o-1")

		if text, err := json.Marshal(after); err != nil || strings.Contains(string(text), "Ada") {
			t.Errorf("left %s, %v", text, err)
		}

		erased := s.read(t, "o-1")
		if erased.ErasedAt.IsZero() || erased.State != seen.State || erased.TransitionID != 2 || erased.Total != seen.Total || erased.Items[0] != seen.Items[0] {
			t.Errorf("the order is %+v", erased)
		}

		if change, moved, err := (transitions.Mapping{}).FromRecord(before, after); err != nil || !moved || change.Transition.Cause.Text != "" {
			t.Errorf("a record over both: %+v, %v", change.Transition, err)
		}

		if _, moved, err := (transitions.Mapping{}).FromRecord(s.Item(t, "o-1"), after); moved || err != nil {
			t.Errorf("the erasure is a transition: %v", err)
		}

		s.want(t, expire, transitions.Replayed)
	})
}

// The condition of the erasure is the order as it was read.
func TestAnOrderThatHasMovedIsNotErased(t *testing.T) {
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.Definition = terminalPending(t) })
	s.place(t, "o-1")
	stale := s.read(t, "o-1")

	s.reconfigure(func(*transitions.Config) {})
	s.want(t, given("o-1", workflow.Expire, 2), transitions.Applied)
	s.reconfigure(func(c *transitions.Config) { c.Definition = terminalPending(t) })

	if err := s.eraseItem(t, stale); !errors.Is(err, transitions.ErrContended) {
		t.Errorf("erased as it was read before it moved: %v", err)
	}

	if !s.read(t, "o-1").ErasedAt.IsZero() {
		t.Error("erased")
	}
}

// terminalPending returns a definition of the built-in version in which a placed order has ended.
func terminalPending(t *testing.T) *workflow.Definition {
	t.Helper()

	d, err := workflow.New(workflow.Spec{
		Name: "order", Version: 1, Place: workflow.Place, Initial: workflow.Pending,
		States: []workflow.StateSpec{{State: workflow.Pending, Terminal: true}},
	})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// A row that comes after the erasure would bring the person back.
func TestAJournalIsNotErasedBeforeItIsComplete(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	placed := s.Item(t, "o-1")
	shop.Record(t, s.Orders, nil, placed)

	hold := given("o-1", workflow.Expire, 2)
	hold.Cause = transitions.Cause{Code: "late", Text: "Ada did not pay", Actor: "cli:Ada", Source: "cli"}
	s.want(t, hold, transitions.Applied)
	order := s.read(t, "o-1")

	if _, err := s.EraseHistory(t.Context(), order); !errors.Is(err, transitions.ErrJournalBehind) {
		t.Fatalf("without the row of the newest transition: %v", err)
	}
	shop.Record(t, s.Orders, placed, s.Item(t, "o-1"))

	for i, want := range []int{1, 0} {
		if n, err := s.EraseHistory(t.Context(), order); n != want || err != nil {
			t.Errorf("time %d: %d rows, want %d: %v", i, n, want, err)
		}
	}
	shop.Record(t, s.Orders, placed, s.Item(t, "o-1")) // the record comes again

	rows := s.rows(t, 0)
	if got, want := rows[1].Cause, (transitions.Cause{Code: "late", Source: "cli"}); len(rows) != 2 || got != want || rows[1].Event != workflow.Expire {
		t.Errorf("%+v, want the cause %+v", rows, want)
	}
}
