package console

import (
	"cmp"
	"fmt"
	"slices"

	"ratchet/workflow/diagram"
)

// mostRefused is how many kinds of refusals a picture has, the newest ones.
const mostRefused = 5

// The kinds of moments that the picture is about.
const (
	transitionKind = "transition"
	refusalKind    = "refusal"
)

// refusedClass is the class of an event that was refused: it leads from the state of the order back to it.
const refusedClass = "refused"

// refusedPrefix begins the ids of the edges of what was refused.
const refusedPrefix = "(" + refusedClass + ") "

// refusedMove is a kind of refusal that was noted.
type refusedMove struct {
	edge  diagram.Edge
	count int64
	why   string // the newest reason
}

// times is how often it was noted at least, "" for once.
func (r refusedMove) times() string {
	switch {
	case r.count <= 1:
		return ""
	case r.count > 99:
		return "99+"
	}

	return fmt.Sprintf("%d×", r.count)
}

// refused returns the kinds of refusals that were noted, those that are newest first, and how many there are beside them. The text of an
// edge is the same whatever was refused how often, so that its place on the picture is the same.
func (e explanation) refused(d definition) (all []refusedMove, unseen int64) {
	for i, m := range slices.Backward(e.Timeline) {
		if m.Kind != refusalKind {
			continue
		}
		unseen += m.Ref.More

		at := stateBefore(e.Timeline[:i], m)
		id := refusedPrefix + diagram.EdgeID(at, m.Ref.Event, m.Ref.Code)

		if known := slices.IndexFunc(all, func(r refusedMove) bool { return r.edge.ID == id }); known >= 0 {
			all[known].count += max(m.Ref.Count, 1)
			continue
		}

		if !d.hasState(at) || len(all) == mostRefused {
			unseen++
			continue
		}
		all = append(all, refusedMove{diagram.Edge{ID: id, From: at, To: at, Text: "✕ " + m.Ref.Event + ": " + m.Ref.Code}, max(m.Ref.Count, 1), m.text()})
	}

	return all, unseen
}

// stateBefore is the state in which an event was refused, "" before the first transition. Clocks of processes differ a little, so
// a wrong state is the newest one that does not allow the event.
func stateBefore(earlier []moments, m moments) (state string) {
	for _, was := range slices.Backward(earlier) {
		if was.Kind != transitionKind {
			continue
		}

		if m.Ref.Code != "WrongState" || !slices.Contains(m.Ref.Needs, was.Ref.State) {
			return was.Ref.State
		}
		state = cmp.Or(state, was.Ref.State)
	}

	return state
}

func (d definition) hasState(state string) bool {
	for _, s := range d.States {
		if s.State == state {
			return true
		}
	}

	return false
}
