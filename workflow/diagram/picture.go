package diagram

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Picture is a graph whose nodes and edges have their positions. It can be painted many times.
type Picture struct {
	graph         Graph
	by            []string       // who makes the moves of the edges
	makers        map[string]int // the index of each node that makes moves
	width, height float64        // in pixels
	boxes         []rect         // of the nodes
	lanes         []drawnLane
}

// drawnLane is a lane with the positions of its lines. Its name stands at the top, if it has one.
type drawnLane struct {
	name               string
	top, bottom, width float64
	nodes              []int
	routes             []route
}

// Layout gives the nodes and edges of a graph their positions, in a picture that is read from left to right.
// The same graph has the same picture. Layout fails if two nodes have the same id, or if an edge leads to a
// node that there is not, or to one of another lane. It takes milliseconds for a definition of forty states.
func Layout(g Graph) (*Picture, error) {
	index, err := g.validate()
	if err != nil {
		return nil, err
	}

	p := &Picture{graph: g, makers: map[string]int{}, boxes: make([]rect, len(g.Nodes))}
	for _, e := range g.Edges {
		p.by = append(p.by, g.by(e, index))
		for _, id := range e.By {
			p.makers[id] = index[id]
		}
	}

	for _, l := range g.lanes(index) {
		p.add(l)
	}

	return p, nil
}

// add lays out a lane below the others.
func (p *Picture) add(l *lane) {
	r := newGrid(l)
	r.order()
	r.measure()

	out := drawnLane{name: l.name, top: p.height, nodes: l.at}
	top := p.height
	if l.name != "" {
		top += headingHeight
	}
	r.setY(top + margin)

	out.width = r.setX()
	p.width = max(p.width, out.width)
	r.each(func(q *place) { p.height = max(p.height, q.y+q.height/2+margin) })
	out.bottom = p.height

	for i, q := range r.nodes {
		p.boxes[l.at[i]] = q.box()
	}

	ports := r.ports()
	for _, line := range r.lines {
		out.routes = append(out.routes, r.route(line, ports[line]))
	}
	p.lanes = append(p.lanes, out)
}

// rect is a rectangle around its middle.
type rect struct{ x, y, width, height float64 }

// box returns where the node of a place is drawn: below its loop.
func (p *place) box() rect {
	return rect{p.x, p.y + p.ink, p.width, p.height - rowGap - 2*p.ink}
}

// route is a line as it is drawn.
type route struct {
	curves []curve
	edges  []int // in the whole graph
	// The first label stands with its baseline at this position, the others below it.
	x, y float64
	// anchor says which part of a label is at x, in SVG's words: start, middle or end.
	anchor string
}

// curve is a cubic Bézier curve: begin, two handles, end. A level line is one, too.
type curve [4][2]float64

// join returns a curve that leaves and arrives level.
func join(x, y, toX, toY float64) curve {
	middle := (x + toX) / 2
	return curve{{x, y}, {middle, y}, {middle, toY}, {toX, toY}}
}

func (r *grid) route(l *line, ports [2]float64) route {
	if l.isLoop() {
		return r.loop(r.nodes[l.from], l.edges)
	}
	first, last := l.places[0], l.places[len(l.places)-1]

	out := route{edges: r.lane.whole(l.edges), anchor: "start"}
	x, y := first.x+first.width/2, ports[0]
	level := func(toX float64) {
		if toX > x {
			out.curves = append(out.curves, join(x, y, toX, y))
		}
		x = toX
	}
	level(r.edges[first.column][1])

	for _, p := range l.places[1:] {
		column, toY := r.edges[p.column], p.y+p.ink
		if p == last {
			toY = ports[1]
		}
		out.curves = append(out.curves, join(x, y, column[0], toY))
		x, y = column[0], toY

		if p == last {
			level(last.x - last.width/2)
			break
		}
		level(column[1])

		if len(p.labels) > 0 {
			out.x, out.y = column[0]+4, p.y-p.height/2+labelHeight-2
			if l.back {
				out.x, out.anchor = column[1]-4, "end"
			}
		}
	}

	if l.back {
		slices.Reverse(out.curves)

		for i := range out.curves {
			slices.Reverse(out.curves[i][:])
		}
	}

	return out
}

// loop leads from the top of a node back to it, below its labels.
func (r *grid) loop(p *place, edges []int) route {
	box := p.box()
	_, height := r.lane.room(p.labels)
	top := box.y - box.height/2
	half := min(box.width/2-6, 22)

	return route{
		curves: []curve{{{box.x - half, top}, {box.x - half, top - loopHeight}, {box.x + half, top - loopHeight}, {box.x + half, top}}},
		edges:  r.lane.whole(edges),
		x:      box.x,
		y:      top - loopHeight - height + labelHeight + 2,
		anchor: "middle",
	}
}

// path returns the curves in SVG's language.
func (r route) path() string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%s %s", short(r.curves[0][0][0]), short(r.curves[0][0][1]))

	for _, c := range r.curves {
		if math.Abs(c[0][1]-c[3][1]) < 0.05 && c[0][1] == c[1][1] {
			fmt.Fprintf(&b, "H%s", short(c[3][0]))
			continue
		}

		b.WriteByte('C')

		for i, p := range c[1:] {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%s %s", short(p[0]), short(p[1]))
		}
	}

	return b.String()
}

// short writes a coordinate with one decimal at most.
func short(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}
