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

// paintOrder returns the picture of an order, and how many kinds of refusals are not on it. Only the layout of the
// definition is kept: what was refused differs from order to order.
func (p *pictures) paintOrder(d definition, e explanation) (svg string, unseen int64, err error) {
	g, paint := d.graph(), e.paint()

	edges, unseen := e.refused(d)
	if len(edges) == 0 {
		svg, err = p.paint(g, paint)
		return svg, unseen, err
	}

	for _, edge := range edges {
		paint.Edges[edge.ID] = refusedClass
	}
	g.Edges = append(g.Edges, edges...)

	picture, err := diagram.Layout(g)
	if err != nil {
		return "", 0, err
	}

	return picture.SVG(paint), unseen, nil
}

// refused returns an edge for each kind of refusal that was noted, the newest first, and how many there are beside those.
func (e explanation) refused(d definition) (edges []diagram.Edge, unseen int64) {
	for i, m := range slices.Backward(e.Timeline) {
		if m.Kind != refusalKind {
			continue
		}
		unseen += m.Ref.More

		at := stateBefore(e.Timeline[:i], m)
		if !d.hasState(at) || len(edges) == mostRefused {
			unseen++
			continue
		}

		times := ""
		if m.Ref.Count > 1 {
			times = fmt.Sprintf(" %d×", m.Ref.Count)
		}
		id := "(" + refusedClass + ") " + diagram.EdgeID(at, m.Ref.Event, m.Ref.Code)
		edges = append(edges, diagram.Edge{ID: id, From: at, To: at, Text: "✕ " + m.Ref.Event + times + ": " + m.Ref.Code, Doc: m.text()})
	}

	return edges, unseen
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
