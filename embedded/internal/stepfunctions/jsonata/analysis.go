package jsonata

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/recolabs/gnata"
)

// analysis holds the facts that the syntax tree of an expression shows before it runs.
type analysis struct {
	// references are the names that the expression reads at its top level, where there is no
	// input to read them from: names of fields, "$", and, at any place, "$$".
	references []string
	// states are the members of $states that it reads. whole reports that it reads $states itself.
	states []string
	whole  bool
	// read are the variables that the expression reads, without $states. variables are the names in read
	// that the expression does not bind and that are no functions of the language.
	read, variables []string
	// depth is the number of nested nodes.
	depth int
}

// node is a node of gnata's syntax tree, which the library does not export. Reflection reads it.
// TestSyntaxTree fails when another version of the library has another tree.
type node struct{ v reflect.Value }

func (n node) null() bool { return !n.v.IsValid() || n.v.IsNil() }

func (n node) text(field string) string { return n.v.Elem().FieldByName(field).String() }

func (n node) child(field string) node { return node{n.v.Elem().FieldByName(field)} }

func (n node) children(field string) []node { return elements(n.v.Elem().FieldByName(field)) }

func elements(v reflect.Value) (all []node) {
	for i := range v.Len() {
		all = append(all, node{v.Index(i)})
	}

	return all
}

// group returns the keys and values of a grouping, which are evaluated on its items.
func (n node) group() (all []node) {
	group := n.v.Elem().FieldByName("Group")
	if group.IsNil() {
		return nil
	}

	pairs := group.Elem().FieldByName("Pairs")
	for i := range pairs.Len() {
		all = append(all, elements(pairs.Index(i))...)
	}

	return all
}

// inner returns the nodes inside of structures of a node: terms of a sort and stages of a step.
func (n node) inner(field string) (all []node) {
	v := n.v.Elem().FieldByName(field)
	for i := range v.Len() {
		all = append(all, node{v.Index(i).FieldByName("Expression")})
	}

	return all
}

// walker collects an analysis.
type walker struct {
	analysis
	names, bound map[string]bool
}

// analyze reads the syntax tree of an expression.
func analyze(program *gnata.Expression) *analysis {
	w := &walker{names: map[string]bool{}, bound: map[string]bool{}}
	w.walk(node{reflect.ValueOf(program).Elem().FieldByName("ast")}, true, 1)

	w.read = slices.Sorted(maps.Keys(w.names))
	// A name that is bound anywhere counts as bound everywhere: blocks are not told apart.
	for _, name := range w.read {
		if !w.bound[name] && !library().has(name) {
			w.variables = append(w.variables, name)
		}
	}

	return &w.analysis
}

// walk visits a node. top reports that the node sees the expression's own input, and depth is the number
// of nodes around the node, plus one.
func (w *walker) walk(n node, top bool, depth int) {
	if n.null() {
		return
	}

	w.depth = max(w.depth, depth)
	w.bind(n)

	switch kind := n.text("Type"); kind {
	case "name":
		w.refer(n.text("Value"), top)
	case "variable":
		w.variable(n.text("Value"), top)
	case "path":
		w.path(n, top, depth)
	case "binary":
		// The right side of a filter is evaluated on the items of the left one.
		w.walk(n.child("Left"), top, depth+1)
		w.walk(n.child("Right"), top && n.text("Value") != "[", depth+1)
	case "bind":
		// The left side is the name, which bind has noted.
		w.walk(n.child("Right"), top, depth+1)
	case "transform":
		// All three see a part of the transformed value, and not the expression's own input.
		w.walk(n.child("Pattern"), false, depth+1)
		w.walk(n.child("Update"), false, depth+1)
		w.walk(n.child("Delete"), false, depth+1)
	case "lambda":
		// A lambda's body sees the input of the place where the lambda was made.
		w.walk(n.child("Body"), top, depth+1)
	default:
		for _, field := range []string{"Procedure", "Left", "Right", "Expression", "Condition", "Then", "Else", "Body"} {
			w.walk(n.child(field), top, depth+1)
		}

		for _, field := range []string{"Expressions", "LHS", "Arguments"} {
			w.all(n.children(field), top, depth+1)
		}
	}

	w.all(n.inner("Terms"), false, depth+1)
	w.all(n.inner("Stages"), false, depth+1)
	w.all(n.group(), false, depth+1)
}

func (w *walker) all(nodes []node, top bool, depth int) {
	for _, n := range nodes {
		w.walk(n, top, depth)
	}
}

// path visits the steps of a path. Only the first has the path's input.
func (w *walker) path(n node, top bool, depth int) {
	steps := n.children("Steps")
	if member, ok := statesMember(steps); ok {
		w.states = append(w.states, member)
		// The member's own step is still walked, because its filters may read variables.
		steps = steps[1:]
		top = false
	}

	for _, step := range steps {
		inner := depth + 1
		// A step with a filter is one level in JSONata.
		if step.text("Type") == "binary" {
			inner = depth
		}

		w.walk(step, top, inner)
		top = false
	}
}

// statesMember returns the member of $states with which a path begins.
func statesMember(steps []node) (member string, ok bool) {
	if len(steps) < 2 || steps[0].text("Type") != "variable" || steps[0].text("Value") != "states" {
		return "", false
	}

	second := steps[1]
	// A filter stands around the name.
	for second.text("Type") == "binary" && second.text("Value") == "[" {
		second = second.child("Left")
	}

	return second.text("Value"), second.text("Type") == "name"
}

// bind notes the names that a node binds: by := and as parameters, and by @ and #.
func (w *walker) bind(n node) {
	switch n.text("Type") {
	case "bind":
		w.bound[n.child("Left").text("Value")] = true
	case "lambda":
		for _, parameter := range n.children("Arguments") {
			w.bound[parameter.text("Value")] = true
		}
	}

	for _, field := range []string{"Focus", "Index"} {
		if name := n.text(field); name != "" {
			w.bound[name] = true
		}
	}

	stages := n.v.Elem().FieldByName("Stages")
	for i := range stages.Len() {
		if name := stages.Index(i).FieldByName("VarName").String(); name != "" {
			w.bound[name] = true
		}
	}
}

func (w *walker) variable(name string, top bool) {
	switch name {
	case "":
		w.refer("$", top)
	case "$":
		// $$ is the expression's own input at any depth.
		w.refer("$$", true)
	case "states":
		w.whole = true
	default:
		w.names[name] = true
	}
}

func (w *walker) refer(name string, top bool) {
	if top && !slices.Contains(w.references, name) {
		w.references = append(w.references, name)
	}
}

// reads reports whether the expression may read a member of $states.
func (a *analysis) reads(member string) bool { return a.whole || slices.Contains(a.states, member) }

// check fails with a *CompileError if the expression reads something that does not exist in its field.
// Source: https://github.com/floci-io/floci/issues/2670, 2745: measured on AWS.
func (a *analysis) check(access Access) error {
	if len(a.references) > 0 {
		name, place := a.references[0], " at the top level"
		if name == "$$" {
			place = ""
		}

		return &CompileError{CodeUnsupported, fmt.Sprintf("Reference to '%s'%s is not supported.", name, place)}
	}

	for _, member := range a.states {
		known := member == "input" || member == "context" ||
			member == "result" && access&Result != 0 ||
			member == "errorOutput" && access&ErrorOutput != 0
		if !known {
			return &CompileError{CodeUnsupported, fmt.Sprintf("Field '$states.%s' does not exist.", member)}
		}
	}

	return nil
}
