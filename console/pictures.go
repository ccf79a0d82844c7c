package console

import (
	"slices"
	"strings"
	"sync"

	"ratchet/workflow/diagram"
)

// mostDrawn is how many layouts are kept.
const mostDrawn = 100

// pictures keeps the layouts of graphs by their titles and what was refused in them: the rest that a process draws is the same as long as
// it runs. One is made at a time, and the oldest makes room for a new one.
type pictures struct {
	mu    sync.Mutex
	drawn map[string]*diagram.Picture
	keys  []string // the oldest first
}

// paint returns the lanes of a graph as they are painted.
func (p *pictures) paint(g diagram.Graph, paint diagram.Paint) ([]diagram.Part, error) {
	picture, err := p.layout(g)
	if err != nil {
		return nil, err
	}

	return picture.Parts(paint), nil
}

func (p *pictures) layout(g diagram.Graph) (*diagram.Picture, error) {
	var key strings.Builder
	key.WriteString(g.Title)

	for _, e := range g.Edges {
		if strings.HasPrefix(e.ID, refusedPrefix) {
			key.WriteString("\n" + e.ID)
		}
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	if picture := p.drawn[key.String()]; picture != nil {
		return picture, nil
	}

	picture, err := diagram.Layout(g)
	if err != nil {
		return nil, err
	}

	if len(p.keys) == mostDrawn {
		delete(p.drawn, p.keys[0])
		p.keys = slices.Delete(p.keys, 0, 1)
	}
	p.drawn[key.String()] = picture
	p.keys = append(p.keys, key.String())

	return picture, nil
}

// paintOrder returns the picture of an order: its states, and below them the state machine with the way of its execution, if there is one.
// It also returns how many kinds of refusals are not on it.
func (p *pictures) paintOrder(d definition, e explanation, x *execution) (parts []diagram.Part, unseen int64, err error) {
	g, paint := d.whole(), e.paint()
	if d.Machine != nil {
		x.paint(*d.Machine, paint)
	}

	refused, unseen := e.refused(d)
	for _, r := range refused {
		g.Edges = append(g.Edges, r.edge)
		paint.Edges[r.edge.ID] = refusedClass
		paint.Docs[r.edge.ID] = r.why
		paint.Marks[r.edge.ID] = r.times()
	}

	parts, err = p.paint(g, paint)

	return parts, unseen, err
}
