package workflow_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ratchet/workflow"
)

// timed is a subscription that time renews, ends and reminds of.
func timed() workflow.Spec {
	return workflow.Spec{
		Name: "plan", Version: 1, Place: "start", Initial: "ACTIVE",
		States: []workflow.StateSpec{{State: "ACTIVE"}, {State: "PAUSED"}, {State: "ENDED", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "renew", From: []workflow.State{"ACTIVE"}, To: "ACTIVE", After: &workflow.After{Attribute: "metadata.renewsAt"}},
			{Event: "pause", From: []workflow.State{"ACTIVE"}, To: "PAUSED"},
			{Event: "touch", From: []workflow.State{"PAUSED"}, To: "PAUSED", Restart: true},
			{Event: "end", From: []workflow.State{"ACTIVE", "PAUSED"}, To: "ENDED", After: &workflow.After{Delay: 90 * 24 * time.Hour}},
		},
	}
}

func TestTheTimersOfAState(t *testing.T) {
	d, err := workflow.New(timed())
	if err != nil {
		t.Fatal(err)
	}

	for state, want := range map[workflow.State][]workflow.Event{"ACTIVE": {"renew", "end"}, "PAUSED": {"end"}, "ENDED": nil, "NONE": nil} {
		var got []workflow.Event
		for _, transition := range d.Timed(state) {
			got = append(got, transition.Event)

			if !reflect.DeepEqual(transition.From, []workflow.State{state}) {
				t.Errorf("%s: a timer of %v", state, transition.From)
			}
		}

		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: timers %v, want %v", state, got, want)
		}
	}

	if n := testing.AllocsPerRun(100, func() { d.Timed("ACTIVE") }); n != 0 {
		t.Errorf("Timed allocates %v times", n)
	}

	// What a definition hands out may be changed without changing it.
	d.Spec().Transitions[0].After.Delay = time.Hour
	if after := d.Timed("ACTIVE")[0].After; after.Delay != 0 {
		t.Errorf("the delay has become %v", after.Delay)
	}
}

func TestWhenATransitionIsDue(t *testing.T) {
	entered := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later := entered.Add(48 * time.Hour)

	rows := []struct {
		name  string
		after workflow.After
		keeps bool
		value any // of the attribute, nil for none
		want  time.Time
	}{
		{name: "from entering", after: workflow.After{Delay: time.Hour}, want: entered.Add(time.Hour)},
		{name: "from entering, of a transition that keeps the state", after: workflow.After{Delay: time.Hour}, keeps: true, want: entered.Add(time.Hour)},
		{name: "from a text", after: workflow.After{Attribute: "at"}, value: "2026-03-03T13:00:00+01:00", want: later},
		{name: "from milliseconds", after: workflow.After{Attribute: "at"}, value: json.Number("1772539200000"), want: later},
		{name: "from seconds", after: workflow.After{Attribute: "at", Delay: time.Minute}, value: json.Number("1772539200"), want: later.Add(time.Minute)},
		{name: "before the time", after: workflow.After{Attribute: "at", Delay: -time.Hour}, value: 1772539200, want: later.Add(-time.Hour)},
		{name: "in the past: at once", after: workflow.After{Attribute: "at"}, value: "2026-02-01T00:00:00Z", want: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)},
		{name: "in the past, of a transition that keeps the state: not before the attribute is moved", after: workflow.After{Attribute: "at"}, keeps: true, value: "2026-02-01T00:00:00Z"},
		{name: "at the start of the timer, of a transition that keeps the state: it has just been made", after: workflow.After{Attribute: "at"}, keeps: true, value: "2026-03-01T12:00:00Z"},
		{name: "no attribute", after: workflow.After{Attribute: "at"}},
		{name: "a text that is no time", after: workflow.After{Attribute: "at"}, value: "tomorrow"},
		{name: "a day without its time", after: workflow.After{Attribute: "at"}, value: "2026-03-03"},
		{name: "another type", after: workflow.After{Attribute: "at"}, value: true},
		{name: "a negative number", after: workflow.After{Attribute: "at"}, value: -1},
		{name: "after the year 9999", after: workflow.After{Attribute: "at"}, value: json.Number("253402300800000")},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			transition := workflow.Transition{Event: "go", From: []workflow.State{"A"}, To: "B", After: &row.after}
			if row.keeps {
				transition.To = "A"
			}

			order := map[string]any{}
			if row.value != nil {
				order["at"] = row.value
			}

			at, due := transition.Due(entered, order)
			if due == row.want.IsZero() || !at.Equal(row.want) {
				t.Errorf("due at %v, %v; want %v", at, due, row.want)
			}
		})
	}

	if at, due := (workflow.Transition{}).Due(entered, nil); due {
		t.Errorf("a transition without a timer is due at %v", at)
	}
}

