package diagram

import (
	"math"
	"strconv"
)

// Positions are where the parts of a picture are drawn: in pixels of CSS from its upper left corner, rightward and
// downward. A client that draws the picture by itself needs no layout of its own.
type Positions struct {
	Width, Height float64
	Boxes         []Position // of the nodes, in their order
	Lines         []Line
}

// Position is where a node is drawn. X and Y are its upper left corner.
type Position struct {
	ID                  string
	X, Y, Width, Height float64
}

// Line is an arrow, which edges between the same nodes share.
type Line struct {
	From, To string // ids of nodes
	Path     string // the data of a path in SVG
	// Anchor is which part of a label is at its X, in SVG's words: start, middle or end.
	Anchor string
	Labels []Label // one for each edge
}

// Label is the text of an edge, as it is drawn: cut if it is long. Y is its baseline.
type Label struct {
	Edge string // its id
	Text string // "" for none
	X, Y float64
}

// Positions returns where the picture's parts are drawn, in tenths of a pixel.
func (p *Picture) Positions() Positions {
	out := Positions{Width: math.RoundToEven(p.width), Height: math.RoundToEven(p.height)}

	for i, box := range p.boxes {
		// A point is as large as its circle, however much room its loops need.
		if p.graph.Nodes[i].Shape == Start {
			box.width, box.height = 2*startRadius, 2*startRadius
		}
		out.Boxes = append(out.Boxes, Position{p.graph.Nodes[i].ID, tenth(box.x - box.width/2), tenth(box.y - box.height/2), tenth(box.width), tenth(box.height)})
	}

	for _, lane := range p.lanes {
		for _, r := range lane.routes {
			out.Lines = append(out.Lines, p.lineOf(r))
		}
	}

	return out
}

// lineOf returns where a line and its labels are drawn. Who makes a move stands below its label.
func (p *Picture) lineOf(r route) Line {
	first := p.graph.Edges[r.edges[0]]
	line := Line{From: first.From, To: first.To, Path: r.path(), Anchor: r.anchor}

	y := r.y
	for _, i := range r.edges {
		e := p.graph.Edges[i]
		line.Labels = append(line.Labels, Label{e.ID, cut(e.Text), tenth(r.x), tenth(y)})

		for _, text := range []string{e.Text, p.by[i]} {
			if text != "" {
				y += labelHeight
			}
		}
	}

	return line
}

// tenth rounds a coordinate as it is written.
func tenth(v float64) float64 {
	rounded, _ := strconv.ParseFloat(short(v), 64)
	return rounded
}
