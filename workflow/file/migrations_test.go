package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/workflow"
	"ratchet/workflow/file"
)

const mappingFile = `migrations:
  - from: 1
    to: 2
    states: {OLD: NEW}
  - from: 2
    to: 3
`

func TestParseMigrationsReadsTheMappings(t *testing.T) {
	steps, err := file.ParseMigrations("m.yaml", []byte(mappingFile))
	if err != nil {
		t.Fatal(err)
	}

	want := []workflow.Migration{
		{From: 1, To: 2, States: map[workflow.State]workflow.State{"OLD": "NEW"}, Position: "m.yaml:2"},
		{From: 2, To: 3, States: map[workflow.State]workflow.State{}, Position: "m.yaml:5"},
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if _, err := workflow.NewMigrations([]*workflow.Definition{version(t, 1, "B", "OLD"), version(t, 2, "B", "NEW"), version(t, 3, "B", "NEW")}, steps); err != nil {
		t.Error(err)
	}
}

func TestParseMigrationsNamesTheLineOfEveryError(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{name: "not a list", text: "migrations: 1\n", want: "m.yaml:1: migrations: want a list"},
		{name: "no version", text: "migrations:\n  - from: 1\n", want: "m.yaml:2: a migration lacks to"},
		{name: "an unknown field", text: "migrations:\n  - {from: 1, to: 2,\n     state: {A: B}}\n", want: `m.yaml:3: a migration has no field "state"`},
		{name: "a state twice", text: "migrations:\n  - from: 1\n    to: 2\n    states:\n      A: B\n      A: C\n", want: "m.yaml:6"},
		{name: "an unknown state", text: "migrations:\n  - from: 1\n    to: 2\n    states: {LOST: B}\n", want: "m.yaml:2: migration from version 1 to 2: version 1 has no state LOST"},
		{name: "nothing", text: "", want: "m.yaml"},
	}
	versions := []*workflow.Definition{version(t, 1, "B"), version(t, 2, "B")}
	for _, row := range rows {
		steps, err := file.ParseMigrations("m.yaml", []byte(row.text))
		if err == nil {
			_, err = workflow.NewMigrations(versions, steps)
		}

		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one that says %q", row.name, err, row.want)
		}
	}
}

func FuzzParseMigrations(f *testing.F) {
	f.Add([]byte(mappingFile))
	f.Add([]byte(`{"migrations":[{"from":1,"to":2,"states":{"A":"B"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		steps, err := file.ParseMigrations("fuzz", text)
		if err != nil {
			return
		}
		// What can be read is refused with an error, or taken; nothing panics.
		_, _ = workflow.NewMigrations([]*workflow.Definition{version(t, 1, "B"), version(t, 2, "B")}, steps)
	})
}

// version returns version n of a definition whose state A leads to each of the ends.
func version(t *testing.T, n int, ends ...workflow.State) *workflow.Definition {
	t.Helper()

	s := workflow.Spec{
		Name: "t", Version: n, Place: "place", Initial: "A",
		States: []workflow.StateSpec{{State: "A"}},
	}
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
