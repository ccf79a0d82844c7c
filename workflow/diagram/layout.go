package diagram

import (
	"cmp"
	"slices"

	"ratchet/workflow"
)

// layout places states in layers from left to right, after Sugiyama: it breaks the loops, puts every state
// to the right of its sources, bends long lines around the boxes between, and orders each layer by the
// positions of its neighbors.
type layout struct {
	definition    *workflow.Definition
	index         map[workflow.State]int // of boxes
	boxes         []*point               // of the states
	layers        [][]*point
	routes        []route
	width, height float64
}

// point is a state's box, or a bend of a long line.
type point struct {
	state    int // -1 for a bend
	layer    int
	x, y     float64 // middle
	width    float64
	before   []*point
	after    []*point
	position float64 // within the layer while ordering
}

func (p *point) isBend() bool { return p.state < 0 }

// height returns the room that the point takes in its layer.
func (p *point) height() float64 {
	if p.isBend() {
		return bendHeight
	}
	return boxHeight + rowGap
}

// line joins two states. It stands for every event between them.
type line struct {
	from, to int
	labels   []string
	back     bool // runs right to left
	// points are the boxes and bends from left to right, none for a line from a state to
	// itself.
	points []*point
}

func newLayout(d *workflow.Definition) *layout {
	states := d.States()
	l := &layout{
		definition: d,
		index:      make(map[workflow.State]int, len(states)),
		boxes:      make([]*point, len(states)),
	}

	for i, s := range states {
		l.index[s.State] = i
	}

	lines := l.lines()
	l.assignLayers(lines)
	l.addBends(lines)
	l.orderLayers()
	l.assignCoordinates(lines)

	// Routes are drawn after the coordinates of all boxes are known. Labels come last,
	// because they avoid boxes and each other.
	for _, e := range lines {
		l.routes = append(l.routes, l.route(e))
	}
	l.placeLabels()

	return l
}

// lines merges the arrows between the same states and marks the lines that run back.
func (l *layout) lines() []line {
	var lines []line
	at := map[[2]int]int{}
	for _, a := range arrows(l.definition) {
		ends := [2]int{l.index[a.from], l.index[a.to]}

		i, known := at[ends]
		if !known {
			i = len(lines)
			at[ends] = i
			lines = append(lines, line{from: ends[0], to: ends[1]})
		}

		lines[i].labels = append(lines[i].labels, a.label)
	}

	l.markBackLines(lines)

	return lines
}

// markBackLines marks lines such that the other lines form no loop. A state is open while the
// depth-first search is below it, so a line to an open state closes a loop.
func (l *layout) markBackLines(lines []line) {
	const unseen, open, done = 0, 1, 2
	mark := make([]int, len(l.boxes))

	var visit func(state int)
	visit = func(state int) {
		mark[state] = open

		for i := range lines {
			if lines[i].from != state {
				continue
			}

			switch mark[lines[i].to] {
			case unseen:
				visit(lines[i].to)
			case open:
				// A self-loop, too: its state is open.
				lines[i].back = true
			}
		}

		mark[state] = done
	}
	visit(l.index[l.definition.Initial()])
}

// assignLayers puts every state one layer right of its rightmost source.
func (l *layout) assignLayers(lines []line) {
	layer := make([]int, len(l.boxes))
	// This for loop ends, because the graph without the back lines has no loops.
	for moved := true; moved; {
		moved = false
		for _, e := range lines {
			if !e.back && layer[e.to] < layer[e.from]+1 {
				layer[e.to], moved = layer[e.from]+1, true
			}
		}
	}

	l.layers = make([][]*point, slices.Max(layer)+1)
	for i, s := range l.definition.States() {
		l.boxes[i] = &point{
			state: i,
			layer: layer[i],
			width: letterWidth*float64(len(s.State)) + 24,
		}
		l.layers[layer[i]] = append(l.layers[layer[i]], l.boxes[i])
	}
}

// addBends gives every line a point in each layer that it crosses.
func (l *layout) addBends(lines []line) {
	for i := range lines {
		e := &lines[i]
		if e.from == e.to {
			// A line to the state itself is drawn as a loop above its box.
			continue
		}

		left, right := l.boxes[e.from], l.boxes[e.to]
		if e.back {
			// Points always run from left to right, so that the layers can be ordered alike.
			left, right = right, left
		}

		e.points = []*point{left}
		for layer := left.layer + 1; layer < right.layer; layer++ {
			bend := &point{state: -1, layer: layer}
			l.layers[layer] = append(l.layers[layer], bend)
			e.points = append(e.points, bend)
		}
		e.points = append(e.points, right)

		for j, p := range e.points[1:] {
			before := e.points[j]
			before.after = append(before.after, p)
			p.before = append(p.before, before)
		}
	}
}

// orderLayers sorts each layer by the mean position of the neighbors, forward and backward
// several times, so that few lines cross.
func (l *layout) orderLayers() {
	const rounds = 12

	for _, layer := range l.layers {
		number(layer)
	}

	before := func(p *point) []*point { return p.before }
	after := func(p *point) []*point { return p.after }

	for range rounds {
		for i := 1; i < len(l.layers); i++ {
			sortByNeighbors(l.layers[i], before)
		}

		for i := len(l.layers) - 2; i >= 0; i-- {
			sortByNeighbors(l.layers[i], after)
		}
	}
}

// number sets the positions of a layer, with 0 in the middle.
func number(layer []*point) {
	for i, p := range layer {
		p.position = float64(i) - float64(len(layer)-1)/2
	}
}

func sortByNeighbors(layer []*point, neighbors func(*point) []*point) {
	for _, p := range layer {
		near := neighbors(p)
		if len(near) == 0 {
			// A point without neighbors on this side keeps its place.
			continue
		}

		sum := 0.0
		for _, q := range near {
			sum += q.position
		}
		p.position = sum / float64(len(near))
	}

	slices.SortStableFunc(layer, func(a, b *point) int { return cmp.Compare(a.position, b.position) })
	number(layer)
}

// assignCoordinates turns layers and positions into coordinates.
func (l *layout) assignCoordinates(lines []line) {
	gaps := make([]float64, len(l.layers)) // room for labels right of each layer
	for _, e := range lines {
		if e.from == e.to {
			continue
		}

		layer := e.points[0].layer
		gaps[layer] = max(gaps[layer], labelsWidth(e.labels))
	}

	x := margin + 16
	tallest := 0.0
	heights := make([]float64, len(l.layers))
	for i, layer := range l.layers {
		widest := 0.0
		for _, p := range layer {
			widest = max(widest, p.width)
			heights[i] += p.height()
		}
		tallest = max(tallest, heights[i])

		for _, p := range layer {
			p.x = x + widest/2
			if p.isBend() {
				// The line runs straight past the boxes of its layer.
				p.width = widest
			}
		}

		x += widest + gaps[i] + layerGap
	}

	for i, layer := range l.layers {
		// Every layer is centered on the tallest one.
		y := margin + (tallest-heights[i])/2
		for _, p := range layer {
			p.y = y + p.height()/2
			y += p.height()
		}
	}

	// The last layer has no gap to its right.
	l.width = x - gaps[len(gaps)-1] - layerGap + margin
	l.height = tallest + 2*margin
}
