package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet/workflow"
	"ratchet/workflow/file"
)

// timedFile has timers of each form.
const timedFile = `name: plan
version: 2
place: start
initial: TRIAL
states:
  - {state: TRIAL}
  - {state: ACTIVE}
  - {state: ENDED, terminal: true}
transitions:
  - {event: remind, from: [TRIAL], to: TRIAL, after: {attribute: metadata.trialEndsAt, delay: -3d}}
  - event: begin
    from: [TRIAL]
    to: ACTIVE
    guards:
      - {name: "card", attribute: metadata.card, op: exists}
    after: {attribute: metadata.trialEndsAt}
  - {event: extend, from: [TRIAL], to: TRIAL, restart: true}
  - {event: end, from: [TRIAL, ACTIVE], to: ENDED, after: 1d12h}
`

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

func TestFormatAndParseKeepADefinition(t *testing.T) {
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
		{name: "an unknown field", old: "doc:", new: "dox:", want: `d.yaml:7: a state has no field "dox"`},
		{name: "a missing field", old: "place: build\n", new: "", want: "d.yaml:1: the definition lacks place"},
		{name: "a version that is no number", old: "version: 1", new: "version: one", want: "d.yaml:2: version: want a number, got a string"},
		{name: "a version that is not whole", old: "version: 1", new: "version: 1.5", want: "d.yaml:2: version: 1.5 is not a whole number"},
		{name: "versions count from 1", old: "version: 1", new: "version: 0", want: "d.yaml:2: workflow \"door\" version 0: the version is 0"},
		{name: "a missing initial state", old: "initial: OPEN", new: "initial: AJAR", want: `d.yaml:4: workflow "door" version 1: the initial state "AJAR"`},
		{name: "a state twice", old: "{state: SHUT", new: "{state: OPEN", want: "d.yaml:7: workflow \"door\" version 1: state OPEN is listed twice"},
		{name: "an unknown source", old: "from: [OPEN]", new: "from: [AJAR]", want: "d.yaml:9: workflow \"door\" version 1: event shut starts from \"AJAR\""},
		{name: "the same pair twice", old: "    to: SHUT\n", new: "    to: SHUT\n  - {event: shut, from: [OPEN], to: SHUT}\n", want: "d.yaml:12: workflow \"door\" version 1: event shut from OPEN is defined twice"},
		{name: "a state that nothing reaches", old: "transitions:\n", new: "  - {state: LOST, terminal: true}\ntransitions:\n", want: "d.yaml:8: workflow \"door\" version 1: state LOST cannot be reached"},
		{name: "a dead end", old: ", terminal: true", new: "", want: "d.yaml:7: workflow \"door\" version 1: state SHUT is a dead end"},
		{name: "ambiguous guards", old: "    to: SHUT\n", new: "    to: SHUT\n    guards: [{name: a, attribute: n, op: \">\", value: 1}]\n  - {event: shut, from: [OPEN], to: OPEN, guards: [{name: b, attribute: n, op: \">\", value: 5}]}\n",
			want: "d.yaml:13: workflow \"door\" version 1: event shut from OPEN is ambiguous"},
		{name: "a guard that calculates", old: "    to: SHUT\n", new: "    to: SHUT\n    guards:\n      - {name: a, attribute: a - b, op: \">\", value: 1}\n", want: "d.yaml:13: guard a: \"a - b\" calculates"},
		{name: "a fraction", old: "    to: SHUT\n", new: "    to: SHUT\n    guards:\n      - {name: a, attribute: a, op: \">\", value: 1.5}\n", want: "d.yaml:13: value: 1.5 is not a whole number"},
		{name: "a moment that is no duration", old: "    to: SHUT\n", new: "    to: SHUT\n    after: soon\n", want: "d.yaml:12: after: \"soon\": a duration like 90m, 24h or 14d"},
		{name: "a moment without its unit", old: "    to: SHUT\n", new: "    to: SHUT\n    after: 24\n", want: "d.yaml:12: after: \"24\": a duration like"},
		{name: "a moment beyond a year", old: "    to: SHUT\n", new: "    to: SHUT\n    after: 367d\n", want: "d.yaml:12: after 367d: a delay is at most 366d"},
		{name: "a moment without its attribute", old: "    to: SHUT\n", new: "    to: SHUT\n    after:\n      delay: 3d\n", want: "d.yaml:13: after lacks attribute"},
		{name: "a moment with another field", old: "    to: SHUT\n", new: "    to: SHUT\n    after:\n      attribute: a\n      deley: 3d\n", want: "d.yaml:14: after has no field \"deley\""},
		{name: "a delay that is none", old: "    to: SHUT\n", new: "    to: SHUT\n    after:\n      attribute: a\n      delay: x\n", want: "d.yaml:14: delay: \"x\": a duration like"},
		{name: "an attribute that is no path", old: "    to: SHUT\n", new: "    to: SHUT\n    after: {attribute: a..b}\n", want: "d.yaml:12: after: \"a..b\" is not the path"},
		{name: "a restart of an event that leaves", old: "    to: SHUT\n", new: "    to: SHUT\n    restart: true\n", want: "d.yaml:9: workflow \"door\" version 1: event shut to SHUT: restart: the event leaves"},
		{name: "an alias", old: "from: [OPEN]", new: "from: *x", want: "d.yaml:"},
		{name: "a second document", old: "to: SHUT\n", new: "to: SHUT\n---\nname: x\n", want: "d.yaml:12: a second document"},
		{name: "a key twice", old: "initial: OPEN", new: "initial: OPEN\ninitial: SHUT", want: "d.yaml:5: \"initial\" is there twice"},
		{name: "a list at the top", old: smallFile, new: "- a\n", want: "d.yaml:1: want a map, got a list"},
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

func TestTimersAreReadAsTheyAreWritten(t *testing.T) {
	d, err := file.Parse("plan.yaml", []byte(timedFile))
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, transition := range d.Spec().Transitions {
		if transition.After != nil {
			got = append(got, string(transition.Event)+" after "+transition.After.String())
		}
	}

	want := []string{"remind after metadata.trialEndsAt - 3d", "begin after metadata.trialEndsAt", "end after 36h"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	written := file.Format(d)

	again, err := file.Parse("again.yaml", []byte(written))
	if err != nil {
		t.Fatalf("%v\n%s", err, written)
	}

	if diff := cmp.Diff(d.Spec(), again.Spec()); diff != "" {
		t.Errorf("%s\n%s", diff, written)
	}
}

func TestParseReadsJSONLikeYAML(t *testing.T) {
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

// TestFormatQuotesNamesThatYAMLReadsAsOtherTypes survive: on, null, 0x10 are names here.
func TestFormatQuotesNamesThatYAMLReadsAsOtherTypes(t *testing.T) {
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
	f.Add([]byte(timedFile))
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
