package jsonata

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/recolabs/gnata"
)

// gnata asks for the end of its time before each node, and not inside of one. A node that works on a value reads
// each part of the value, once for each place where the part stands. So a value that holds another one twice, sixty
// times over, is small in memory, and one = would read it for centuries: the goroutine and its memory would be lost.
//
// A plant is a call of a check that Compile puts into the syntax tree, around the nodes that can make such a value.
// A value that is larger than a value may be ends the evaluation where it is made, so that each node has little to
// read. The names of the checks have a space, which no variable has.
const (
	checkValue   = " value"   // its argument is no larger than a value may be
	checkName    = " name"    // the members of a name in its argument are no more than an array may have
	checkMembers = " members" // the same for all members
	checkParts   = " parts"   // the same for all values inside
	checkUpdate  = " update"  // its argument does not hold the object that it will be put into
	checkResults = " results" // returns a function like its argument, whose results are checked
	makeRange    = " range"   // the operator ..
)

// planter puts checks into a syntax tree. Its nodes are addressable, other than those of the analysis.
type planter struct {
	kind reflect.Type // gnata's Node
	// tuples reports that the expression has %, # or @. Then gnata gives each item of a path an environment of its
	// own, for which it looks at the types of nodes.
	tuples bool
}

// place is where a node stands, as far as gnata looks at the type of a node there.
type place byte

const (
	anywhere place = iota
	inArray        // an element of an array constructor
	inPath         // a step
	filtered       // the left side of a filter or of a sort
	alone          // the only expression of a block
	applied        // the right side of ~>
)

// plant puts the checks into a program, which is not in use yet.
func plant(program *gnata.Expression) {
	field := reflect.ValueOf(program).Elem().FieldByName("ast")
	// Reflection does not write to a field that is not exported.
	root := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() //nolint:gosec // of the field's own type

	p := &planter{kind: root.Type().Elem()}
	p.tuples = p.has(node{root})
	p.at(root, anywhere)
}

// has reports whether a tree has %, # or @.
func (p *planter) has(n node) bool {
	if n.null() {
		return false
	}

	if n.text("Type") == "parent" || n.text("Index") != "" || n.text("Focus") != "" {
		return true
	}

	found := false
	p.children(n.v, func(child reflect.Value, _ place) { found = found || p.has(node{child}) })

	return found
}

// children calls visit for each node below a node. Names that are bound are no nodes that are evaluated.
func (p *planter) children(n reflect.Value, visit func(child reflect.Value, at place)) {
	kind, value := n.Elem().FieldByName("Type").String(), n.Elem().FieldByName("Value").String()
	each := func(field string, at place) {
		all := n.Elem().FieldByName(field)
		for i := range all.Len() {
			visit(all.Index(i), at)
		}
	}

	elements := anywhere
	switch {
	case kind == "unary" && value == "[":
		elements = inArray
	case kind == "block" && n.Elem().FieldByName("Expressions").Len() == 1:
		elements = alone
	}

	each("Expressions", elements)
	each("Steps", inPath)
	each("LHS", anywhere)

	if kind != "lambda" {
		each("Arguments", anywhere)
	}

	left, right := anywhere, anywhere
	switch {
	case kind == "sort" || kind == "binary" && value == "[":
		left = filtered
	case value == "~>":
		right = applied
	}

	if kind != "bind" {
		visit(n.Elem().FieldByName("Left"), left)
	}

	visit(n.Elem().FieldByName("Right"), right)

	for _, field := range []string{"Procedure", "Expression", "Condition", "Then", "Else", "Body", "Pattern", "Update", "Delete"} {
		visit(n.Elem().FieldByName(field), anywhere)
	}

	for _, field := range []string{"Terms", "Stages"} {
		all := n.Elem().FieldByName(field)
		for i := range all.Len() {
			visit(all.Index(i).FieldByName("Expression"), anywhere)
		}
	}

	if group := n.Elem().FieldByName("Group"); !group.IsNil() {
		pairs := group.Elem().FieldByName("Pairs")
		for i := range pairs.Len() {
			visit(pairs.Index(i).Index(0), anywhere)
			visit(pairs.Index(i).Index(1), anywhere)
		}
	}
}

// at plants the checks of the node that n points to, and below it.
func (p *planter) at(n reflect.Value, at place) {
	if n.IsNil() {
		return
	}

	kind, value := n.Elem().FieldByName("Type").String(), n.Elem().FieldByName("Value").String()
	p.children(n, p.at)

	switch {
	case kind == "transform":
		if update := n.Elem().FieldByName("Update"); !update.IsNil() {
			update.Set(p.call(checkUpdate, update.Elem().Addr()))
		}

		// A block, because ~> would take the call as one with another argument.
		n.Set(p.block(p.call(checkResults, n.Elem().Addr())))
	case kind == "binary" && value == "..":
		n.Set(p.call(makeRange, n.Elem().FieldByName("Left"), n.Elem().FieldByName("Right")))
	}

	makes := p.makes(n, kind, value, at)

	if kind == "path" {
		p.path(n)
	}

	if makes {
		n.Set(p.call(checkValue, n.Elem().Addr()))
	}
}

