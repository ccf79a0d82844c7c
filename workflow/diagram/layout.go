package diagram

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ratchet/workflow"
)

// layout places states in layers from left to right (after Sugiyama: break the
// loops, put every state right of its sources, bend long lines around what stands
// between, and order each layer by where its neighbours are).
type layout struct {
	definition    *workflow.Definition
	index         map[workflow.State]int // of the boxes
	layers        [][]*point
	boxes         []*point // of the states, by index
	routes        []route
	width, height float64
}

// point is a state's box, or a bend of a long line.
type point struct {
	state    int // -1 for a bend
	layer    int
	x, y, w  float64
	before   []*point
	after    []*point
	position float64 // within the layer while ordering
}

// route is one drawn line: every event between the same two states.
type route struct {
	path           string
	labels         []string
	spots          [][2]float64 // where the labels may go, best first
	labelX, labelY float64
}

// line joins two states through bends; back tells that it runs right to left.
type line struct {
	from, to int
	labels   []string
	back     bool
	points   []*point
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
	l.order()
	l.place(lines)

	for i := range lines {
		l.routes = append(l.routes, l.route(&lines[i]))
	}
	l.placeLabels()

	return l
}

// lines merges the arrows between the same states and finds out which run back.
func (l *layout) lines() []line {
	var lines []line
	at := map[[2]int]int{}
	for _, a := range arrows(l.definition) {
		key := [2]int{l.index[a.from], l.index[a.to]}
		i, known := at[key]
		if !known {
			i = len(lines)
			at[key] = i
			lines = append(lines, line{from: key[0], to: key[1]})
		}
		lines[i].labels = append(lines[i].labels, a.label)
	}
	// A line to a state from which the search has not come back yet closes a loop.
	const fresh, open, done = 0, 1, 2
	mark := make([]int, len(l.boxes))
	var visit func(s int)
	visit = func(s int) {
		mark[s] = open
		for i := range lines {
			if lines[i].from != s {
				continue
			}

			switch mark[lines[i].to] {
			case fresh:
				visit(lines[i].to)
			case open:
				lines[i].back = true
			}
		}
		mark[s] = done
	}
	visit(l.index[l.definition.Initial()])

	return lines
}

// assignLayers puts every state one layer right of its rightmost source.
func (l *layout) assignLayers(lines []line) {
	layer := make([]int, len(l.boxes))
	for moved := true; moved; { // without back lines there are no loops, so this ends
		moved = false
		for _, e := range lines {
			if !e.back && layer[e.to] < layer[e.from]+1 {
				layer[e.to], moved = layer[e.from]+1, true
			}
		}
	}

	for s, spec := range l.definition.States() {
		w := letter*float64(len(spec.State)) + 24
		l.boxes[s] = &point{state: s, layer: layer[s], w: w}
		for len(l.layers) <= layer[s] {
			l.layers = append(l.layers, nil)
		}
		l.layers[layer[s]] = append(l.layers[layer[s]], l.boxes[s])
	}
}

// addBends gives every line a point in each layer that it crosses.
func (l *layout) addBends(lines []line) {
	for i := range lines {
		e := &lines[i]
		if e.from == e.to {
			continue
		}

		left, right := l.boxes[e.from], l.boxes[e.to]
		if e.back {
			left, right = right, left
		}

		e.points = append(e.points, left)
		last := left
		for layer := left.layer + 1; layer < right.layer; layer++ {
			turn := &point{state: -1, layer: layer}
			l.layers[layer] = append(l.layers[layer], turn)
			connect(last, turn)
			e.points = append(e.points, turn)
			last = turn
		}
		connect(last, right)
		e.points = append(e.points, right)
	}
}

func connect(a, b *point) {
	a.after = append(a.after, b)
	b.before = append(b.before, a)
}

// order sorts each layer by the mean position of its neighbours, to and fro.
func (l *layout) order() {
	number := func(layer []*point) {
		for i, p := range layer {
			p.position = float64(i) - float64(len(layer)-1)/2
		}
	}
	for _, layer := range l.layers {
		number(layer)
	}

	sweep := func(layer []*point, near func(*point) []*point) {
		for _, p := range layer {
			if n := near(p); len(n) > 0 {
				sum := 0.0
				for _, q := range n {
					sum += q.position
				}
				p.position = sum / float64(len(n))
			}
		}
		slices.SortStableFunc(layer, func(a, b *point) int { return cmp.Compare(a.position, b.position) })
		number(layer)
	}
	for range 12 {
		for i := 1; i < len(l.layers); i++ {
			sweep(l.layers[i], func(p *point) []*point { return p.before })
		}

		for i := len(l.layers) - 2; i >= 0; i-- {
			sweep(l.layers[i], func(p *point) []*point { return p.after })
		}
	}
}

