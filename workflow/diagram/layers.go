package diagram

import "slices"

// The layout is that of Sugiyama, Tagawa and Toda (1981), with the refinements of Gansner, Koutsofios, North
// and Vo (A Technique for Drawing Directed Graphs, 1993): nodes stand in columns from left to right, and a
// line has a place of its own in each column that it crosses. Columns with nodes and columns with labels
// alternate. Within a column, places do not overlap, and a line runs level through its place: so no line runs
// through a box or a label, and no label covers another. Lines bend, and cross, only between the columns.

// place is the room of a node, or of a line, in one column.
type place struct {
	node   int   // -1: a line's
	labels []int // of the edges whose texts stand here
	column int
	at     int // its index in the column

	before, after []*place // that a line joins it with

	width, height float64
	x, y          float64 // of the middle
	// ink is where lines meet the place, above or below its middle.
	ink float64
}

// line joins two nodes, or a node with itself. It stands for all edges from the one to the other.
type line struct {
	from, to int
	edges    []int // in their lane
	back     bool  // runs from right to left
	// places are from left to right, those of both nodes included. There are none for a loop.
	places []*place
}

func (l *line) isLoop() bool { return l.from == l.to }

// lines merges the edges, and marks lines as running back such that the others form no circle.
func (g *lane) lines() []*line {
	var lines []*line
	known := map[[2]int]*line{}
	outOf := make([][]*line, len(g.nodes))

	for i, e := range g.edges {
		ends := [2]int{e.from, e.to}
		l := known[ends]
		if l == nil {
			l = &line{from: ends[0], to: ends[1]}
			known[ends], lines = l, append(lines, l)
			outOf[l.from] = append(outOf[l.from], l)
		}
		l.edges = append(l.edges, i)
	}

	const unseen, open, done = 0, 1, 2
	marks := make([]int, len(g.nodes))

	var visit func(node int)
	visit = func(node int) {
		marks[node] = open

		for _, l := range outOf[node] {
			switch marks[l.to] {
			case unseen:
				visit(l.to)
			case open:
				l.back = !l.isLoop()
			}
		}
		marks[node] = done
	}

	for node := range g.nodes {
		if marks[node] == unseen {
			visit(node)
		}
	}

	return lines
}

// ends returns the nodes from left to right.
func (l *line) ends() (left, right int) {
	if l.back {
		return l.to, l.from
	}

	return l.from, l.to
}

// columnsOf gives each node the first column behind all nodes that lead to it, and then moves nodes to the
// right that are left by more lines than they are reached by: their lines get shorter.
func columnsOf(nodes int, lines []*line) []int {
	columns := make([]int, nodes)

	// Each round settles at least one node, because the lines form no circle.
	for moved := true; moved; {
		moved = false
		for _, l := range lines {
			if left, right := l.ends(); left != right && columns[right] <= columns[left] {
				columns[right], moved = columns[left]+1, true
			}
		}
	}

	for range nodes {
		for node := range nodes {
			in, out, next := 0, 0, slices.Max(columns)+1
			for _, l := range lines {
				left, right := l.ends()
				switch {
				case left == right:
				case right == node:
					in++
				case left == node:
					out++
					next = min(next, columns[right])
				}
			}

			if out > in {
				columns[node] = next - 1
			}
		}
	}

	return columns
}

// grid is a lane in columns.
type grid struct {
	lane    *lane
	columns [][]*place
	edges   [][2]float64 // where each column begins and ends
	lines   []*line
	nodes   []*place
}

// newGrid gives nodes and lines their places. Column 2k has nodes, column 2k+1 has labels.
func newGrid(g *lane) *grid {
	lines := g.lines()
	columns := columnsOf(len(g.nodes), lines)

	r := &grid{lane: g, lines: lines, nodes: make([]*place, len(g.nodes))}
	r.columns = make([][]*place, 2*slices.Max(columns)+1)

	for i := range g.nodes {
		r.nodes[i] = &place{node: i, column: 2 * columns[i]}
	}

	for _, l := range lines {
		if !l.isLoop() {
			r.join(l)
		}
	}
	r.fill()

	return r
}

// join makes the places of a line. Its labels stand beside the node that it leaves.
func (r *grid) join(l *line) {
	left, right := l.ends()
	first, last := r.nodes[left], r.nodes[right]
	labeled := first.column + 1
	if l.back {
		labeled = last.column - 1
	}

	l.places = []*place{first}
	for column := first.column + 1; column < last.column; column++ {
		p := &place{node: -1, column: column}
		if column == labeled {
			p.labels = r.lane.labeled(l.edges)
		}
		l.places = append(l.places, p)
	}
	l.places = append(l.places, last)

	for i, p := range l.places[1:] {
		before := l.places[i]
		before.after, p.before = append(before.after, p), append(p.before, before)
	}
}

// fill puts the places into their columns, in the order in which the lines lead to them.
func (r *grid) fill() {
	seen := map[*place]bool{}

	var visit func(p *place)
	visit = func(p *place) {
		if seen[p] {
			return
		}
		seen[p] = true
		p.at = len(r.columns[p.column])
		r.columns[p.column] = append(r.columns[p.column], p)

		for _, next := range p.after {
			visit(next)
		}
	}

	for _, p := range r.nodes {
		if len(p.before) == 0 {
			visit(p)
		}
	}
}
