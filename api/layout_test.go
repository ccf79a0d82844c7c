package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/api"
)

// TestTheWorkflowHasItsLayout: each state and each transition has one place in it.
func TestTheWorkflowHasItsLayout(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) {
		dev(c)
		withMachine(c)
	})

	var got workflowAnswer
	for end := time.Now().Add(time.Minute); got.Layout.Status != "ready" || got.Machine.Layout.Status != "ready"; {
		got = workflowAnswer{}
		s.want(s.ask("GET", "/v1/workflow?layout=true", ""), http.StatusOK, "").read(t, &got)

		if time.Now().After(end) {
			t.Fatalf("the layouts are %s and %s", got.Layout.Status, got.Machine.Layout.Status)
		}
	}

	if a := s.ask("GET", "/v1/workflow", ""); strings.Contains(a.text, `"layout"`) {
		t.Errorf("an answer of %d bytes has layouts that were not asked for", len(a.text))
	}

	moves := []string{"→" + got.Initial + " " + got.Place}
	for _, tr := range got.Transitions {
		for _, from := range tr.From {
			moves = append(moves, from+"→"+tr.To+" "+tr.Event)
		}
	}

	states := []string{}
	for _, s := range got.States {
		states = append(states, s.State)
	}
	got.Layout.check(t, states, moves, func(from, to, event string) string { return from + "→" + to + " " + event })

	moves, states = []string{"→" + got.Machine.StartAt}, []string{}
	for _, s := range got.Machine.States {
		states = append(states, s.Name)
		for _, next := range s.Next {
			moves = append(moves, s.Name+"→"+next)
		}
	}
	got.Machine.Layout.check(t, states, moves, func(from, to, _ string) string { return from + "→" + to })
}

// check compares the layout with the states and moves that it must have. name names a move.
func (l layoutAnswer) check(t *testing.T, states, moves []string, name func(from, to, event string) string) {
	t.Helper()

	var boxes, lines []string
	for _, b := range l.States {
		boxes = append(boxes, b.State)
		if b.X < 0 || b.Y < 0 || b.X+b.Width > l.Width || b.Y+b.Height > l.Height || b.Width <= 0 || b.Height <= 0 {
			t.Errorf("%+v is not in a picture of %g by %g", b, l.Width, l.Height)
		}
	}

	for _, line := range l.Lines {
		if len(line.Labels) == 0 {
			lines = append(lines, name(line.From, line.To, ""))
		}

		for _, label := range line.Labels {
			lines = append(lines, name(line.From, line.To, label.Event))
			if !strings.HasPrefix(label.Text, label.Event) || label.X <= 0 || label.Y <= 0 || label.X > l.Width || label.Y > l.Height {
				t.Errorf("the label %+v of %s", label, label.Event)
			}
		}
	}
	slices.Sort(lines)
	slices.Sort(moves)

	if !slices.Equal(boxes, states) || !slices.Equal(lines, moves) || l.Start == nil {
		t.Errorf("the layout has %q, want %q;\nlines %q,\nwant %q; start %v", boxes, states, lines, moves, l.Start)
	}
}
