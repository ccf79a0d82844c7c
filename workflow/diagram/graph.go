package diagram

import (
	"fmt"

	"ratchet/workflow"
)

// Graph is what Layout places: nodes, and edges that lead from one to another or back to the same one. The
// first node is where a reader begins.
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
}

// startID is the id of the point where an order begins. No state can have it.
const startID = "(start)"

// EdgeID is the id of a definition's edge.
func EdgeID(from, event, to string) string { return from + " " + event + " " + to }

// graphOf returns the graph of a definition: its states in their order, and an edge for each event. Nodes have
// the names of the states as ids, edges have those of [EdgeID].
func graphOf(d *workflow.Definition) Graph {
	g := Graph{
		Title: fmt.Sprintf("%s, version %d", d.Name(), d.Version()),
		Nodes: []Node{{ID: startID, Shape: Start}},
		Edges: []Edge{{ID: startID, From: startID, To: string(d.Initial()), Text: string(d.Place())}},
	}

	for _, s := range d.States() {
		n := Node{ID: string(s.State), Text: string(s.State), Doc: s.Doc}
		if s.Terminal {
			n.Shape = End
		}
		g.Nodes = append(g.Nodes, n)
	}

	for _, a := range arrows(d) {
		g.Edges = append(g.Edges, Edge{ID: EdgeID(string(a.from), string(a.event), string(a.to)), From: string(a.from), To: string(a.to), Text: a.label})
	}

	return g
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
		for _, end := range []string{e.From, e.To} {
			if _, known := index[end]; !known {
				return nil, fmt.Errorf("diagram: Graph.Edges: %q leads from %q to %q, and there is no node %q", e.Text, e.From, e.To, end)
			}
		}
	}

	return index, nil
}