func TestATimerThatCannotBeIsRefused(t *testing.T) {
	after := func(a workflow.After) func(*workflow.Spec) {
		return func(s *workflow.Spec) { s.Transitions[3].After = &a }
	}
	request := []workflow.Guard{{Name: "window", Attribute: "a", Op: "<", Request: "start"}}

	rows := []struct {
		name  string
		spoil func(*workflow.Spec)
		want  string
	}{
		{name: "no moment", spoil: after(workflow.After{}), want: "event end to ENDED: after 0s: without an attribute a delay is at least 1s"},
		{name: "a negative delay", spoil: after(workflow.After{Delay: -time.Hour}), want: "after -1h: without an attribute"},
		{name: "parts of a second", spoil: after(workflow.After{Delay: 1500 * time.Millisecond}), want: "whole seconds"},
		{name: "more than a year", spoil: after(workflow.After{Delay: 367 * 24 * time.Hour}), want: "after 367d: a delay is at most 366d"},
		{name: "more than a year before", spoil: after(workflow.After{Attribute: "a", Delay: -367 * 24 * time.Hour}), want: "at most 366d"},
		{name: "no delay is that long", spoil: after(workflow.After{Attribute: "a", Delay: math.MinInt64 / time.Second * time.Second}), want: "at most 366d"},
		{name: "a size", spoil: after(workflow.After{Attribute: "size(items)"}), want: "size(items) is a size"},
		{name: "no path", spoil: after(workflow.After{Attribute: "a + 1"}), want: "calculates"},
		{name: "a guard that needs the request", spoil: func(s *workflow.Spec) { s.Transitions[3].Guards = request }, want: "event end from ACTIVE: guard window needs start from the request"},
		{name: "another transition of the event that needs the request", spoil: func(s *workflow.Spec) {
			s.Transitions[3].Guards = []workflow.Guard{guard("a", "missing", nil)}
			s.Transitions = append(s.Transitions, workflow.Transition{Event: "end", From: []workflow.State{"PAUSED"}, To: "PAUSED", Guards: request})
		}, want: "event end from PAUSED: guard window needs start from the request"},
		{name: "two moments of one event", spoil: func(s *workflow.Spec) {
			s.Transitions = append(s.Transitions, workflow.Transition{Event: "end", From: []workflow.State{"ACTIVE"}, To: "PAUSED", After: &workflow.After{Delay: time.Hour}})
		}, want: "event end from ACTIVE is defined twice"},
		{name: "a terminal state", spoil: func(s *workflow.Spec) { s.Transitions[3].From = []workflow.State{"ACTIVE", "PAUSED", "ENDED"} }, want: "state ENDED is terminal, but an event leaves it"},
		{name: "a restart of an event that leaves", spoil: func(s *workflow.Spec) { s.Transitions[1].Restart = true }, want: "event pause to PAUSED: restart: the event leaves every state"},
		{name: "a restart of nothing", spoil: func(s *workflow.Spec) {
			s.Transitions[3].From = []workflow.State{"ACTIVE"}
			s.Transitions = append(s.Transitions, workflow.Transition{Event: "quit", From: []workflow.State{"PAUSED"}, To: "ENDED"})
		}, want: "event touch to PAUSED: restart: time makes no transition from PAUSED"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			spec := timed()
			row.spoil(&spec)

			if _, err := workflow.New(spec); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one that says %q", err, row.want)
			}
		})
	}
}

func TestDelaysAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"14d": 14 * 24 * time.Hour, "24h": 24 * time.Hour, "1h30m": 90 * time.Minute, "2h0m1s": 2*time.Hour + time.Second,
		"-3d": -72 * time.Hour, "90s": 90 * time.Second, "1d12h": 36 * time.Hour, "-1d1h": -25 * time.Hour, "0s": 0, "10m": 10 * time.Minute,
	} {
		got, err := workflow.ParseDelay(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}

	for _, text := range []string{"", "d", "1", "1d-1h", "--1d", "+-1d", "1dx", "999999d", "1h1d", "65535d2540000h"} {
		if got, err := workflow.ParseDelay(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}

	rapid.Check(t, func(t *rapid.T) {
		delay := time.Duration(rapid.Int64Range(-366*24*3600, 366*24*3600).Draw(t, "seconds")) * time.Second

		again, err := workflow.ParseDelay(workflow.FormatDelay(delay))
		if err != nil || again != delay {
			t.Errorf("%v becomes %s and %v, %v", delay, workflow.FormatDelay(delay), again, err)
		}
	})
}
