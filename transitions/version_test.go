package transitions_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/inspect"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// attributes lets cmp look at items.
var attributes = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{},
	types.AttributeValueMemberM{}, types.AttributeValueMemberL{}, types.AttributeValueMemberBOOL{})

// renamed returns a version of a definition. The state ON_HOLD of version 1 is HELD in
// version 2; version 3 has neither.
func renamed(t testing.TB, version int) *workflow.Definition {
	t.Helper()

	held := map[int]workflow.State{1: "ON_HOLD", 2: "HELD"}[version]
	spec := workflow.Spec{Name: "order", Version: version, Place: "place", Initial: "PENDING",
		States:      []workflow.StateSpec{{State: "PENDING"}, {State: "PAID", Terminal: true}},
		Transitions: []workflow.Transition{{Event: "pay", From: []workflow.State{"PENDING"}, To: "PAID"}}}
	if held != "" {
		spec.States = append(spec.States, workflow.StateSpec{State: held})
		spec.Transitions = append(spec.Transitions, workflow.Transition{Event: "hold", From: []workflow.State{"PENDING"}, To: held},
			workflow.Transition{Event: "release", From: []workflow.State{held}, To: "PENDING"})
	}

	d, err := workflow.New(spec)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// runs opens the orders with the definition of a version, with others that it accepts.
func (s *orders) runs(t testing.TB, version int, accepted ...int) {
	t.Helper()
	s.reconfigure(func(c *transitions.Config) {
		c.Journal, c.Definition, c.Versions = s.mode, renamed(t, version), accepted
	})
}

// ways returns the migrations between versions. Only that from 1 to 2 has a mapping.
func ways(t testing.TB, versions ...int) *workflow.Migrations {
	t.Helper()

	var defs []*workflow.Definition
	for _, v := range versions {
		defs = append(defs, renamed(t, v))
	}

	m, err := workflow.NewMigrations(defs, []workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"ON_HOLD": "HELD"}}})
	if err != nil {
		t.Fatal(err)
	}

	return m
}

// TestWorkerPoint39_AnOrderOfAnUnknownVersionIsRefused: a state of an unknown version may mean something
// else, even if it has a known name.
func TestWorkerPoint39_AnOrderOfAnUnknownVersionIsRefused(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.runs(t, 1)
		s.place(t, "o-1")
		first := keyed("o-1", "hold", "r")
		s.want(t, first, transitions.Applied)
		s.want(t, keyed("o-1", "release", "r2"), transitions.Applied)
		before := s.Item(t, "o-1")
		s.runs(t, 2)

		ifMatch := keyed("o-1", "pay", "k2")
		ifMatch.IfMatch = seen(3)
		for name, r := range map[string]transitions.Request{"id given": given("o-1", "pay", 4), "id assigned": keyed("o-1", "pay", "k"), "if-match": ifMatch} {
			if _, err := s.Apply(t.Context(), r); !errors.Is(err, transitions.ErrUnknownVersion) || transitions.Retryable(err) {
				t.Errorf("%s: got %v, want ErrUnknownVersion", name, err)
			}
		}

		if _, err := s.AddItems(t.Context(), edit("o-1", "e"), cup); !errors.Is(err, transitions.ErrUnknownVersion) {
			t.Errorf("edit: got %v", err)
		}

		if _, err := s.ChangeItem(t.Context(), edit("o-1", "e"), cup); !errors.Is(err, transitions.ErrUnknownVersion) {
			t.Errorf("edit of a line: got %v", err)
		}

		if diff := cmp.Diff(before, s.Item(t, "o-1"), attributes); diff != "" {
			t.Errorf("a refusal wrote something:\n%s", diff)
		}
		// Earlier decisions stay.
		s.want(t, first, transitions.Replayed)
		s.want(t, given("o-1", "pay", 2), transitions.Superseded)
		s.runs(t, 2, 1)
		s.want(t, given("o-1", "pay", 4), transitions.Applied)
		s.runs(t, 1) // a worker of the old version meets an order that the new version has moved

		if _, err := s.Apply(t.Context(), given("o-1", "hold", 5)); !errors.Is(err, transitions.ErrUnknownVersion) {
			t.Errorf("an order of a newer version: got %v", err)
		}
	})
}

// TestOrdersOfEveryAcceptedVersionMove, however their ids are chosen: each way has a condition of
// its own.
func TestOrdersOfEveryAcceptedVersionMove(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		one := transitions.TransitionID(1)
		for name, r := range map[string]transitions.Request{
			"id given":    {TransitionID: 2},
			"if-match":    {RequestID: "k", IfMatch: &one},
			"id assigned": {RequestID: "k"},
			"far ahead":   {TransitionID: 20, RequestID: "k"},
		} {
			for _, version := range []int{0, 1, 2, 3} { // 0: another program has placed the order
				s := newOrders(t)
				if version > 0 {
					s.runs(t, version)
					s.place(t, "o-1")
				} else {
					s.foreign(t, "o-1", "PENDING")
					s.put(t, "transitionId", num(1))
				}
				s.runs(t, 2, 1, 3, 1)
				r.OrderID, r.Event = "o-1", "pay"

				if got, err := s.Apply(t.Context(), r); err != nil || got.Verdict != transitions.Applied || got.Order.DefinitionVersion != 2 {
					t.Errorf("%s of version %d: %s, %v", name, version, got.Verdict, err)
				}
			}
		}
	})
}

