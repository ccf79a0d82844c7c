package expression

import (
	"slices"

	"ratchet/embedded/internal/attr"
)

// Projection is a parsed ProjectionExpression.
type Projection struct {
	paths []Path
	root  tree
}

// tree says which parts of a value to keep: the members or elements that it lists or, if it lists
// none, the whole value.
type tree struct {
	members  map[string]*tree
	elements []element // by index
}

type element struct {
	index int
	tree  *tree
}

// ParseProjection parses a ProjectionExpression.
func ParseProjection(src string, params *Params) (*Projection, error) {
	if params.err != nil {
		return nil, params.err
	}

	paths, err := parsePaths(src, params)
	if err != nil {
		return nil, invalidExpression("ProjectionExpression", err)
	}

	return newProjection(paths), nil
}

func parsePaths(src string, params *Params) ([]Path, *Error) {
	p, err := newParser(src)
	if err != nil {
		return nil, err
	}

	paths := make([]Path, 0, 8)
	for {
		path, err := p.path()
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)

		if p.kind != kComma {
			break
		}
		p.advance()
	}

	if err := p.finish(); err != nil {
		return nil, err
	}

	// Paths are checked only now: faults in the syntax of the whole expression are reported first.
	for _, path := range paths {
		if err := path.check(); err != nil {
			return nil, err
		}
	}

	return paths, bindPaths(paths, params)
}

func newProjection(paths []Path) *Projection {
	p := &Projection{paths: paths}
	for _, path := range paths {
		t := &p.root
		for _, s := range path {
			t = t.child(s)
		}
	}

	return p
}

// child returns the tree below a step, and makes it if there is none.
func (t *tree) child(s Step) *tree {
	if !s.List {
		c := t.members[s.Name]
		if c == nil {
			if t.members == nil {
				t.members = map[string]*tree{}
			}
			c = &tree{}
			t.members[s.Name] = c
		}

		return c
	}

	// In the order of the indexes, so that the result keeps the order of the list.
	at, found := slices.BinarySearchFunc(t.elements, s.Index, func(e element, index int) int { return e.index - index })
	if !found {
		t.elements = slices.Insert(t.elements, at, element{s.Index, &tree{}})
	}

	return t.elements[at].tree
}

// Apply returns the parts of the item at the paths. A list has the selected elements in their
// order, without gaps. Maps and lists that would be empty are left out.
func (p *Projection) Apply(item attr.Item) attr.Item {
	kept := make(attr.Item, len(p.root.members))
	for name, t := range p.root.members {
		if v, ok := item[name]; ok {
			if v, ok = t.keep(v); ok {
				kept[name] = v
			}
		}
	}

	return kept
}

// TopLevel returns the top-level attribute names that the projection reads, sorted.
func (p *Projection) TopLevel() []string { return topLevel(p.paths) }

// Paths returns the projection's document paths in the order of the source.
func (p *Projection) Paths() []Path { return slices.Clone(p.paths) }

func (t *tree) keep(v attr.Value) (attr.Value, bool) {
	switch {
	case t.members == nil && t.elements == nil:
		return v, true
	case t.members != nil && v.Kind == attr.M:
		kept := attr.Item{}
		for name, below := range t.members {
			if c, ok := v.Map[name]; ok {
				if c, ok = below.keep(c); ok {
					kept[name] = c
				}
			}
		}

		return attr.Value{Kind: attr.M, Map: kept}, len(kept) > 0
	case t.elements != nil && v.Kind == attr.L:
		var kept []attr.Value
		for _, e := range t.elements {
			if e.index < len(v.List()) {
				if c, ok := e.tree.keep(v.List()[e.index]); ok {
					kept = append(kept, c)
				}
			}
		}

		return attr.NewList(kept), len(kept) > 0
	default:
		return attr.Value{}, false
	}
}
