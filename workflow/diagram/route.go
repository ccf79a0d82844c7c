package diagram

import (
	"fmt"
	"math"
	"slices"
)

// xy is a position in the drawing.
type xy [2]float64

// route is a drawn line.
type route struct {
	path   string // in SVG's language
	labels []string
	// candidates are the positions where the labels may go, best first. label is the
	// chosen one.
	candidates []xy
	label      xy
}

// route draws a line through its points.
func (l *layout) route(e line) route {
	r := route{labels: e.labels}
	if e.from == e.to {
		box := l.boxes[e.from]
		top := box.y - boxHeight/2
		loop := curve{{box.x - 18, top}, {box.x - 26, top - 28}, {box.x + 26, top - 28}, {box.x + 18, top}}
		r.path = loop.path(true)
		r.candidates = []xy{{box.x, top - 26}}

		return r
	}

	curves := e.curves()

	// The middle first, and then further and further away from it.
	for _, t := range []float64{0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75} {
		r.candidates = append(r.candidates, curves[0].at(t))
	}

	// A line with bends has room beside them, too.
	if len(curves) > 1 {
		r.candidates = append(r.candidates, curves[1].at(0.5), curves[len(curves)-1].at(0.5))
	}

	// The arrow head is at the end of the path.
	if e.back {
		slices.Reverse(curves)

		for i := range curves {
			slices.Reverse(curves[i][:])
		}
	}

	for i, c := range curves {
		r.path += c.path(i == 0)
	}

	return r
}

// curves returns the curves from left to right. Lines that run back leave and enter their
// boxes a little lower, so that two opposite lines stay apart.
func (e line) curves() []curve {
	shift := -6.0
	if e.back {
		shift = 8
	}

	first := e.points[0]
	x, y := first.x+first.width/2, first.y+shift

	var curves []curve
	for _, p := range e.points[1:] {
		left, toY := p.x-p.width/2, p.y+shift
		if p.isBend() {
			toY = p.y
		}

		curves = append(curves, connect(x, y, left, toY))

		x, y = p.x+p.width/2, toY
		// The line runs straight past the boxes of the layer.
		if p.isBend() {
			curves = append(curves, connect(left, toY, x, toY))
		}
	}

	return curves
}

// curve is a cubic Bézier curve: start, two handles, end.
type curve [4]xy

// connect returns a curve that leaves and arrives horizontally.
func connect(x, y, toX, toY float64) curve {
	middle := (x + toX) / 2
	return curve{{x, y}, {middle, y}, {middle, toY}, {toX, toY}}
}

// at returns the point of the curve at t, from 0 to 1.
func (c curve) at(t float64) xy {
	var p xy
	u := 1 - t
	for i := range p {
		p[i] = u*u*u*c[0][i] + 3*u*u*t*c[1][i] + 3*u*t*t*c[2][i] + t*t*t*c[3][i]
	}

	return p
}

// path returns the curve in SVG's language. begin moves to its start first.
func (c curve) path(begin bool) string {
	text := fmt.Sprintf("C%.1f %.1f %.1f %.1f %.1f %.1f", c[1][0], c[1][1], c[2][0], c[2][1], c[3][0], c[3][1])
	if begin {
		return fmt.Sprintf("M%.1f %.1f", c[0][0], c[0][1]) + text
	}

	return text
}

// area is a rectangle around its middle.
type area struct{ x, y, width, height float64 }

func (a area) overlaps(b area) bool {
	return math.Abs(a.x-b.x) < (a.width+b.width)/2 && math.Abs(a.y-b.y) < (a.height+b.height)/2
}

// placeLabels puts every label on its line where it covers no box and no other label. If
// no candidate is free, it tries positions above and below the first one.
func (l *layout) placeLabels() {
	const attempts = 12

	var taken []area
	for _, p := range l.boxes {
		taken = append(taken, area{p.x, p.y, p.width, boxHeight})
	}

	for i := range l.routes {
		r := &l.routes[i]

		positions := slices.Clone(r.candidates)
		for step := 1.0; step < attempts; step++ {
			best := r.candidates[0]
			positions = append(positions, xy{best[0], best[1] - 7*step}, xy{best[0], best[1] + 7*step})
		}

		label := area{width: labelsWidth(r.labels), height: labelHeight * float64(len(r.labels))}
		for _, p := range positions {
			label.x, label.y = p[0], p[1]
			if !slices.ContainsFunc(taken, label.overlaps) {
				// Otherwise the last position stays.
				break
			}
		}

		r.label = xy{label.x, label.y}
		taken = append(taken, label)
	}
}

// labelsWidth returns the width of the widest label in pixels.
func labelsWidth(labels []string) float64 {
	widest := 0
	for _, text := range labels {
		widest = max(widest, len(text))
	}

	return labelLetterWidth * float64(widest)
}
