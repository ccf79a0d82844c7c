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

// String writes the path as DynamoDB does in its messages: [a, [0], b].
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

// String writes the step as DynamoDB does: a name, or [index].
func (s Step) String() string {
	if s.List {
		return "[" + strconv.Itoa(s.Index) + "]"
	}
	return s.Name
}

// lookup finds the value at the path.
func (p Path) lookup(item attr.Item) (attr.Value, bool) {
	v, ok := item[p[0].Name]
	for _, s := range p[1:] {
		if !ok {
			break
		}
		v, ok = s.child(v)
	}

	return v, ok
}

// child finds the step's element in a map or list.
func (s Step) child(v attr.Value) (attr.Value, bool) {
	switch {
	case s.List && v.Kind == attr.L && s.Index < len(v.List):
		return v.List[s.Index], true
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

// compare orders paths so that a list's elements come by index.
func (p Path) compare(o Path) int {
	for n := range min(len(p), len(o)) {
		if c := strings.Compare(p[n].Name, o[n].Name); c != 0 {
			return c
		}

		if c := p[n].Index - o[n].Index; c != 0 {
			return c
		}
	}

	return len(p) - len(o)
}

// clash returns DynamoDB's refusal of two paths in one expression: one that holds
// the other, or two that take the same value for a map and for a list.
func clash(one, two Path) *Error {
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

// bindPaths resolves the paths of an expression, the last one first, and holds them
// against each other.
func bindPaths(paths []Path, params *Params) *Error {
	for n := len(paths) - 1; n >= 0; n-- {
		if err := paths[n].bind(params); err != nil {
			return err
		}

		for _, later := range paths[n+1:] {
			if err := clash(paths[n], later); err != nil {
				return err
			}
		}
	}

	return nil
}

// topLevel lists the first names of the paths, sorted, each once.
func topLevel(paths []Path) []string {
	names := make([]string, len(paths))
	for n, p := range paths {
		names[n] = p[0].Name
	}
	slices.Sort(names)

	return slices.Compact(names)
}
