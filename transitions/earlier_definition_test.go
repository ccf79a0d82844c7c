package transitions_test

import (
	"errors"
	"testing"

	"ratchet/transitions"
	"ratchet/workflow"
)

// small is a version of a definition with the moves. Event "go" leads from A to B, and "end" ends an order.
func small(t *testing.T, version int, place workflow.Event, content []workflow.Part, moves ...workflow.Transition) *workflow.Definition {
	t.Helper()

	d, err := workflow.New(workflow.Spec{Name: "w", Version: version, Place: place, Initial: "A", Content: content,
		States:      []workflow.StateSpec{{State: "A"}, {State: "B"}, {State: "C", Terminal: true}},
		Transitions: append(moves, leads("go"), workflow.Transition{Event: "end", From: []workflow.State{"A", "B"}, To: "C"})})
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func leads(e workflow.Event, guards ...workflow.Guard) workflow.Transition {
	return workflow.Transition{Event: e, From: []workflow.State{"A"}, To: "B", Guards: guards}
}

// definedBy opens the orders with the definition. Orders of version 1 may be moved.
func (s *orders) definedBy(d *workflow.Definition) {
	s.reconfigure(func(c *transitions.Config) { c.Journal, c.Definition, c.Versions = s.mode, d, []int{1} })
}

// A request that was applied is Replayed under every later version of the definition. One that was not is
// refused by the definition.
func TestARequestIsReplayedUnderALaterDefinition(t *testing.T) {
	none := []workflow.Part{}
	guard := workflow.Guard{Name: "late", Attribute: "updatedAt", Op: ">", Request: "since"}

	for name, row := range map[string]struct {
		later   *workflow.Definition
		from    workflow.State
		refused transitions.Verdict // 0: an ErrInvalidRequest
	}{
		"without the event":                 {small(t, 2, "place", none), "", transitions.Illegal},
		"without the event from this state": {small(t, 2, "place", none, workflow.Transition{Event: "walk", From: []workflow.State{"B"}, To: "A"}), "A", transitions.Illegal},
		"with a guard that needs a value":   {small(t, 2, "place", none, leads("walk", guard)), "", 0},
		"in which the event places":         {small(t, 2, "walk", none), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, newOrders maker) {
				for _, r := range []transitions.Request{{RequestID: "r"}, {TransitionID: 2}, {TransitionID: 2, RequestID: "r"}} {
					s := newOrders(t)
					r.OrderID, r.Event, r.From = "o-1", "walk", row.from

					s.definedBy(small(t, 1, "place", none, leads("walk")))

					if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1"}); err != nil {
						t.Fatal(err)
					}
					s.want(t, r, transitions.Applied)

					s.definedBy(row.later)

					if got := s.want(t, r, transitions.Replayed); got.Transition.ID != 2 {
						t.Errorf("%+v", got.Transition)
					}
					other := r
					other.RequestID, other.TransitionID = "other", 0

					got, err := s.Apply(t.Context(), other)
					if got.Verdict != row.refused || errors.Is(err, transitions.ErrInvalidRequest) != (row.refused == 0) {
						t.Errorf("another request: %s, %v", got.Verdict, err)
					}
				}
			})
		})
	}
}

// The evidence may have left the ring.
func TestAnOldRequestIsReplayedWithoutItsEvent(t *testing.T) {
	s := newOrders(t)
	s.ToAndFro(t, s.Orders, "o-1", 20, 20)

	d, err := workflow.New(workflow.Spec{Name: workflow.Order().Name(), Version: 2, Place: "place", Initial: workflow.Pending, Content: []workflow.Part{},
		States:      []workflow.StateSpec{{State: workflow.Pending}, {State: workflow.OnHold}, {State: workflow.Cancelled, Terminal: true}},
		Transitions: []workflow.Transition{{Event: "hold", From: []workflow.State{workflow.Pending}, To: workflow.OnHold}, {Event: "cancel", From: []workflow.State{workflow.Pending, workflow.OnHold}, To: workflow.Cancelled}}})
	if err != nil {
		t.Fatal(err)
	}
	old := s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
	s.definedBy(d)

	if r := s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed); r.Transition.ID != old.Transition.ID {
		t.Errorf("%+v", r.Transition)
	}
	s.want(t, given("o-1", workflow.Pay, 21), transitions.Illegal)
}

