package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ratchet/workflow"
)

const mappingFile = `migrations:
  - from: 1
    to: 2
    states: {OLD: NEW}
  - from: 2
    to: 3
`

func TestMappingsAreReadFromAFile(t *testing.T) {
	steps, err := workflow.ParseMigrations("m.yaml", []byte(mappingFile))
	if err != nil {
		t.Fatal(err)
	}

	want := []workflow.Migration{{From: 1, To: 2, States: map[workflow.State]workflow.State{"OLD": "NEW"}},
		{From: 2, To: 3, States: map[workflow.State]workflow.State{}}}
	if diff := cmp.Diff(want, steps, cmpopts.IgnoreUnexported(workflow.Migration{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if _, err := workflow.NewMigrations([]*workflow.Definition{version(t, 1, "B", "OLD"), version(t, 2, "B", "NEW"), version(t, 3, "B", "NEW")}, steps); err != nil {
		t.Error(err)
	}
}

func TestEveryErrorOfAMappingNamesTheLine(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"not a list", "migrations: 1\n", "m.yaml:1: migrations: want a list"},
		{"no version", "migrations:\n  - from: 1\n", "m.yaml:2: a migration lacks to"},
		{"an unknown field", "migrations:\n  - {from: 1, to: 2,\n     state: {A: B}}\n", `m.yaml:3: a migration has no field "state"`},
		{"a state twice", "migrations:\n  - from: 1\n    to: 2\n    states:\n      A: B\n      A: C\n", "m.yaml:6"},
		{"an unknown state", "migrations:\n  - from: 1\n    to: 2\n    states: {LOST: B}\n", "m.yaml:2: migration from version 1 to 2: version 1 has no state LOST"},
		{"nothing", "", "m.yaml"},
	}
	versions := []*workflow.Definition{version(t, 1, "B"), version(t, 2, "B")}
	for _, row := range rows {
		steps, err := workflow.ParseMigrations("m.yaml", []byte(row.text))
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
		steps, err := workflow.ParseMigrations("fuzz", text)
		if err != nil {
			return
		}
		// What can be read is refused with an error, or taken; nothing panics.
		_, _ = workflow.NewMigrations([]*workflow.Definition{version(t, 1, "B"), version(t, 2, "B")}, steps)
	})
}
