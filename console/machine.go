package console

import (
	"slices"
	"strings"

	"ratchet/workflow/diagram"
)

const (
	// orderLane and machineLane are the parts of the picture of an order.
	orderLane   = "Order"
	machineLane = "Step Functions"
	// unknownState stands among an order's states where an execution does not know in which the order is.
	unknownState = "?"
)

// machine is the state machine that moves the orders.
type machine struct {
	StartAt string
	States  []machineState
}

type machineState struct {
	Name, Type, Awaits   string
	Creates              bool
	Next, Events, Orders []string
}

// machineID is the id of a state of the state machine in a picture that has the states of the order, too.
func machineID(state string) string { return machineLane + "/" + state }

// note is what a state of the state machine does with an order.
func (s machineState) note() string {
	if s.Awaits != "" {
		return "waits for " + s.Awaits
	}

	return strings.Join(s.Events, ", ")
}

// makes reports whether the state may make a move of an order. A state that places the order finds it in its initial state, unless
// another caller has moved it.
func (s machineState) makes(m diagram.Move, initial string) bool {
	switch {
	case m.From == "":
		return s.Creates
	case s.Creates:
		return slices.Contains(s.Events, m.Event) && m.From == initial
	}

	return slices.Contains(s.Events, m.Event) && (slices.Contains(s.Orders, m.From) || slices.Contains(s.Orders, unknownState))
}

// add adds the state machine to a graph, in a lane of its own: which state may follow which. A state that applies an event, or waits for a
// state of the order, says so.
func (m machine) add(g *diagram.Graph) {
	start := machineID("")
	g.Nodes = append(g.Nodes, diagram.Node{ID: start, Lane: machineLane, Shape: diagram.Start})
	g.Edges = append(g.Edges, diagram.Edge{ID: diagram.EdgeID(start, "", machineID(m.StartAt)), From: start, To: machineID(m.StartAt)})

	for _, s := range m.States {
		n := diagram.Node{ID: machineID(s.Name), Text: s.Name, Note: s.note(), Doc: s.Type, Lane: machineLane}
		if len(s.Next) == 0 {
			n.Shape = diagram.End
		}
		g.Nodes = append(g.Nodes, n)

		for _, next := range s.Next {
			from, to := machineID(s.Name), machineID(next)
			g.Edges = append(g.Edges, diagram.Edge{ID: diagram.EdgeID(from, "", to), From: from, To: to})
		}
	}
}

// whole returns the graph of the definition with the state machine below it, and at each move the states that make it.
func (d definition) whole() diagram.Graph {
	g := d.graph()
	if d.Machine == nil {
		return g
	}
	g.Title += ", and its state machine"

	for i := range g.Nodes {
		g.Nodes[i].Lane = orderLane
	}

	for i, m := range append([]diagram.Move{{Event: d.Place, To: d.Initial}}, d.moves()...) {
		for _, s := range d.Machine.States {
			if s.makes(m, d.Initial) {
				g.Edges[i].By = append(g.Edges[i].By, machineID(s.Name))
			}
		}
	}
	d.Machine.add(&g)

	return g
}

// awaits is the state of the order for which a state of the state machine waits, "" if it waits for none.
func (d definition) awaits(state string) string {
	if d.Machine == nil {
		return ""
	}

	return d.Machine.state(state).Awaits
}
