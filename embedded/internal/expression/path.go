package expression

import (
	"slices"
	"strconv"
	"strings"

	"ratchet/embedded/internal/attr"
)

// Path is a document path: a top-level name, then names and list indexes.
type Path []Step

// Step is a map member (Name) or, when List is set, a list element (Index).
type Step struct {
	Name  string
	Index int
	List  bool
}

// String returns the path as DynamoDB writes it in messages: [a, [0], b].
func (p Path) String() string {
	var b strings.Builder
	b.WriteByte('[')

	for n, s := range p {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.String())
	}
	b.WriteByte(']')

	return b.String()
}

// String returns the step as DynamoDB writes it: a name, or [index].
func (s Step) String() string {
	if s.List {
		return "[" + strconv.Itoa(s.Index) + "]"
	}
	return s.Name
}

// Lookup returns the value at the path.
func (p Path) Lookup(item attr.Item) (attr.Value, bool) {
	v, ok := item[p[0].Name]
	for _, s := range p[1:] {
		if !ok {
			break
		}
		v, ok = s.child(v)
	}

	return v, ok
}

// child returns the member of the map v, or the element of the list v, to which the step
// leads.
func (s Step) child(v attr.Value) (attr.Value, bool) {
	switch {
	case s.List && v.Kind == attr.L && s.Index < len(v.List()):
		return v.List()[s.Index], true
	case !s.List && v.Kind == attr.M:
		c, ok := v.Map[s.Name]
		return c, ok
	default:
		return attr.Value{}, false
	}
}

func (p Path) equal(o Path) bool {
	if len(p) != len(o) {
		return false
	}

	for n := range p {
		if p[n] != o[n] {
			return false
		}
	}

	return true
}

// compare orders paths. The elements of one list are in the order of their indexes.
func (p Path) compare(o Path) int {
	for n := range min(len(p), len(o)) {
		// Steps into a list have no name, so that only their indexes differ.
		if c := strings.Compare(p[n].Name, o[n].Name); c != 0 {
			return c
		}

		if c := p[n].Index - o[n].Index; c != 0 {
			return c
		}
	}

	return len(p) - len(o)
}

// checkConflict returns DynamoDB's error for two paths of one expression if one contains the
// other, or if one takes a value for a map and the other takes it for a list.
func checkConflict(one, two Path) *Error {
	for n := range min(len(one), len(two)) {
		if one[n].List != two[n].List {
			return errorf("Two document paths conflict with each other; must remove or rewrite one of these paths; path one: %v, path two: %v", one, two)
		}

		if one[n] != two[n] {
			return nil
		}
	}

	return errorf("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: %v, path two: %v", one, two)
}

// bindPaths resolves the paths of an expression and compares them with each other. It begins with
// the last path, as DynamoDB does: the order shows in which of several errors is reported.
func bindPaths(paths []Path, params *Params) *Error {
	for n := len(paths) - 1; n >= 0; n-- {
		if err := paths[n].bind(params); err != nil {
			return err
		}

		for _, later := range paths[n+1:] {
			if err := checkConflict(paths[n], later); err != nil {
				return err
			}
		}
	}

	return nil
}

// topLevel returns the first names of the paths, sorted, each once.
func topLevel(paths []Path) []string {
	names := make([]string, len(paths))
	for n, p := range paths {
		names[n] = p[0].Name
	}
	slices.Sort(names)

	return slices.Compact(names)
}
