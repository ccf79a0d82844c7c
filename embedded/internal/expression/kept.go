package expression

import (
	"strings"
	"sync"
	"unsafe"
)

// A program sends few texts, again and again with other values. So an expression is kept as it was read, before
// its references are resolved, and the next request with its text resolves them in a copy.

// keptBytes is about the memory that the kept conditions may take, and the kept updates.
const keptBytes = 2 << 20

var (
	keptConditions kept[*node]
	keptUpdates    kept[*Update]
)

// syntaxTree is what is read of an expression: a condition or an update.
type syntaxTree[T any] interface {
	// bind resolves the references in place.
	bind(params *Params) *Error
	// fix marks the parts without references. Their operands have been checked, and copies share them.
	fix()
	// measure adds what a copy takes.
	measure(s *treeSize)
	copied(c *copier) T
}

// parse returns the expression with its references resolved. read reads one that is not kept.
func parse[T syntaxTree[T]](k *kept[T], src string, read func(src string) (T, *Error), params *Params) (bound T, err *Error) {
	e, known := k.get(src)
	if !known {
		src = strings.Clone(src) // it may be a part of the request's body, which is not kept
		if e.tree, err = read(src); err != nil {
			return bound, err
		}
		e.tree.measure(&e.size)
	}

	c := newCopier(e.size)
	bound = e.tree.copied(&c)

	if err = bound.bind(params); err == nil && !known {
		k.put(src, e.tree)
	}

	return bound, err
}

// kept has two generations. When the younger one is full it becomes the older one, of which only what is used
// again stays.
type kept[T syntaxTree[T]] struct {
	mu         sync.Mutex
	young, old map[string]unbound[T]
	bytes      int // of the younger one
}

// unbound is an expression whose references are not resolved, and the size of a copy.
type unbound[T any] struct {
	tree T
	size treeSize
}

func (k *kept[T]) get(src string) (unbound[T], bool) {
	k.mu.Lock()
	defer k.mu.Unlock()

	e, ok := k.young[src]
	if !ok {
		if e, ok = k.old[src]; ok {
			k.add(src, e)
		}
	}

	return e, ok
}

// put keeps an expression whose references could be resolved.
func (k *kept[T]) put(src string, t T) {
	t.fix()

	var size treeSize
	t.measure(&size)

	k.mu.Lock()
	defer k.mu.Unlock()

	// Two requests may have read the same new text at once.
	if _, ok := k.young[src]; !ok {
		k.add(src, unbound[T]{t, size})
	}
}

func (k *kept[T]) add(src string, e unbound[T]) {
	bytes := len(src) + e.size.bytes()
	if k.young == nil || k.bytes+bytes > keptBytes/2 {
		k.old, k.young, k.bytes = k.young, map[string]unbound[T]{}, 0
	}
	k.young[src] = e
	k.bytes += bytes
}

// treeSize is how many nodes, arguments of nodes and steps of paths a copy takes.
type treeSize struct{ nodes, args, steps int }

func (s treeSize) bytes() int {
	return s.nodes*int(unsafe.Sizeof(node{})) + s.args*int(unsafe.Sizeof((*node)(nil))) + s.steps*int(unsafe.Sizeof(Step{}))
}

// copier copies trees into blocks that have the room for them.
type copier struct {
	nodes []node
	args  []*node
	steps []Step
}

func newCopier(s treeSize) copier {
	return copier{make([]node, 0, s.nodes), make([]*node, 0, s.args), make([]Step, 0, s.steps)}
}

func (n *node) measure(s *treeSize) {
	if n.fixed {
		return
	}
	s.nodes++
	s.args += len(n.args)
	n.path.measure(s)

	for _, a := range n.args {
		a.measure(s)
	}
}

func (n *node) fix() {
	n.fixed = n.op != opValue && !n.path.hasReferences()
	for _, a := range n.args {
		a.fix()
		n.fixed = n.fixed && a.fixed
	}
}

func (n *node) copied(c *copier) *node {
	if n.fixed {
		return n
	}
	c.nodes = append(c.nodes, *n)
	m := &c.nodes[len(c.nodes)-1]
	m.path = n.path.copied(c)

	from := len(c.args)
	c.args = append(c.args, n.args...)
	m.args = c.args[from:len(c.args):len(c.args)]

	for i, a := range m.args {
		m.args[i] = a.copied(c)
	}

	return m
}

// hasReferences reports whether a step is a #reference.
func (p Path) hasReferences() bool {
	for _, s := range p {
		if strings.HasPrefix(s.Name, "#") {
			return true
		}
	}

	return false
}

func (p Path) measure(s *treeSize) {
	if p.hasReferences() {
		s.steps += len(p)
	}
}

func (p Path) copied(c *copier) Path {
	if !p.hasReferences() {
		return p
	}
	from := len(c.steps)
	c.steps = append(c.steps, p...)

	return c.steps[from:len(c.steps):len(c.steps)]
}

func (u *Update) measure(s *treeSize) {
	for _, a := range u.actions {
		a.path.measure(s)

		if a.value != nil {
			a.value.measure(s)
		}
	}
}

func (u *Update) fix() {
	for _, a := range u.actions {
		if a.value != nil {
			a.value.fix()
		}
	}
}

func (u *Update) copied(c *copier) *Update {
	m := &Update{actions: make([]action, len(u.actions)), paths: make([]Path, len(u.actions))}
	for i, a := range u.actions {
		a.path = a.path.copied(c)
		m.paths[i] = a.path

		if a.value != nil {
			a.value = a.value.copied(c)
		}
		m.actions[i] = a
	}

	return m
}
