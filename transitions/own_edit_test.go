package transitions_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/txn"
	"ratchet/transitions"
	"ratchet/workflow"
)

// ownEdits are the edits that may change own attributes beside what they are about.
func ownEdits(s *orders) map[string]func(context.Context, transitions.Edit) (transitions.Result, error) {
	return map[string]func(context.Context, transitions.Edit) (transitions.Result, error){
		"AddItems": func(ctx context.Context, e transitions.Edit) (transitions.Result, error) {
			return s.AddItems(ctx, e, transitions.Item{SKU: "cup", Quantity: 1, Price: 5})
		},
		"AddItemsIn": func(ctx context.Context, e transitions.Edit) (transitions.Result, error) {
			add, err := s.AddItemsIn(e, transitions.Item{SKU: "cup", Quantity: 1, Price: 5})
			if err != nil {
				return transitions.Result{}, err
			}
			var tx txn.Transaction
			add(&tx)

			w, err := txn.New(txn.Config{DynamoDB: s.DB})
			if err == nil {
				err = w.Write(ctx, &tx)
			}

			if refused := (*transitions.EditRefusedError)(nil); errors.As(err, &refused) {
				return refused.Result, nil
			}
			order, _, _ := s.Get(ctx, e.OrderID)

			return transitions.Result{Verdict: transitions.Applied, Order: order}, err
		},
		"ChangeItem": func(ctx context.Context, e transitions.Edit) (transitions.Result, error) {
			return s.ChangeItem(ctx, e, transitions.Item{SKU: "mug", Quantity: 5, Price: 1})
		},
		"RemoveItem": func(ctx context.Context, e transitions.Edit) (transitions.Result, error) {
			return s.RemoveItem(ctx, e, "mug")
		},
		"SetAddress": func(ctx context.Context, e transitions.Edit) (transitions.Result, error) {
			return s.SetAddress(ctx, e, "shipping", transitions.Address{"city": "Ulm"})
		},
		"AddNote": func(ctx context.Context, e transitions.Edit) (transitions.Result, error) {
			return s.AddNote(ctx, e, transitions.Note{Text: "x"})
		},
	}
}

// Every edit changes own attributes in its one write, on their conditions, and they are a part of its content.
func TestEveryEditCarriesOwnAttributes(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, open maker) {
		s := open(t)

		for name, send := range ownEdits(s) {
			id := transitions.OrderID("o-" + name)
			s.place(t, id)

			e := edit(id, "e-1")
			e.Own = transitions.OwnChange{Set: everyKind(), If: transitions.OwnGuards{Exists: []string{"never"}}}

			if r := edited(t, transitions.WrongState)(send(t.Context(), e)); r.Reason != `own attribute "never" is missing, and the request needs it` {
				t.Errorf("%s: %q", name, r.Reason)
			}
			s.wantOwn(t, id, s.read(t, id), nil)
			s.Wire.Reset()

			e.Own.If = transitions.OwnGuards{Missing: []string{"never"}}
			r := edited(t, transitions.Applied)(send(t.Context(), e))
			s.wantOwn(t, id, r.Order, everyKind())

			if n := s.Wire.Count(moves...); n != 1 {
				t.Errorf("%s: %d writes: %v", name, n, s.Wire.Calls())
			}
			edited(t, transitions.Replayed)(send(t.Context(), e))

			for _, other := range []transitions.OwnChange{{}, {Set: transitions.Attributes{"a": num(1)}}} {
				e.Own = other
				edited(t, transitions.Conflict)(send(t.Context(), e))
			}

			e = edit(id, "e-2")
			e.Own.Set = transitions.Attributes{"": num(1)}
			if _, err := send(t.Context(), e); !errors.Is(err, transitions.ErrInvalidRequest) {
				t.Errorf("%s: a name that no attribute has: %v", name, err)
			}
		}
	})
}

// SetOwn has one change.
func TestSetOwnTakesOneChange(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	e := edit("o-1", "e-1")
	e.Own.Remove = []string{"a"}

	if _, err := s.SetOwn(t.Context(), e, transitions.OwnChange{Remove: []string{"b"}}); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Error(err)
	}
}

// A parcel changes own attributes in the write that ships it, and they are a part of its content.
func TestAParcelCarriesOwnAttributes(t *testing.T) {
	inEveryMapping(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

		p := transitions.Parcel{OrderID: "o-1", ID: "p-1", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 1}}}
		p.Own = transitions.OwnChange{Set: everyKind(), If: transitions.OwnGuards{Exists: []string{"never"}}}

		ship := func(want transitions.Verdict) transitions.Result {
			t.Helper()

			r, err := s.ShipParcel(t.Context(), p)
			if err != nil || r.Verdict != want {
				t.Fatalf("%s, want %s, %v", r.Verdict, want, err)
			}

			return r
		}

		if r := ship(transitions.WrongState); !strings.Contains(r.Reason, `"never"`) {
			t.Errorf("%q", r.Reason)
		}
		p.Own.If = transitions.OwnGuards{}
		s.wantOwn(t, "o-1", ship(transitions.Applied).Order, everyKind())
		ship(transitions.Replayed)

		if !s.read(t, "o-1").Sent(p) {
			t.Error("the parcel is not known by its content")
		}

		p.Own.Set = transitions.Attributes{"a": num(1)}
		ship(transitions.Conflict)
		p.Own = transitions.OwnChange{}
		ship(transitions.Conflict)

		p.ID, p.Own.Set = "p-2", transitions.Attributes{"": num(1)}
		if _, err := s.ShipParcel(t.Context(), p); !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Error(err)
		}
	})
}

// The answer to a parcel that was lost is found, with its own attributes.
func TestALostAnswerOfAParcelsOwnAttributesIsFound(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, open maker) {
		s := open(t)
		s.place(t, "o-1")
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		s.Wire.Inject(embeddedtest.LoseAnswer(moves...).Next(1))

		p := transitions.Parcel{OrderID: "o-1", ID: "p-1", Lines: []transitions.ParcelLine{{SKU: "mug", Quantity: 1}}}
		p.Own = transitions.OwnChange{Set: transitions.Attributes{"a": num(1)}, If: transitions.OwnGuards{Missing: []string{"a"}}}

		if r, err := s.ShipParcel(t.Context(), p); err != nil || r.Verdict != transitions.Applied {
			t.Error(r.Verdict, err)
		}
	})
}
