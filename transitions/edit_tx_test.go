package transitions_test

import (
	"errors"
	"fmt"
	"testing"

	"ratchet/transitions"
	"ratchet/txn"
)

// addIn writes the edit in a transaction of its own.
func (s *shop) addIn(t testing.TB, e transitions.Edit, lines ...transitions.Item) error {
	t.Helper()

	writer, err := txn.New(txn.Config{DynamoDB: s.db})
	if err != nil {
		t.Fatal(err)
	}

	part, err := s.AddItemsIn(e, lines...)
	if err != nil {
		return err
	}
	var tx txn.Transaction
	part(&tx)

	return writer.Write(t.Context(), &tx)
}

func TestAnEditMayBePartOfATransaction(t *testing.T) {
	s := newShop(t)
	s.reconfigure(t, func(c *transitions.Config) { c.EditMemory = 4 })
	s.place(t, "o-1")

	refused := func(err error, want transitions.Verdict) *transitions.Order {
		t.Helper()

		var r *transitions.EditRefused
		if !errors.As(err, &r) || r.Result.Verdict != want {
			t.Fatalf("got %v, want %s", err, want)
		}

		return r.Result.Order
	}
	for i := range 4 {
		if err := s.addIn(t, edit("o-1", fmt.Sprint("e", i)), cup); err != nil {
			t.Fatal(err)
		}
	}
	refused(s.addIn(t, edit("o-1", "e3"), cup), transitions.Replayed)
	refused(s.addIn(t, edit("o-1", "e3"), cup, cup), transitions.Conflict)
	refused(s.addIn(t, edit("missing", "e"), cup), transitions.NotFound)

	e := edit("o-1", "e4")
	e.Seen = refused(s.addIn(t, e, cup), 0) // the memory is full; with the order, the next attempt makes room
	if err := s.addIn(t, e, cup); err != nil {
		t.Fatal(err)
	}

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil || len(order.Items) != 6 || order.ContentVersion != 5 || order.Total.Amount != 2500+5*cup.Price*cup.Quantity {
		t.Errorf("%+v, %v", order, err)
	}
	s.want(t, given("o-1", "pay", 2), transitions.Applied)
	refused(s.addIn(t, edit("o-1", "e5"), cup), transitions.WrongState)

	if _, err := s.AddItemsIn(edit("o-1", ""), cup); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("no event id: %v", err)
	}

	if _, err := s.AddItemsIn(edit("o-1", "e")); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("no lines: %v", err)
	}
}
