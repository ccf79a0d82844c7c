package jsonpath

import "ratchet/embedded/internal/stepfunctions/rawjson"

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
