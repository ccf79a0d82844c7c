package diagram

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// Measures in pixels. Letters are monospaced, so that widths are known without a font; a font with other
// widths is fitted (see writeText).
const (
	letterWidth      = 7.3 // at 12 px
	labelLetterWidth = 6.6 // at 11 px
	labelHeight      = 13.0
	boxHeight        = 44.0
	lineHeight       = 14.0 // of a line without labels
	loopHeight       = 16.0 // of a loop, without its labels
	portGap          = 9.0  // between lines at a box
	rowGap           = 14.0
	leastGap         = 26.0 // between columns
	mostGap          = 90.0
	margin           = 20.0
	startRadius      = 5.0
	markWidth        = 22.0 // room for the mark of an edge
	maxLetters       = 40
)

// cut shortens a text that would be too wide.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxLetters {
		return text
	}

	return string([]rune(text)[:maxLetters-1]) + "…"
}

func widthOf(text string, letter float64) float64 {
	return letter * float64(utf8.RuneCountInString(cut(text)))
}

// measure gives each place its size.
func (r *grid) measure() {
	for i, p := range r.nodes {
		n := r.lane.nodes[i]
		// Each line has a port of its own.
		p.width = max(widthOf(n.Text, letterWidth), widthOf(n.Note, letterWidth)) + 24
		p.height = max(boxHeight, portGap*float64(1+max(len(p.before), len(p.after))))
		if n.Shape == Start {
			p.width, p.height = 2*startRadius, 2*startRadius
		}
		p.height += rowGap
	}

	for _, l := range r.lines {
		if l.isLoop() {
			// The loop and its labels stand above the box.
			p := r.nodes[l.from]
			p.labels = r.lane.labeled(l.edges)

			width, height := r.lane.room(p.labels)
			p.width = max(p.width, width+2*markWidth)
			p.ink = (loopHeight + height) / 2
			p.height += 2 * p.ink
		}
	}

	for _, column := range r.columns {
		for _, p := range column {
			if p.node >= 0 {
				continue
			}
			p.height = lineHeight

			if len(p.labels) > 0 {
				// The line runs below its labels.
				width, height := r.lane.room(p.labels)
				p.width = width + 8 + markWidth
				p.height += height
				p.ink = p.height/2 - 5
			}
		}
	}
}

// evenRounds is how often the columns are evened out. The places have settled by then.
const evenRounds = 40

// setY moves the places of each column to where their lines are as level as possible, without changing their
// order. The highest one begins at top.
func (r *grid) setY(top float64) {
	for _, column := range r.columns {
		y := 0.0
		for _, p := range column {
			p.y = y + p.height/2
			y += p.height
		}
	}

	for round := range evenRounds {
		for i := range r.columns {
			if round%2 == 1 {
				i = len(r.columns) - 1 - i
			}
			settle(r.columns[i])
		}
	}

	highest := math.Inf(1)
	r.each(func(p *place) { highest = min(highest, p.y-p.height/2) })
	r.each(func(p *place) { p.y += top - highest })
}

func (r *grid) each(do func(*place)) {
	for _, column := range r.columns {
		for _, p := range column {
			do(p)
		}
	}
}

// wish returns where the place's lines would be level, and how much that weighs: most where a long line
// would have to bend twice.
func (p *place) wish() (y, weight float64) {
	for _, near := range [][]*place{p.before, p.after} {
		for _, q := range near {
			w := 1.0
			switch {
			case p.node < 0 && q.node < 0:
				w = 8
			case p.node < 0 || q.node < 0:
				w = 2
			}
			y, weight = y+w*(q.y+q.ink-p.ink), weight+w
		}
	}

	if weight == 0 {
		return p.y, 0.01
	}

	return y / weight, weight
}

// settle moves the places of a column to where the sum of the weighted squares of the distances from their
// wishes is smallest while they keep their order and do not overlap. This is a regression with monotone values,
// solved by merging neighbors that violate the order.
func settle(column []*place) {
	type block struct {
		y, weight float64 // of the first place's middle
		places    []*place
		offsets   []float64
	}
	var blocks []block

	for _, p := range column {
		y, weight := p.wish()
		b := block{y, weight, []*place{p}, []float64{0}}

		for len(blocks) > 0 {
			above := blocks[len(blocks)-1]
			last := len(above.places) - 1
			distance := above.offsets[last] + (above.places[last].height+b.places[0].height)/2
			if b.y >= above.y+distance {
				break
			}
			blocks = blocks[:len(blocks)-1]

			sum := above.weight + b.weight
			merged := block{(above.y*above.weight + (b.y-distance)*b.weight) / sum, sum, append(above.places, b.places...), above.offsets}
			for _, offset := range b.offsets {
				merged.offsets = append(merged.offsets, distance+offset)
			}
			b = merged
		}
		blocks = append(blocks, b)
	}

	for _, b := range blocks {
		for i, p := range b.places {
			p.y = b.y + b.offsets[i]
		}
	}
}

// setX puts the columns beside each other. Where lines rise or fall far, there is more room between two.
func (r *grid) setX() (width float64) {
	r.edges = make([][2]float64, len(r.columns))
	x := margin

	for i, column := range r.columns {
		widest, steepest := 0.0, 0.0
		for _, p := range column {
			widest = max(widest, p.width)
			for _, q := range p.after {
				steepest = max(steepest, math.Abs(q.y+q.ink-p.y-p.ink))
			}
		}

		for _, p := range column {
			p.x = x + widest/2
		}
		r.edges[i] = [2]float64{x, x + widest}
		width = x + widest + margin
		x += widest + min(max(leastGap, steepest/6), mostGap)
	}

	return width
}

// ports returns where each line meets the nodes at its left and its right end: one line below the other, in
// the order of the places to which they lead.
func (r *grid) ports() map[*line][2]float64 {
	ports := map[*line][2]float64{}

	for i, p := range r.nodes {
		for side := range 2 {
			var here []*line
			for _, l := range r.lines {
				if left, right := l.ends(); !l.isLoop() && [2]int{left, right}[side] == i {
					here = append(here, l)
				}
			}

			next := func(l *line) float64 {
				q := l.places[1]
				if side == 1 {
					q = l.places[len(l.places)-2]
				}

				return q.y + q.ink
			}
			slices.SortStableFunc(here, func(a, b *line) int { return cmp.Compare(next(a), next(b)) })

			for k, l := range here {
				both := ports[l]
				both[side] = p.y + p.ink
				// The lines of a point meet in it.
				if p.height > portGap*float64(len(here)) {
					both[side] += portGap * (float64(k) - float64(len(here)-1)/2)
				}
				ports[l] = both
			}
		}
	}

	return ports
}