// TestAMigrationIsATransition: it takes the next id and leaves evidence like any other. A
// request with the same id is Superseded.
func TestAMigrationIsATransition(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.runs(t, 1)
		s.place(t, "o-1")
		old := s.Item(t, "o-1")
		s.want(t, given("o-1", "hold", 2), transitions.Applied)
		shop.Record(t, s.Orders, old, s.Item(t, "o-1"))
		s.runs(t, 2)

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		old = s.Item(t, "o-1")
		after, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{})
		if err != nil || !moved || after.State != "HELD" || after.TransitionID != 3 || after.DefinitionVersion != 2 || after.PreviousState != "ON_HOLD" {
			t.Fatalf("%+v, %v, %v", after, moved, err)
		}
		shop.Record(t, s.Orders, old, s.Item(t, "o-1"))

		if _, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); err != nil || moved {
			t.Errorf("again, with the order as it was read before: moved %v, %v", moved, err)
		}
		s.want(t, given("o-1", "release", 3), transitions.Superseded)
		s.want(t, given("o-1", "release", 4), transitions.Applied)

		if s.mode == transitions.JournalTransactional {
			if err := inspect.Verify(t.Context(), s.Orders, func(c inspect.Check) error {
				if len(c.Findings) > 0 {
					t.Errorf("%+v", c.Findings)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}

		rows, err := s.History(t.Context(), "o-1", 2, 1)
		if err != nil || len(rows) != 1 || rows[0].Event != workflow.Migrate || rows[0].From != "ON_HOLD" || rows[0].To != "HELD" {
			t.Errorf("journal %+v, %v", rows, err)
		}
	})
}

func TestAMigrationWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.runs(t, 1)
		s.place(t, "o-1")
		s.runs(t, 2)

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}
		lost := s.Wire.Inject(embeddedtest.LoseAnswer(moves...).Next(1))

		if after, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); err != nil || !moved || after.TransitionID != 2 || lost.Strikes() != 1 {
			t.Errorf("%+v, moved %v, %v; lost %d answers", after, moved, err, lost.Strikes())
		}
	})
}

// TestAllOrdersAreMigrated sweeps a table in which some orders are of the new version
// already. A second sweep must find nothing to do, and orders without a mapping must be
// counted.
func TestAllOrdersAreMigrated(t *testing.T) {
	s := newOrders(t)
	s.runs(t, 1)

	for i := range 40 {
		id := transitions.OrderID(fmt.Sprintf("o-%d", i))
		s.place(t, id)

		if i%2 == 0 {
			s.want(t, given(id, "hold", 2), transitions.Applied)
		}
	}
	s.runs(t, 2)
	s.place(t, "new")
	count := func(want inspect.Counts) {
		t.Helper()

		got, err := inspect.Count(t.Context(), s.Orders, transitions.Sweep{})
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	count(inspect.Counts{1: {"PENDING": 20, "ON_HOLD": 20}, 2: {"PENDING": 1}})

	seen := 0
	found, err := s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{Segments: 3, Progress: func(n int) { seen = n }}, transitions.Cause{})
	if err != nil || found.Moved != 40 || found.Unmapped != 0 || seen != 41 {
		t.Errorf("%+v, %d seen, %v", found, seen, err)
	}
	count(inspect.Counts{2: {"PENDING": 21, "HELD": 20}})

	if found, err = s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{}, transitions.Cause{}); err != nil || found.Moved+found.Unmapped != 0 {
		t.Errorf("again: %+v, %v", found, err)
	}
	s.runs(t, 3)

	if found, err = s.MigrateAll(t.Context(), ways(t, 1, 2, 3), transitions.Sweep{}, transitions.Cause{}); err != nil || found.Moved != 0 || found.Unmapped != 41 {
		t.Errorf("without a way: %+v, %v", found, err)
	}

	if _, err := inspect.Count(t.Context(), s.Orders, transitions.Sweep{Segments: 65}); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("65 segments: %v", err)
	}
}

// TestARequestMayBeNamedLikeAMigration: a caller may choose the request id under which the
// order is migrated later.
func TestARequestMayBeNamedLikeAMigration(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.runs(t, 1)
		s.place(t, "o-1")
		result := s.want(t, keyed("o-1", "hold", "migration/1/2/2"), transitions.Applied)
		s.runs(t, 2)

		if order, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), result.Order, transitions.Cause{}); err != nil || !moved || order.TransitionID != 3 {
			t.Errorf("%+v, moved %t, %v", order, moved, err)
		}
	})
}
