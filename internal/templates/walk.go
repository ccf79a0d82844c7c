package templates

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"text/template/parse"
)

// run is an execution of one template of a set.
type run struct {
	t         *Template
	tree      *parse.Tree
	out       io.Writer
	variables []variable
	steps     *int // of the whole execution
	depth     int
}

type variable struct {
	name  string
	value any
}

// What ends the body of a range.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

// fail returns an error that says where it happened.
func (r *run) fail(at parse.Node, format string, args ...any) error {
	place, context := r.tree.ErrorContext(at)

	return fmt.Errorf("template: %s: at <%s>: %w", place, context, fmt.Errorf(format, args...))
}

// template runs the template of r.
func (r *run) template(dot any) error {
	if r.tree == nil { // there are only definitions
		return nil
	}

	return r.walk(dot, r.tree.Root)
}

func (r *run) walk(dot any, node parse.Node) error {
	if *r.steps++; *r.steps > MaxSteps {
		return r.fail(node, "%w", errSteps)
	}

	switch node := node.(type) {
	case *parse.ListNode:
		for _, one := range node.Nodes {
			if err := r.walk(dot, one); err != nil {
				return err
			}
		}

		return nil
	case *parse.TextNode:
		_, err := r.out.Write(node.Text)
		return err
	case *parse.ActionNode:
		return r.action(dot, node)
	case *parse.IfNode:
		return r.branch(dot, &node.BranchNode, false)
	case *parse.WithNode:
		return r.branch(dot, &node.BranchNode, true)
	case *parse.RangeNode:
		return r.overAll(dot, node)
	case *parse.TemplateNode:
		return r.include(dot, node)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.CommentNode:
		return nil
	default:
		return r.fail(node, "not supported")
	}
}

// action writes the value of a pipeline, unless it goes to variables.
func (r *run) action(dot any, node *parse.ActionNode) error {
	value, err := r.pipeline(dot, node.Pipe)
	if err != nil || len(node.Pipe.Decl) > 0 {
		return err
	}

	text, err := printed(value)
	if err != nil {
		return r.fail(node, "%w", err)
	}

	// Not io.WriteString, which would pass a Write with a limit by.
	_, err = r.out.Write([]byte(text))

	return err
}

// branch runs one of two lists. A with node makes the value the dot.
func (r *run) branch(dot any, node *parse.BranchNode, with bool) error {
	defer r.forget(len(r.variables))

	value, err := r.pipeline(dot, node.Pipe)
	switch {
	case err != nil:
		return err
	case isTrue(value) && with:
		return r.walk(value, node.List)
	case isTrue(value):
		return r.walk(dot, node.List)
	case node.ElseList != nil:
		return r.walk(dot, node.ElseList)
	default:
		return nil
	}
}

// overAll runs a list for each element of a value.
func (r *run) overAll(dot any, node *parse.RangeNode) error {
	defer r.forget(len(r.variables))

	value, err := r.pipeline(dot, node.Pipe)
	if err != nil {
		return err
	}

	if v := pointed(value); (v.CanInt() || v.CanUint()) && len(node.Pipe.Decl) > 1 {
		return r.fail(node.Pipe, "a number has no second variable")
	}

	some := false

	for key, element := range elements(value) {
		if err, ok := key.(error); ok {
			return r.fail(node.Pipe, "%w", err)
		}
		some = true

		err := r.element(key, element, node)
		if errors.Is(err, errBreak) {
			break
		}

		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
	}

	if !some && node.ElseList != nil {
		return r.walk(dot, node.ElseList)
	}

	return nil
}

// element runs the list of a range once. A single variable has the element, the first of two the key.
func (r *run) element(key, element any, node *parse.RangeNode) error {
	defer r.forget(len(r.variables))

	values := []any{key, element}
	for i, v := range node.Pipe.Decl {
		r.declare(v, values[i+2-len(node.Pipe.Decl)], node.Pipe.IsAssign)
	}

	return r.walk(element, node.List)
}

// include runs another template of the set.
func (r *run) include(dot any, node *parse.TemplateNode) error {
	tree := r.t.trees[node.Name]
	if tree == nil {
		return r.fail(node, "template %q is not defined", node.Name)
	}

	if r.depth == maxDepth {
		return r.fail(node, "%w", errDepth)
	}

	value, err := r.pipeline(dot, node.Pipe)
	if err != nil {
		return err
	}

	other := run{t: r.t, tree: tree, out: r.out, steps: r.steps, depth: r.depth + 1, variables: []variable{{"$", value}}}

	return other.template(value)
}

// declare adds a variable, or sets the innermost one of its name.
func (r *run) declare(v *parse.VariableNode, value any, assign bool) {
	name := v.Ident[0]
	if !assign {
		r.variables = append(r.variables, variable{name, value})
		return
	}

	for i, known := range slices.Backward(r.variables) {
		if known.name == name {
			r.variables[i].value = value
			return
		}
	}
}

// forget removes the variables of a block.
func (r *run) forget(n int) { r.variables = r.variables[:n] }

// isTrue reports whether a value is neither nil nor the zero value of its type. A structure is always true.
func isTrue(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Struct:
		return true
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0
	default:
		return !v.IsZero()
	}
}
