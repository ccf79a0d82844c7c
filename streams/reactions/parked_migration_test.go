package reactions_test

import (
	"slices"
	"testing"

	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// without returns the definition of orders in version 2, without a state.
func without(t *testing.T, removed workflow.State) *workflow.Definition {
	t.Helper()

	is := func(s workflow.State) bool { return s == removed }
	spec := workflow.Order().Spec()
	spec.Version = 2
	spec.States = slices.DeleteFunc(slices.Clone(spec.States), func(s workflow.StateSpec) bool { return is(s.State) })

	var left []workflow.Transition
	for _, tr := range spec.Transitions {
		if tr.From = slices.DeleteFunc(slices.Clone(tr.From), is); !is(tr.To) && len(tr.From) > 0 {
			left = append(left, tr)
		}
	}
	spec.Transitions = left
	spec.Editable = slices.DeleteFunc(slices.Clone(spec.Editable), is)
	spec.Shipping.Held = slices.DeleteFunc(slices.Clone(spec.Shipping.Held), is)

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// TestAMigrationEndsAWait: of an order in a state that stays, and in one that the new version does not have any more.
func TestAMigrationEndsAWait(t *testing.T) {
	for name, row := range map[string]struct {
		removed workflow.State
		events  []workflow.Event
		states  map[workflow.State]workflow.State
	}{
		"a state that stays":      {"", nil, map[workflow.State]workflow.State{workflow.PaymentReceived: workflow.Cancelled}},
		"a state that is removed": {workflow.PaidOnHold, []workflow.Event{workflow.Hold}, map[workflow.State]workflow.State{workflow.PaidOnHold: workflow.Cancelled}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newOrderSystem(t)
			older, handlers := s.at(t, 1)
			placeAndPay(t, older)
			execution := s.wait(t, workflow.Shipped, 2)
			s.untilParked(t)

			for _, e := range row.events {
				handle(t, handlers[reactions.ParkedHandler], s.move(t, older, e))
			}
			d := without(t, row.removed)

			newer, err := transitions.New(transitions.Config{DynamoDB: s.DB, Table: "orders", JournalTable: "events", Definition: d})
			if err != nil {
				t.Fatal(err)
			}
			_, newHandlers := s.at(t, 2, func(c *reactions.Config) { c.Orders = newer })

			m, err := workflow.NewMigrations([]*workflow.Definition{older.Definition(), d}, []workflow.Migration{{From: 1, To: 2, States: row.states}})
			if err != nil {
				t.Fatal(err)
			}

			record := s.change(t, func() {
				order, _, err := newer.Get(t.Context(), "o-1")
				if err != nil {
					t.Fatal(err)
				}

				if _, moved, err := newer.Migrate(t.Context(), m, order, transitions.Cause{}); err != nil || !moved {
					t.Fatalf("moved %t, %v", moved, err)
				}
			})
			for range 2 {
				handle(t, newHandlers[reactions.ParkedHandler], record)
			}

			s.ended(t, execution)
		})
	}
}
