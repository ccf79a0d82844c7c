package jsonpath

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Path is a compiled path.
type Path struct {
	text    string
	context bool // starts with $$
	many    bool // may match more than one place
	// variable is the name of the variable at the start of the path, "" for none.
	variable string
	steps    []step
	plain    []rawjson.Step // the same steps when many is false; nil otherwise
	// merged are the members of the object that a path with several names at its end returns: $['a','b'].
	// plain then leads to the object that has them.
	merged []string
}

// stepKind is the kind of a step.
type stepKind byte

const (
	stepMembers stepKind = iota // one or more names
	stepIndexes                 // one or more indexes
	stepSlice
	stepAll
	stepDescend // this value and everything below it
	stepFilter
)

// step is one step of a path. Fields that its kind does not have are zero.
type step struct {
	kind           stepKind
	names          []string // stepMembers
	indexes        []int    // stepIndexes
	from, to       int      // stepSlice
	hasFrom, hasTo bool     // stepSlice
	filter         condition
}

// Compile compiles a path. The error says what is wrong and where.
func Compile(text string) (*Path, error) {
	p := &parser{s: text}

	path, err := p.path()
	if err != nil {
		return nil, err
	}

	if p.i != len(text) {
		return nil, p.errorf("unexpected %q", text[p.i])
	}

	return path, nil
}

// Begin returns what a path begins with: "$", "$$" or a variable with its "$", and the steps up to the first one that may
// match several places. whole says that these are all steps. Of a text that is no path it returns what stands before the
// fault, with the error.
func Begin(text string) (root string, steps []rawjson.Step, whole bool, err error) {
	p := &parser{s: text}
	path, err := p.path()

	if err == nil && p.i != len(text) {
		err = p.errorf("unexpected %q", text[p.i])
	}

	switch {
	case path.context:
		root = "$$"
	case strings.HasPrefix(text, "$"):
		root = "$" + path.variable
	}

	for _, s := range path.steps {
		switch {
		case s.kind == stepMembers && len(s.names) == 1:
			steps = append(steps, rawjson.Step{Name: s.names[0]})
		case s.kind == stepIndexes && len(s.indexes) == 1:
			steps = append(steps, rawjson.Step{Index: s.indexes[0], IsIndex: true})
		default:
			return root, steps, false, err
		}
	}

	return root, steps, err == nil, err
}

// String returns the path as it was written.
func (p *Path) String() string { return p.text }

// IsRoot reports whether the path is "$".
func (p *Path) IsRoot() bool { return !p.context && p.variable == "" && len(p.steps) == 0 }

// Variables returns the names of the variables that the path reads.
func (p *Path) Variables() []string {
	if p.variable == "" {
		return nil
	}

	return []string{p.variable}
}
