package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ratchet/embedded/paths"
	"ratchet/workflow/internal/document"
)

// reference is a reference of a state to the data.
type reference struct {
	text   string
	root   string   // "$", "$$", or "$name" for a variable
	steps  []string // after the root
	simple bool     // nothing follows the steps
}

// readReference reads a path. Of one with a filter, a wildcard or a fault, the reference has the steps before it;
// lintPaths reports the fault.
func readReference(text string) reference {
	path, _ := paths.Read(text)

	return reference{text: text, root: path.Root, steps: path.Steps, simple: path.Whole}
}

// reference reads a path, once for each text.
func (x *explorer) reference(path string) reference {
	ref, known := x.references[path]
	if !known {
		ref = readReference(path)
		x.references[path] = ref
	}

	return ref
}

// outer returns the reference to the value of which this one is a part.
func (r reference) outer() reference {
	r.steps, r.simple = r.steps[:len(r.steps)-1], true
	return r
}

// scope is what the expressions of a state see.
type scope struct {
	*explorer

	frame   *frame
	data    *value // what $ means in JSONPath, $states.input in JSONata
	result  *value // $states.result in JSONata
	failure *value // $states.errorOutput in JSONata
	// faults are references that lead nowhere, or to data that the check cannot follow.
	faults *[]fault
}

// fault is a reference that the data of the execution may not satisfy.
type fault struct {
	path string
	lost bool // the order's view may have been there
}

func (sc scope) fault(path string, lost bool) {
	f := fault{path, lost}
	if sc.faults != nil && !slices.Contains(*sc.faults, f) {
		*sc.faults = append(*sc.faults, f)
	}
}

// path evaluates a path of JSONPath.
func (sc scope) path(path string) *value {
	ref := sc.reference(path)
	v := sc.look(ref)

	order := ref.root == "$" && sc.aboutOrder(ref.steps)
	switch {
	case v.kind == missing:
		sc.fault(path, order)
	case order && (v.kind == foreign || v.kind == untracked):
		sc.fault(path, true)
	// A value that is not followed may lack what is looked for in it.
	case v.kind == untracked && len(ref.steps) > 0 && sc.look(ref.outer()).kind == untracked:
		sc.fault(path, true)
	}

	return v
}

// look returns the value to which a reference leads, perhaps none.
func (sc scope) look(ref reference) *value {
	var v *value
	switch ref.root {
	case "":
		return untrackedValue
	case "$":
		v = sc.data
	case "$$":
		return sc.context(ref.steps)
	default:
		v = sc.frame.variable(ref.root[1:])
	}

	v = v.at(ref.steps)
	if !ref.simple && v.kind != missing {
		v = unfollowed(v)
	}

	return v
}

// context evaluates a path into the context object, which has the input of the execution.
func (sc scope) context(steps []string) *value {
	if len(steps) >= 2 && steps[0] == "Execution" && steps[1] == "Input" {
		return fixedValue.at(steps[2:])
	}

	return foreignValue
}

// aboutOrder reports whether a path of the data leads to the place of the order's position, or below.
func (x *explorer) aboutOrder(steps []string) bool {
	return len(steps) >= len(x.base) && slices.Equal(steps[:len(x.base)], x.base)
}

// template evaluates Parameters, ResultSelector, ItemSelector or Assign of JSONPath.
func (sc scope) template(n *document.Node) *value {
	switch n.Kind {
	case document.Map:
		members := map[string]*value{}
		for _, m := range n.Members {
			name, computed := strings.CutSuffix(m.Name, ".$")
			if computed && m.Value.Kind == document.String {
				members[name] = sc.expression(m.Value.Text)
				continue
			}
			members[m.Name] = sc.template(m.Value)
		}

		return objectOf(members)
	case document.List:
		elements := make([]*value, len(n.Items))
		for i, item := range n.Items {
			elements[i] = sc.template(item)
		}

		return listOf(elements)
	}

	return constantOf(n)
}

// constantOf returns a constant of the file.
func constantOf(n *document.Node) *value {
	switch n.Kind {
	case document.String:
		return newValue(value{kind: text, name: n.Text})
	case document.Map:
		members := map[string]*value{}
		for _, m := range n.Members {
			members[m.Name] = constantOf(m.Value)
		}

		return objectOf(members)
	case document.List:
		elements := make([]*value, len(n.Items))
		for i, item := range n.Items {
			elements[i] = constantOf(item)
		}

		return listOf(elements)
	}

	// Numbers are for counting: the check does not tell them apart.
	if n.Kind == document.Number {
		return numberValue
	}

	return newValue(value{kind: literal, name: n.Text})
}

