package api

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/workflow/diagram"
)

// layoutWait is how long the first request waits for a layout. A definition of forty states needs a third of it.
const layoutWait = 100 * time.Millisecond

// graphLayout is where the parts of a picture are.
type graphLayout struct {
	Status string       `json:"status" enum:"pending,ready,failed" doc:"pending: it is made beside the requests, once, and nothing else is here yet. Ask again in a second."`
	Width  float64      `json:"width,omitempty" doc:"Of the picture. All numbers are pixels of CSS, rightward and downward from its upper left corner."`
	Height float64      `json:"height,omitempty"`
	Start  *placedBox   `json:"start,omitempty" doc:"The point where everything begins."`
	States []placedBox  `json:"states,omitempty" doc:"In the order of the states beside it."`
	Lines  []placedLine `json:"lines,omitempty"`
}

// placedBox is a rectangle by its upper left corner.
type placedBox struct {
	State  string  `json:"state,omitempty"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// placedLine is an arrow, with a label for each event.
type placedLine struct {
	From   string        `json:"from,omitempty" doc:"Absent: it leads from the start."`
	To     string        `json:"to"`
	Path   string        `json:"path" doc:"Its way, as the data of a path in SVG: M, H and C with absolute coordinates."`
	Anchor string        `json:"anchor" enum:"start,middle,end" doc:"The part of a label that is at its x."`
	Labels []placedLabel `json:"labels"`
}

type placedLabel struct {
	Event string  `json:"event,omitempty"`
	Text  string  `json:"text" doc:"The event with its time and conditions, at most 40 letters. They have 11 px, with 6.6 px for each."`
	X     float64 `json:"x"`
	Y     float64 `json:"y" doc:"Of the baseline."`
}

// layoutMaker lays a graph out once, beside the requests, and not before the first one asks.
type layoutMaker struct {
	begin func()
	done  chan struct{} // made is there
	made  *graphLayout
}

// layOut returns the maker of a graph's layout.
func layOut(g diagram.Graph) *layoutMaker {
	m := &layoutMaker{done: make(chan struct{})}
	m.begin = sync.OnceFunc(func() { go m.make(g) })

	return m
}

func (m *layoutMaker) make(g diagram.Graph) {
	defer close(m.done)

	if picture, err := diagram.Layout(g); err != nil {
		m.made = &graphLayout{Status: "failed"}
	} else {
		m.made = showLayout(picture.Positions())
	}
}

// layout returns the layout, or says that it is not there yet.
func (m *layoutMaker) layout() *graphLayout {
	m.begin()

	select {
	case <-m.done:
		return m.made
	case <-time.After(layoutWait):
		return &graphLayout{Status: "pending"}
	}
}

func showLayout(p diagram.Positions) *graphLayout {
	out := &graphLayout{Status: "ready", Width: p.Width, Height: p.Height}

	for _, b := range p.Boxes {
		if b.ID == diagram.StartID {
			out.Start = &placedBox{X: b.X, Y: b.Y, Width: b.Width, Height: b.Height}
			continue
		}
		out.States = append(out.States, placedBox{b.ID, b.X, b.Y, b.Width, b.Height})
	}

	for _, l := range p.Lines {
		line := placedLine{To: l.To, Path: l.Path, Anchor: l.Anchor, Labels: []placedLabel{}}
		if l.From != diagram.StartID {
			line.From = l.From
		}

		for _, label := range l.Labels {
			if label.Text == "" {
				continue
			}
			event := strings.TrimSuffix(strings.TrimPrefix(label.Edge, line.From+" "), " "+line.To)
			line.Labels = append(line.Labels, placedLabel{event, label.Text, label.X, label.Y})
		}
		out.Lines = append(out.Lines, line)
	}

	return out
}

// graph has the states and transitions, with the conditions beside the events, as in the console.
func (w workflowShown) graph() diagram.Graph {
	var (
		states []diagram.Node
		moves  []diagram.Move
	)
	for _, s := range w.States {
		n := diagram.Node{ID: s.State, Text: s.State, Doc: s.Doc}
		if s.Terminal {
			n.Shape = diagram.End
		}
		states = append(states, n)

		for _, t := range w.Transitions {
			if !slices.Contains(t.From, s.State) {
				continue
			}

			move := diagram.Move{From: s.State, Event: t.Event, To: t.To, Guards: t.If}
			if t.After != nil {
				move.After = t.After.Text
			}
			moves = append(moves, move)
		}
	}

	return diagram.Of(fmt.Sprintf("%s, version %d", w.Name, w.Version), diagram.Move{Event: w.Place, To: w.Initial}, states, moves)
}

// graph says which state may follow which. The note of a state is what it does with an order.
func (m definedMachine) graph() diagram.Graph {
	var (
		states []diagram.Node
		moves  []diagram.Move
	)
	for _, s := range m.States {
		n := diagram.Node{ID: s.Name, Text: s.Name, Note: strings.Join(s.Events, ", "), Doc: s.Type}
		if s.Awaits != "" {
			n.Note = "waits for " + s.Awaits
		}

		if len(s.Next) == 0 {
			n.Shape = diagram.End
		}
		states = append(states, n)

		for _, next := range s.Next {
			moves = append(moves, diagram.Move{From: s.Name, To: next})
		}
	}

	return diagram.Of("state machine", diagram.Move{To: m.StartAt}, states, moves)
}
