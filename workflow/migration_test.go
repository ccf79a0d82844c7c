package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/workflow"
)

// version returns version n of a definition whose state A leads to each of the ends.
func version(t *testing.T, n int, ends ...workflow.State) *workflow.Definition {
	t.Helper()

	s := twoStates()

	s.Version = n
	s.States = s.States[:1]
	s.Transitions = nil
	for _, end := range ends {
		s.States = append(s.States, workflow.StateSpec{State: end, Terminal: true})
		s.Transitions = append(s.Transitions, workflow.Transition{Event: workflow.Event("to_" + end), From: []workflow.State{"A"}, To: end})
	}

	d, err := workflow.New(s)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func TestPlanCountsOrdersWithAndWithoutAMapping(t *testing.T) {
	versions := []*workflow.Definition{
		version(t, 1, "B", "OLD", "GONE"),
		version(t, 2, "B", "NEW"),
		version(t, 3, "B", "NEWER"),
	}
	steps := []workflow.Migration{
		{From: 1, To: 2, States: map[workflow.State]workflow.State{"OLD": "NEW"}},
		{From: 2, To: 3, States: map[workflow.State]workflow.State{"NEW": "NEWER", "B": "A"}},
	}

	m, err := workflow.NewMigrations(versions, steps)
	if err != nil {
		t.Fatal(err)
	}

	plan, err := m.Plan(3, map[int]map[workflow.State]int{
		0: {"A": 2, "OLD": 1},
		1: {"A": 5, "OLD": 2, "GONE": 7, "B": 0},
		2: {"B": 1, "LOST": 3},
		3: {"A": 1},
		9: {"A": 4},
	})
	if err != nil {
		t.Fatal(err)
	}

	want := workflow.MigrationPlan{To: 3, Orders: 26, Outdated: 8, Unmapped: 15, Rows: []workflow.MigrationRow{
		{Version: 0, State: "OLD", Orders: 1, Problem: `version 3 has no state "OLD"`},
		{Version: 1, State: "GONE", Orders: 7, Problem: "version 2 has no state GONE, and the migration from version 1 does not say what becomes of it"},
		{Version: 2, State: "LOST", Orders: 3, Problem: `version 2 has no state "LOST"`},
		{Version: 9, State: "A", Orders: 4, Problem: "version 9 is not known"},
		{Version: 0, State: "A", Orders: 2, To: "A"},
		{Version: 1, State: "A", Orders: 5, To: "A"},
		{Version: 1, State: "OLD", Orders: 2, To: "NEWER"},
		{Version: 2, State: "B", Orders: 1, To: "A", Reopens: true},
		{Version: 3, State: "A", Orders: 1, To: "A"},
	}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

}

func TestNewMigrationsRefusesWrongMappings(t *testing.T) {
	defs := []*workflow.Definition{version(t, 1, "B"), version(t, 2, "B")}
	rows := []struct {
		name string
		m    []workflow.Migration
		want string
	}{
		{name: "from an unknown version", m: []workflow.Migration{{From: 7, To: 2}}, want: "version 7 is not known"},
		{name: "to an unknown version", m: []workflow.Migration{{From: 1, To: 7}}, want: "version 7 is not known"},
		{name: "to itself", m: []workflow.Migration{{From: 1, To: 1}}, want: "needs no mapping"},
		{name: "twice", m: []workflow.Migration{{From: 1, To: 2}, {From: 1, To: 2}}, want: "there are two"},
		{name: "an unknown source", m: []workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"X": "B"}}}, want: "no state X"},
		{name: "an unknown target", m: []workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"B": "X"}}}, want: `B becomes "X"`},
	}
	for _, row := range rows {
		if _, err := workflow.NewMigrations(defs, row.m); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one that says %q", row.name, err, row.want)
		}
	}

	if _, err := workflow.NewMigrations([]*workflow.Definition{defs[0], defs[0]}, nil); err == nil {
		t.Error("the same version twice")
	}

	if _, err := workflow.NewMigrations([]*workflow.Definition{defs[0], workflow.Payment()}, nil); err == nil {
		t.Error("two different workflows")
	}
}
