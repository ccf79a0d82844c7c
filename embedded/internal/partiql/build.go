package partiql

import (
	"slices"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// builder turns a parsed statement into the trees of package expression.
type builder struct {
	src string
	// clause names the clause in messages: "Condition" or "Update".
	clause string
}

// build checks the statement and sets what depends on its expressions.
func (s *syntax) build(src string) error {
	if err := s.checkReturning(); err != nil {
		return err
	}

	switch s.Command {
	case Select, Exists:
		if _, err := expression.BuildProjection(s.Columns); err != nil {
			return err // columns that contain each other
		}
	case Insert:
		return s.buildItem(src)
	}

	if err := s.buildWhere(src); err != nil || s.Command != Update {
		return err
	}

	return s.buildUpdate(src)
}

func (s *syntax) checkReturning() error {
	if s.Command == Delete && s.Returning != "" && s.Returning != "ALL_OLD" {
		return errorf("Invalid returning clause: %s. Only RETURNING ALL OLD * is allowed in DELETE statements.", s.returning)
	}

	return nil
}

// buildItem sets the item of an INSERT.
func (s *syntax) buildItem(src string) error {
	if s.item.op != opStruct {
		return errorf("%s at %s", msgStruct, position(src, s.item.at))
	}
	s.Item = attr.Item{}

	return eachMember(src, s.item, "root", func(name string, e *Expr) error {
		v, err := literal(src, e, "root")
		s.Item[name] = v

		return err
	})
}

// buildUpdate sets the update.
func (s *syntax) buildUpdate(src string) error {
	b := &builder{src: src, clause: "Update"}

	clauses := make([]expression.Clause, len(s.assignments))
	for i, a := range s.assignments {
		c, err := b.assign(a)
		if err != nil {
			return err
		}
		clauses[i] = c
	}

	var err error
	s.Update, err = expression.BuildUpdate(clauses)

	return err
}

// assign returns an assignment as a clause.
func (b *builder) assign(a assignment) (expression.Clause, error) {
	c := expression.Clause{Section: "REMOVE", Path: a.path.path}
	if a.value == nil {
		return c, nil
	}

	c.Section = "SET"

	// set_add and set_delete are functions only in PartiQL: expressions have clauses for them.
	value := a.value
	if section := map[string]string{"set_add": "ADD", "set_delete": "DELETE"}[value.text]; value.op == opCall && section != "" {
		c.Section = section
		if err := b.checkSetCall(a.path, value); err != nil {
			return c, err
		}
		value = value.args[1]
	}

	var err error
	c.Value, err = b.operand(value)

	return c, err
}

// checkSetCall checks a call of set_add or set_delete: attribute = set_add(attribute, set).
func (b *builder) checkSetCall(path, call *Expr) error {
	name := strings.ToUpper(call.text)
	if len(call.args) != 2 {
		return errorf("%s must have exactly two arguments at %s", name, position(b.src, call.at))
	}

	first, second := call.args[0], call.args[1]
	if first.op != opPath || !slices.Equal(first.path, path.path) {
		return errorf("The first argument to %s must equal the assignment value at %s", name, position(b.src, call.at))
	}

	k := second.value.Kind
	if second.op != opBag && (second.op != opValue || k != attr.SS && k != attr.NS && k != attr.BS) {
		return errorf("The second argument to %s must be a value with type SET at %s", name, position(b.src, first.at))
	}

	return nil
}

// buildWhere sets the condition.
func (s *syntax) buildWhere(src string) error {
	if s.Where == nil {
		return nil
	}
	b := &builder{src: src, clause: "Condition"}

	n, err := b.condition(s.Where, msgNotBool)
	if err != nil {
		return err
	}
	s.Condition, err = expression.BuildCondition(n)

	return err
}

// condition returns an expression that must be true or false, or an error with the message.
func (b *builder) condition(e *Expr, otherwise string) (expression.Node, error) {
	switch {
	case e.op == opIs:
		return b.test(e)
	// Every function but size is a condition. operand refuses an unknown one.
	case e.op == opCall && e.text != "size":
		return b.operand(e)
	case e.op != opOperator || slices.Contains(arithmetic, e.text):
		// A fault within the expression is reported before its wrong type.
		if _, err := b.operand(e); err != nil {
			return expression.Node{}, err
		}

		return expression.Node{}, errorf("%s", otherwise)
	case e.text == "AND" || e.text == "OR":
		return b.operator(e, func(arg *Expr) (expression.Node, error) { return b.condition(arg, msgNotJoined) })
	case e.text == "NOT":
		return b.operator(e, func(arg *Expr) (expression.Node, error) { return b.condition(arg, msgNotNegated) })
	default:
		return b.operator(e, b.operand)
	}
}

// test returns what IS MISSING and IS NULL mean.
func (b *builder) test(e *Expr) (expression.Node, error) {
	operand, err := b.operand(e.args[0])
	if err != nil {
		return operand, err
	}

	if e.text == "MISSING" {
		return expression.CallNode("attribute_not_exists", operand), nil
	}

	// IS NULL holds for an attribute of the type NULL, and not for a missing one.
	return expression.CallNode("attribute_type", operand, expression.ValueNode(attr.Value{Kind: attr.S, Str: "NULL"})), nil
}

func (b *builder) operator(e *Expr, convert func(*Expr) (expression.Node, error)) (expression.Node, error) {
	args, err := convertAll(e.args, convert)
	if err != nil {
		return expression.Node{}, err
	}

	return expression.OperatorNode(e.text, args...), nil
}

func convertAll(list []*Expr, convert func(*Expr) (expression.Node, error)) ([]expression.Node, error) {
	nodes := make([]expression.Node, len(list))
	for i, e := range list {
		n, err := convert(e)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}

	return nodes, nil
}

// functions are the functions of expressions. Package expression checks whether a function may
// stand where it stands.
var functions = []string{
	"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size", "if_not_exists", "list_append",
}

// operand returns an expression that has a value.
func (b *builder) operand(e *Expr) (expression.Node, error) {
	switch e.op {
	case opPath:
		return expression.PathNode(e.path), nil
	case opMissing:
		return expression.Node{}, errorf(msgMissing)
	case opCall:
		if !slices.Contains(functions, e.text) {
			return expression.Node{}, errorf("Unrecognized function: %s at %s", e.text, position(b.src, e.at))
		}

		args, err := convertAll(e.args, b.operand)
		if err != nil {
			return expression.Node{}, err
		}

		return expression.CallNode(e.text, args...), nil
	case opOperator, opIs:
		if b.clause == "Update" && (e.text == "+" || e.text == "-") {
			return b.operator(e, b.operand)
		}

		return expression.Node{}, errorf("Unsupported operator in %s Expression. Operator: %s", b.clause, strings.ToLower(e.text))
	default:
		v, err := literal(b.src, e, "root")

		// The value is noted in the tree of the statement, too: Comparison looks for values in the
		// WHERE clause.
		e.op, e.value = opValue, v

		return expression.ValueNode(v), err
	}
}
