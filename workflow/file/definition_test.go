package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet/workflow"
	"ratchet/workflow/file"
)

const smallFile = `name: door
version: 1
place: build
initial: OPEN
states:
  - state: OPEN
  - {state: SHUT, terminal: true, doc: "for good"}
transitions:
  - event: shut
    from: [OPEN]
    to: SHUT
`

func TestADefinitionIsTheSameAfterWritingAndReading(t *testing.T) {
	for _, d := range []*workflow.Definition{workflow.Order(), workflow.Payment(), workflow.Shipment()} {
		again, err := file.Parse(d.Name()+".yaml", []byte(file.Format(d)))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(d.Spec(), again.Spec()); diff != "" {
			t.Errorf("%s changed (-want +got):\n%s", d.Name(), diff)
		}
	}
}

func TestEveryErrorOfAFileNamesTheLine(t *testing.T) {
	rows := []struct{ name, old, new, want string }{
		{"an unknown field", "doc:", "dox:", `d.yaml:7: a state has no field "dox"`},
		{"a missing field", "place: build\n", "", "d.yaml:1: the definition lacks place"},
		{"a version that is no number", "version: 1", "version: one", "d.yaml:2: version: want a number, got a string"},
		{"a version that is not whole", "version: 1", "version: 1.5", "d.yaml:2: version: 1.5 is not a whole number"},
		{"versions count from 1", "version: 1", "version: 0", "d.yaml:2: workflow \"door\" version 0: the version is 0"},
		{"a missing initial state", "initial: OPEN", "initial: AJAR", `d.yaml:4: workflow "door" version 1: the initial state "AJAR"`},
		{"a state twice", "{state: SHUT", "{state: OPEN", "d.yaml:7: workflow \"door\" version 1: state OPEN is listed twice"},
		{"an unknown source", "from: [OPEN]", "from: [AJAR]", "d.yaml:9: workflow \"door\" version 1: event shut starts from \"AJAR\""},
		{"the same pair twice", "    to: SHUT\n", "    to: SHUT\n  - {event: shut, from: [OPEN], to: SHUT}\n", "d.yaml:12: workflow \"door\" version 1: event shut from OPEN is defined twice"},
		{"a state that nothing reaches", "transitions:\n", "  - {state: LOST, terminal: true}\ntransitions:\n", "d.yaml:8: workflow \"door\" version 1: state LOST cannot be reached"},
		{"a dead end", ", terminal: true", "", "d.yaml:7: workflow \"door\" version 1: state SHUT is a dead end"},
		{"ambiguous guards", "    to: SHUT\n", "    to: SHUT\n    guards: [{name: a, attribute: n, op: \">\", value: 1}]\n  - {event: shut, from: [OPEN], to: OPEN, guards: [{name: b, attribute: n, op: \">\", value: 5}]}\n",
			"d.yaml:13: workflow \"door\" version 1: event shut from OPEN is ambiguous"},
		{"a guard that calculates", "    to: SHUT\n", "    to: SHUT\n    guards:\n      - {name: a, attribute: a - b, op: \">\", value: 1}\n", "d.yaml:13: guard a: \"a - b\" calculates"},
		{"a fraction", "    to: SHUT\n", "    to: SHUT\n    guards:\n      - {name: a, attribute: a, op: \">\", value: 1.5}\n", "d.yaml:13: value: 1.5 is not a whole number"},
		{"an alias", "from: [OPEN]", "from: *x", "d.yaml:"},
		{"a second document", "to: SHUT\n", "to: SHUT\n---\nname: x\n", "d.yaml:12: a second document"},
		{"a key twice", "initial: OPEN", "initial: OPEN\ninitial: SHUT", "d.yaml:5: \"initial\" is there twice"},
		{"a list at the top", smallFile, "- a\n", "d.yaml:1: want a map, got a list"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := file.Parse("d.yaml", []byte(strings.Replace(smallFile, row.old, row.new, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Fatalf("got error %v, want one that begins with %q", err, row.want)
			}
		})
	}
}

func TestJSONIsReadLikeYAML(t *testing.T) {
	fromYAML, err := file.Parse("d.yaml", []byte(smallFile))
	if err != nil {
		t.Fatal(err)
	}

	fromJSON, err := file.Parse("d.json", []byte(`{"name":"door","version":1,"place":"build","initial":"OPEN",
		"states":[{"state":"OPEN"},{"state":"SHUT","terminal":true,"doc":"for good"}],
		"transitions":[{"event":"shut","from":["OPEN"],"to":"SHUT"}]}`))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(fromYAML.Spec(), fromJSON.Spec()); diff != "" {
		t.Error(diff)
	}
}

// TestNamesThatYAMLWouldTakeForSomethingElse survive: on, null, 0x10 are names here.
func TestNamesThatYAMLWouldTakeForSomethingElse(t *testing.T) {
	names := rapid.SampledFrom([]string{"on", "null", "NO", "0x10", "1e3", "-", "---", "true", "_", "12", "y"})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SliceOfNDistinct(names, 2, 2, rapid.ID[string]).Draw(t, "names")
		d, err := workflow.New(workflow.Spec{Name: n[0], Version: rapid.IntRange(1, 99).Draw(t, "version"), Place: workflow.Event(n[1]), Initial: workflow.State(n[0]),
			States:      []workflow.StateSpec{{State: workflow.State(n[0])}, {State: workflow.State(n[1]), Terminal: true, Doc: rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "doc")}},
			Transitions: []workflow.Transition{{Event: workflow.Event(n[0]), From: []workflow.State{workflow.State(n[0])}, To: workflow.State(n[1])}}})
		if err != nil {
			t.Fatal(err)
		}

		text := file.Format(d)

		again, err := file.Parse("x", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}

		if diff := cmp.Diff(d.Spec(), again.Spec()); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}

// FuzzParse: what can be read can be written and read again, to the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(smallFile))
	f.Add([]byte(`{"name":"door","version":1,"place":"b","initial":"A","states":[{"state":"A","terminal":true}],"transitions":[]}`))

	for _, d := range []*workflow.Definition{workflow.Payment(), workflow.Shipment()} {
		f.Add([]byte(file.Format(d)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := file.Parse("fuzz", text)
		if err != nil {
			return
		}

		if _, err := workflow.New(d.Spec()); err != nil {
			t.Fatalf("Parse accepts what New refuses: %v", err)
		}

		written := file.Format(d)

		again, err := file.Parse("again", []byte(written))
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}

		if diff := cmp.Diff(d.Spec(), again.Spec()); diff != "" {
			t.Fatalf("%s\n%s", diff, written)
		}
	})
}
