package diagram

import (
	"cmp"
	"fmt"
	"strings"

	"ratchet/workflow"
)

// Graph is what Layout places: nodes, and edges that lead from one to another or back to the same one. The
// first node is where a reader begins. Nodes of other lanes stand below.
type Graph struct {
	Title string
	Nodes []Node
	Edges []Edge
}

// Node is a box, or the point at which everything begins.
type Node struct {
	ID    string // unique in the graph
	Text  string // longer ones than 40 letters are cut, and shown whole when pointed at
	Note  string // a second line; Paint has another one
	Doc   string // shown when pointed at
	Lane  string // the name above the nodes that stand together; no edge leads from one lane to another
	Shape Shape
}

// Shape says how a node is drawn.
type Shape string

// The shapes.
const (
	Box   Shape = ""      // a box
	End   Shape = "end"   // a box with a double border
	Start Shape = "start" // a point, without its text
)

// Edge is an arrow. Edges between the same nodes share a line, which has all their texts.
type Edge struct {
	ID       string // what Paint calls it
	From, To string // ids of nodes
	Text     string // cut like the text of a node; "" for none
	Doc      string // shown when its text is pointed at
	// By are the ids of nodes, of any lane, that make the move. Their texts stand below that of the edge, and lead to the first of them.
	By []string
}

// startID is the id of the point where everything begins. No state can have it.
const startID = "(start)"

// Move is an event that leads from one state to another.
type Move struct {
	From, Event, To string   // "" for no state, and for a move without an event
	Guards          []string // their names
	After           string   // when time makes the move, as workflow.After writes it; "" if only requests do
}

// label returns the event with its time and the names of its guards in brackets, as UML writes them.
func (m Move) label() string {
	text := m.Event
	if m.After != "" {
		text += " after " + m.After
	}

	if len(m.Guards) == 0 {
		return text
	}

	return fmt.Sprintf("%s [%s]", text, strings.Join(m.Guards, ", "))
}

// EdgeID is the id of a move's edge.
func EdgeID(from, event, to string) string { return from + " " + event + " " + to }

// Of returns the graph of states and the moves between them. The first move leads to the state where a reader
// begins, and from none.
func Of(title string, first Move, states []Node, moves []Move) Graph {
	g := Graph{Title: title, Nodes: append([]Node{{ID: startID, Shape: Start}}, states...)}

	for _, m := range append([]Move{first}, moves...) {
		g.Edges = append(g.Edges, Edge{ID: EdgeID(m.From, m.Event, m.To), From: cmp.Or(m.From, startID), To: m.To, Text: m.label()})
	}

	return g
}

// graphOf returns the graph of a definition: its states in their order, and an edge for each event.
func graphOf(d *workflow.Definition) Graph {
	var states []Node
	for _, s := range d.States() {
		n := Node{ID: string(s.State), Text: string(s.State), Doc: s.Doc}
		if s.Terminal {
			n.Shape = End
		}
		states = append(states, n)
	}

	return Of(fmt.Sprintf("%s, version %d", d.Name(), d.Version()), Move{Event: string(d.Place()), To: string(d.Initial())}, states, movesOf(d))
}

// validate returns the index of each node.
func (g Graph) validate() (map[string]int, error) {
	index := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		if _, twice := index[n.ID]; twice {
			return nil, fmt.Errorf("diagram: Graph.Nodes: two have the id %q", n.ID)
		}
		index[n.ID] = i
	}

	for _, e := range g.Edges {
		for _, end := range append([]string{e.From, e.To}, e.By...) {
			if _, known := index[end]; !known {
				return nil, fmt.Errorf("diagram: Graph.Edges: %q leads from %q to %q, and there is no node %q", e.Text, e.From, e.To, end)
			}
		}

		if from, to := g.Nodes[index[e.From]].Lane, g.Nodes[index[e.To]].Lane; from != to {
			return nil, fmt.Errorf("diagram: Graph.Edges: %q leads from the lane %q to the lane %q", e.Text, from, to)
		}
	}

	return index, nil
}
