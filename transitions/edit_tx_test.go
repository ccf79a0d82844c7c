package transitions_test

import (
	"errors"
	"fmt"
	"testing"

	"ratchet/once/txn"
	"ratchet/transitions"
)

// addIn writes the edit in a transaction of its own.
func (s *orders) addIn(t testing.TB, e transitions.Edit, lines ...transitions.Item) error {
	t.Helper()

	writer, err := txn.New(txn.Config{DynamoDB: s.DB})
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
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.EditMemory = 4 })
	s.place(t, "o-1")

	refused := func(err error, want transitions.Verdict) *transitions.Order {
		t.Helper()

		var r *transitions.EditRefusedError
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

// What an edit in a transaction is refused for is in its error.
func TestARefusalInATransactionSaysWhy(t *testing.T) {
	s := newOrders(t)
	s.foreign(t, "o-1", "PENDING") // without a total

	e := edit("o-1", "e")
	for _, seen := range []bool{false, true} {
		if seen {
			var err error
			if e.Seen, _, err = s.Get(t.Context(), "o-1"); err != nil {
				t.Fatal(err)
			}
		}

		var refused *transitions.EditRefusedError
		if err := s.addIn(t, e, cup); !errors.As(err, &refused) || refused.Result.Verdict != transitions.WrongState || refused.Result.Order.ID != "o-1" ||
			refused.Error() != "edit refused: WrongState: the order has no total that could be adjusted" {
			t.Errorf("seen %v: %v", seen, err)
		}
	}

	for want, result := range map[string]transitions.Result{
		"edit refused: NotFound": {Verdict: transitions.NotFound},
		"edit refused: write it again with the order as it is (Edit.Seen)": {},
	} {
		if got := (&transitions.EditRefusedError{Result: result}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What else a transaction does is part of its edit: without it, it is another one.
func TestTheRestOfATransactionIsPartOfItsEdit(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	e := edit("o-1", "e")
	e.With = "stock"
	edited(t, transitions.Applied)(s.AddItems(t.Context(), e, cup))
	edited(t, transitions.Replayed)(s.AddItems(t.Context(), e, cup))

	for _, with := range []string{"", "other"} {
		e.With = with
		edited(t, transitions.Conflict)(s.AddItems(t.Context(), e, cup))
	}
}