// place turns layers and positions into coordinates.
func (l *layout) place(lines []line) {
	gaps := make([]float64, len(l.layers)) // room for labels right of each layer
	for _, e := range lines {
		if e.from == e.to {
			continue
		}

		at := e.points[0].layer
		for _, text := range e.labels {
			gaps[at] = max(gaps[at], labelSpace*float64(len(text)))
		}
	}

	x := margin + 16
	tallest := 0.0
	heights := make([]float64, len(l.layers))
	for i, layer := range l.layers {
		widest := 0.0
		for _, p := range layer {
			widest = max(widest, p.w)
			heights[i] += p.tall()
		}
		tallest = max(tallest, heights[i])

		for _, p := range layer {
			p.x = x + widest/2
			if p.state < 0 {
				p.w = widest // the line runs straight past the boxes of its layer
			}
		}
		x += widest + gaps[i] + layerGap
	}

	for i, layer := range l.layers {
		y := margin + (tallest-heights[i])/2
		for _, p := range layer {
			p.y = y + p.tall()/2
			y += p.tall()
		}
	}
	l.width, l.height = x-gaps[len(gaps)-1]-layerGap+margin, tallest+2*margin
}

func (p *point) tall() float64 {
	if p.state < 0 {
		return 30
	}
	return boxHeight + rowGap
}

// curve is a cubic Bézier curve: start, two handles, end.
type curve [4][2]float64

func bend(x, y, toX, toY float64) curve {
	mid := (x + toX) / 2
	return curve{{x, y}, {mid, y}, {mid, toY}, {toX, toY}}
}

// at is the point of the curve at t, from 0 to 1.
func (c curve) at(t float64) [2]float64 {
	var p [2]float64
	u := 1 - t
	for i := range p {
		p[i] = u*u*u*c[0][i] + 3*u*u*t*c[1][i] + 3*u*t*t*c[2][i] + t*t*t*c[3][i]
	}

	return p
}

// route draws a line through its points. Lines that run back leave and enter a
// little lower, so that a pair of opposite lines stays apart.
func (l *layout) route(e *line) route {
	r := route{labels: e.labels}
	if e.from == e.to {
		p := l.boxes[e.from]
		top := p.y - boxHeight/2
		r.path = curve{{p.x - 18, top}, {p.x - 26, top - 28}, {p.x + 26, top - 28}, {p.x + 18, top}}.path(true)
		r.spots = [][2]float64{{p.x, top - 26}}

		return r
	}

	shift := -6.0
	if e.back {
		shift = 8
	}

	first := e.points[0]
	x, y := first.x+first.w/2, first.y+shift
	var curves []curve
	for _, p := range e.points[1:] {
		left, toY := p.x-p.w/2, p.y+shift
		if p.state < 0 {
			toY = p.y
		}

		curves = append(curves, bend(x, y, left, toY))
		x, y = p.x+p.w/2, toY
		if p.state < 0 { // straight past the boxes of the layer
			curves = append(curves, bend(left, toY, x, toY))
		}
	}

	for _, t := range []float64{0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75} {
		r.spots = append(r.spots, curves[0].at(t))
	}

	if len(curves) > 1 {
		r.spots = append(r.spots, curves[1].at(0.5), curves[len(curves)-1].at(0.5))
	}

	if e.back {
		slices.Reverse(curves)
	}

	for i, c := range curves {
		if e.back {
			slices.Reverse(c[:])
		}
		r.path += c.path(i == 0)
	}

	return r
}

// path writes the curve in SVG's language.
func (c curve) path(begin bool) string {
	text := fmt.Sprintf("C%.1f %.1f %.1f %.1f %.1f %.1f", c[1][0], c[1][1], c[2][0], c[2][1], c[3][0], c[3][1])
	if begin {
		return fmt.Sprintf("M%.1f %.1f", c[0][0], c[0][1]) + text
	}

	return text
}

// area is a rectangle around its middle.
type area struct{ x, y, w, h float64 }

func (a area) overlaps(b area) bool {
	return math.Abs(a.x-b.x) < (a.w+b.w)/2 && math.Abs(a.y-b.y) < (a.h+b.h)/2
}

// placeLabels puts every label on its line where it covers no box and no other
// label; where no spot is free, it moves up and down until one is.
func (l *layout) placeLabels() {
	var taken []area
	for _, p := range l.boxes {
		taken = append(taken, area{p.x, p.y, p.w, boxHeight})
	}

	for i := range l.routes {
		r := &l.routes[i]
		label := area{h: 13 * float64(len(r.labels))}
		for _, text := range r.labels {
			label.w = max(label.w, labelSpace*float64(len(text)))
		}

		free := func(spot [2]float64) bool {
			label.x, label.y = spot[0], spot[1]
			return !slices.ContainsFunc(taken, label.overlaps)
		}
		at := slices.IndexFunc(r.spots, free)
		for step := 1.0; at < 0 && step < 12; step++ {
			for _, up := range []float64{-7 * step, 7 * step} {
				if at < 0 && free([2]float64{r.spots[0][0], r.spots[0][1] + up}) {
					at = 0
				}
			}
		}
		r.labelX, r.labelY = label.x, label.y
		taken = append(taken, label)
	}
}