// expression evaluates a path or an intrinsic function of JSONPath.
func (sc scope) expression(expression string) *value {
	if !strings.HasPrefix(expression, "States.") {
		return sc.path(expression)
	}

	p := intrinsicParser{sc: sc, rest: expression}
	v := p.argument()
	if strings.TrimSpace(p.rest) != "" || p.failed {
		return untrackedValue
	}

	return v
}

// intrinsicParser reads and evaluates a call of an intrinsic function.
type intrinsicParser struct {
	sc     scope
	rest   string
	failed bool
}

var (
	intrinsicName   = regexp.MustCompile(`^States\.([A-Za-z0-9]+)\(`)
	intrinsicText   = regexp.MustCompile(`^'((?:[^'\\]|\\.)*)'`)
	intrinsicPlain  = regexp.MustCompile(`^(?:-?[0-9][0-9.eE+-]*|true|false|null)`)
	intrinsicQuoted = regexp.MustCompile(`\\(.)`)
)

// argument reads one argument, or the whole call.
func (p *intrinsicParser) argument() *value {
	p.rest = strings.TrimLeft(p.rest, " ")

	if m := intrinsicName.FindStringSubmatch(p.rest); m != nil {
		p.rest = p.rest[len(m[0]):]
		return p.call(m[1])
	}

	if m := intrinsicText.FindStringSubmatch(p.rest); m != nil {
		p.rest = p.rest[len(m[0]):]
		return newValue(value{kind: text, name: intrinsicQuoted.ReplaceAllString(m[1], "$1")})
	}

	if m := intrinsicPlain.FindString(p.rest); m != "" {
		p.rest = p.rest[len(m):]
		return newValue(value{kind: literal, name: m})
	}

	if !strings.HasPrefix(p.rest, "$") {
		p.failed = true
		return untrackedValue
	}

	// A path ends at a comma or bracket of the call. Brackets of its own hold an index or a name.
	end := strings.IndexAny(p.rest, ",)")
	if end < 0 || strings.Contains(p.rest[:end], "(") {
		p.failed = true
		return untrackedValue
	}

	path := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]

	return p.sc.path(path)
}

// call reads the arguments of a function and evaluates it.
func (p *intrinsicParser) call(name string) *value {
	var args []*value
	for !p.failed {
		p.rest = strings.TrimLeft(p.rest, " ")
		if rest, closed := strings.CutPrefix(p.rest, ")"); closed {
			p.rest = rest
			return intrinsic(name, args)
		}

		if len(args) > 0 {
			rest, more := strings.CutPrefix(p.rest, ",")
			p.rest, p.failed = rest, !more
		}
		args = append(args, p.argument())
	}

	return untrackedValue
}

// intrinsic returns the result of an intrinsic function.
func intrinsic(name string, args []*value) *value {
	switch {
	case name == "MathAdd" && len(args) == 2:
		return sum(args[0], args[1])
	case name == "StringToJson" && len(args) == 1:
		return parsed(args[0])
	case name == "JsonToString" && len(args) == 1 && args[0].kind == position:
		return newValue(value{kind: causeOf, view: args[0].view, name: args[0].name})
	case name == "Format" && len(args) == 2 && args[0].kind == text && args[0].name == "{}" && args[1].kind > object:
		return args[1]
	case name == "Array":
		return listOf(args)
	case name == "ArrayGetItem" && len(args) == 2 && args[1].kind == literal:
		if i, err := strconv.Atoi(args[1].name); err == nil {
			return args[0].element(i)
		}
	case name == "JsonMerge" && len(args) == 3:
		return args[0].merge(args[1])
	}

	// A text or a number that was made from a view is none.
	if name == "Format" || name == "UUID" || name == "Hash" || name == "MathRandom" || name == "ArrayLength" {
		return foreignValue
	}

	return unfollowed(args...)
}

// sum returns a + b. The transitionId after that of a view is the id that a task with a fence needs.
func sum(a, b *value) *value {
	if a.kind == literal {
		a, b = b, a
	}

	if a.kind == partOf && b.kind == literal && b.name == "1" {
		return newValue(value{kind: nextOf, view: a.view, name: a.name})
	}

	return unfollowed(a, b)
}

// parsed returns the value of a text that holds JSON.
func parsed(v *value) *value {
	switch v.kind {
	case causeOf:
		return newValue(value{kind: position, view: v.view, name: v.name})
	case foreign:
		return foreignValue
	}

	return untrackedValue
}