// makes reports whether a node makes a value of others that the node around it does not check.
func (p *planter) makes(n reflect.Value, kind, value string, at place) bool {
	if at == applied {
		return false
	}

	// In paths with environments, gnata looks for groups at the steps and for paths in blocks.
	grouped := !n.Elem().FieldByName("Group").IsNil()
	if p.tuples && (at == alone && kind == "path" || at == inPath && grouped) {
		return false
	}

	switch {
	case kind == "unary" && value == "{", kind == "binary" && value == "&":
		return true
	case kind == "path" && selects(n.Elem().FieldByName("Steps")):
		return grouped && at != inPath && at != filtered
	case kind == "unary" && value == "[", kind == "path", kind == "sort", kind == "binary" && value == "[":
		// The value that the node is part of is checked.
		return at != inArray && at != inPath && at != filtered
	}

	return grouped && at != inPath && at != filtered
}

// selects reports whether a path only selects parts of one value, which then is no larger than the value. All other
// steps can put parts together.
func selects(steps reflect.Value) bool {
	for i := range steps.Len() {
		switch steps.Index(i).Elem().FieldByName("Type").String() {
		case "name", "string", "wildcard":
		case "variable":
			if i > 0 {
				return false
			}
		default:
			return false
		}
	}

	return true
}

// path plants a check before each step that reads the parts of the values so far.
func (p *planter) path(n reflect.Value) {
	steps := n.Elem().FieldByName("Steps")
	all := reflect.MakeSlice(steps.Type(), 0, 2*steps.Len())

	for i := range steps.Len() {
		step := steps.Index(i)

		check := p.check(step)
		if !check.IsValid() || selects(steps.Slice(0, i)) && step.Elem().FieldByName("Type").String() != "descendant" {
			all = reflect.Append(all, step)
			continue
		}

		if p.tuples {
			// A step more would be one more level for %.
			block := p.block(check, step)
			for _, name := range []string{"Index", "Focus"} {
				block.Elem().FieldByName(name).Set(step.Elem().FieldByName(name))
			}

			all = reflect.Append(all, block)

			continue
		}

		// Only a sort gets the values together. This one has no terms and keeps their order.
		sort := p.new("sort")
		sort.Elem().FieldByName("Left").Set(check)
		all = reflect.Append(all, sort, step)
	}

	steps.Set(all)
}

// check returns the call that checks what a step reads, if that depends on the value before it.
func (p *planter) check(step reflect.Value) reflect.Value {
	input := p.new("variable") // without a name

	switch step.Elem().FieldByName("Type").String() {
	case "name", "string":
		name := p.new("string")
		name.Elem().FieldByName("Value").Set(step.Elem().FieldByName("Value"))

		return p.call(checkName, input, name)
	case "wildcard":
		return p.call(checkMembers, input)
	case "descendant":
		return p.call(checkParts, input)
	}

	return reflect.Value{}
}

func (p *planter) new(kind string) reflect.Value {
	n := reflect.New(p.kind)
	n.Elem().FieldByName("Type").SetString(kind)

	return n
}

// call returns a call of a check.
func (p *planter) call(check string, arguments ...reflect.Value) reflect.Value {
	name := p.new("variable")
	name.Elem().FieldByName("Value").SetString(check)

	n := p.new("function")
	n.Elem().FieldByName("Procedure").Set(name)

	list := reflect.Append(reflect.MakeSlice(reflect.SliceOf(n.Type()), 0, len(arguments)), arguments...)
	n.Elem().FieldByName("Arguments").Set(list)
	// gnata does not look for % in arguments.
	n.Elem().FieldByName("Expressions").Set(list)

	// What gnata asks of the node that a filter, a sort or a path has around it.
	for _, field := range []string{"KeepArray", "Index", "Focus", "Pos"} {
		n.Elem().FieldByName(field).Set(arguments[0].Elem().FieldByName(field))
	}

	return n
}

func (p *planter) block(expressions ...reflect.Value) reflect.Value {
	n := p.new("block")
	n.Elem().FieldByName("Expressions").Set(reflect.Append(reflect.MakeSlice(reflect.SliceOf(n.Type()), 0, len(expressions)), expressions...))

	return n
}

// planted are the checks.
func (f *functions) planted() map[string]any {
	return map[string]any{
		checkValue: f.wrap(func(args []any, _ any) (any, error) { return checked(args[0]) }),
		checkName: f.wrap(func(args []any, _ any) (any, error) {
			left := maxItems
			name, _ := args[1].(string)

			return within(args[0], countNamed(args[0], name, &left))
		}),
		checkMembers: f.wrap(func(args []any, _ any) (any, error) {
			left := maxItems

			return within(args[0], countMembers(args[0], &left))
		}),
		checkParts:  f.wrap(func(args []any, _ any) (any, error) { return checked(args[0]) }),
		checkUpdate: f.wrap(notInside),
		checkResults: f.wrap(func(args []any, _ any) (any, error) {
			transform := reflect.ValueOf(args[0]).Convert(reflect.TypeFor[builtin]()).Interface().(builtin)

			return f.wrap(func(args []any, focus any) (any, error) {
				if _, err := checked(slices.Concat(args, []any{focus})); err != nil {
					return nil, err
				}

				v, err := transform(args, focus)
				if err != nil {
					return nil, err
				}

				return checked(v)
			}), nil
		}),
		makeRange: f.wrap(operatorRange),
	}
}
