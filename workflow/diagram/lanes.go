package diagram

import "strings"

// headingHeight is the room for the name of a lane.
const headingHeight = 16.0

// lane is a part of a graph that is laid out by itself.
type lane struct {
	name  string
	nodes []Node
	at    []int // the index of each node in the whole graph
	edges []edge
}

// edge is an edge as it is laid out.
type edge struct {
	index    int // in the whole graph
	from, to int // in the lane
	lines    int // of its label
	width    float64
}

// lanes returns the parts of a graph in the order of their first nodes. index is that of each node.
func (g Graph) lanes(index map[string]int) (lanes []*lane) {
	within := make([]int, len(g.Nodes))
	of := map[string]*lane{}

	for i, n := range g.Nodes {
		l := of[n.Lane]
		if l == nil {
			l = &lane{name: n.Lane}
			of[n.Lane], lanes = l, append(lanes, l)
		}
		within[i] = len(l.nodes)
		l.nodes, l.at = append(l.nodes, n), append(l.at, i)
	}

	for i, e := range g.Edges {
		l := of[g.Nodes[index[e.From]].Lane]
		out := edge{index: i, from: within[index[e.From]], to: within[index[e.To]]}

		for _, text := range []string{e.Text, g.by(e, index)} {
			if text != "" {
				out.lines++
				out.width = max(out.width, widthOf(text, labelLetterWidth))
			}
		}
		l.edges = append(l.edges, out)
	}

	return lanes
}

// by is the text about who makes the move, "" if the graph does not say it.
func (g Graph) by(e Edge, index map[string]int) string {
	if len(e.By) == 0 {
		return ""
	}

	names := make([]string, len(e.By))
	for i, id := range e.By {
		names[i] = g.Nodes[index[id]].Text
	}

	return "by " + strings.Join(names, ", ")
}

// room is the size of the labels of edges, one below the other.
func (l *lane) room(edges []int) (width, height float64) {
	for _, i := range edges {
		width = max(width, l.edges[i].width)
		height += labelHeight * float64(l.edges[i].lines)
	}

	return width, height
}

// labeled returns those of the edges that have a label.
func (l *lane) labeled(edges []int) (labeled []int) {
	for _, i := range edges {
		if l.edges[i].lines > 0 {
			labeled = append(labeled, i)
		}
	}

	return labeled
}

// whole returns the edges as the whole graph counts them.
func (l *lane) whole(edges []int) []int {
	all := make([]int, len(edges))
	for i, at := range edges {
		all[i] = l.edges[at].index
	}

	return all
}