// An order that was placed is not placed again, whatever parts a later definition has.
func TestPlacingIsReplayedWithoutItsParts(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.definedBy(small(t, 1, "place", []workflow.Part{workflow.PartCustomer}))
		n := transitions.NewOrder{ID: "o-1", Customer: "c-1"}

		for _, want := range []transitions.Verdict{transitions.Applied, transitions.Replayed} {
			if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != want {
				t.Fatal(r.Verdict, err)
			}
			s.definedBy(small(t, 2, "place", []workflow.Part{}))
		}

		n.Customer = "c-2"
		if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != transitions.Conflict {
			t.Errorf("other content: %s, %v", r.Verdict, err)
		}

		n.ID = "o-2"
		if _, err := s.Create(t.Context(), n); !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Errorf("another order: %v", err)
		}
	})
}

// A parcel was reported under a definition with parcels.
func TestAParcelIsReplayedUnderALaterDefinition(t *testing.T) {
	for name, change := range map[string]struct {
		spec func(*workflow.Spec)
	}{
		"without parcels": {func(s *workflow.Spec) { s.Shipping.Part = "" }},
		"without lines":   {func(s *workflow.Spec) { s.Content, s.Shipping.Part = []workflow.Part{workflow.PartTotal}, "" }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newOrders(t)
			s.place(t, "o-1")
			s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
			s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Applied)

			spec := workflow.Order().Spec()
			spec.Version++
			change.spec(&spec)

			d, err := workflow.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			s.definedBy(d)

			s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Replayed)
			s.sends(t, parcel("p-1", pieces("mug", 2)), transitions.Conflict)

			s.sends(t, parcel("p-2", pieces("mug", 1)), transitions.Illegal)
		})
	}
}

// An edit was made under a definition that allowed it.
func TestAnEditIsReplayedUnderALaterDefinition(t *testing.T) {
	for name, row := range map[string]struct {
		later   *workflow.Definition
		refused transitions.Verdict // 0: an ErrInvalidRequest
	}{
		"without editable states": {small(t, 2, "place", []workflow.Part{workflow.PartItems}), transitions.Illegal},
		"without lines": {func() *workflow.Definition {
			spec := workflow.Order().Spec()
			spec.Version, spec.Content, spec.Shipping.Part = spec.Version+1, []workflow.Part{}, ""

			d, err := workflow.New(spec)
			if err != nil {
				t.Fatal(err)
			}

			return d
		}(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newOrders(t)
			s.place(t, "o-1")
			edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e"), cup))

			in := edit("o-1", "in")
			if err := s.addIn(t, in, cup); err != nil {
				t.Fatal(err)
			}
			s.definedBy(row.later)
			edited(t, transitions.Replayed)(s.AddItems(t.Context(), edit("o-1", "e"), cup))

			var refused *transitions.EditRefusedError
			if err := s.addIn(t, in, cup); !errors.As(err, &refused) || refused.Result.Verdict != transitions.Replayed {
				t.Errorf("in a transaction: %v", err)
			}

			r, err := s.AddItems(t.Context(), edit("o-1", "other"), cup)
			if r.Verdict != row.refused || errors.Is(err, transitions.ErrInvalidRequest) != (row.refused == 0) {
				t.Errorf("another edit: %s, %v", r.Verdict, err)
			}
		})
	}
}

// An order that has no room for the lines any more may have been given them by this very edit.
func TestAnEditInATransactionIsReplayedIfTheSeenOrderIsFull(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	e := edit("o-1", "e")

	var err error
	if e.Seen, _, err = s.Get(t.Context(), "o-1"); err != nil {
		t.Fatal(err)
	}
	e.Seen.Items = make([]transitions.Item, 1000) // as another program may have left it
	var refused *transitions.EditRefusedError

	if err := s.addIn(t, e, cup); !errors.As(err, &refused) || refused.Result.Verdict != 0 {
		t.Fatalf("the order has room: %v", err)
	}
	seen := e.Seen
	e.Seen = refused.Result.Order

	if err := s.addIn(t, e, cup); err != nil {
		t.Fatal(err)
	}
	e.Seen = seen

	if err := s.addIn(t, e, cup); !errors.As(err, &refused) || refused.Result.Verdict != transitions.Replayed {
		t.Errorf("again: %v", err)
	}
}
