package partiql

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// Command is the kind of a statement.
type Command uint8

// The commands. Exists is EXISTS(SELECT ...), a condition within a transaction.
const (
	Select Command = iota
	Insert
	Update
	Delete
	Exists
)

// Statement is a parsed statement.
type Statement struct {
	Command Command
	Table   string
	// Index is the secondary index that a SELECT reads, empty for none.
	Index string
	// Columns are the columns of a SELECT, nil for all.
	Columns []expression.Path
	// Item is the item of an INSERT.
	Item attr.Item
	// Update is the update of an UPDATE.
	Update *expression.Update
	// Where is the WHERE clause, nil for none, and Condition the same as a condition.
	Where     *Expr
	Condition *expression.Condition
	Order     []Order
	// Returning is the RETURNING clause in the form of UpdateItem's ReturnValues, empty for no
	// clause.
	Returning string
}

// Order is an attribute by which a SELECT orders.
type Order struct {
	Name       string
	Descending bool
}

// op is the operation of an Expr.
type op uint8

const (
	opPath op = iota
	opValue
	opMissing // the literal MISSING
	opCall
	opOperator
	opIs // IS MISSING, IS NULL
	opList
	opStruct
	opBag
)

// Expr is an expression: an operand, a comparison, or several of them joined.
type Expr struct {
	op op
	// text is the name of a function in lower case, the sign of an operator as expressions
	// write it, the type of an IS, or the number of a literal.
	text  string
	path  expression.Path
	value attr.Value
	args  []*Expr
	keys  []*Expr // of a struct, beside args
	// parameter is set for a value that is a parameter.
	parameter bool
	at        token
}

// Conjuncts returns the conditions that the expression joins by AND at its top.
func (e *Expr) Conjuncts() []*Expr {
	switch {
	case e == nil:
		return nil
	case e.op == opOperator && e.text == "AND":
		return append(e.args[0].Conjuncts(), e.args[1].Conjuncts()...)
	default:
		return []*Expr{e}
	}
}

// Comparison is a condition on one top-level attribute: its value is compared with others.
type Comparison struct {
	Name string
	// Operator is =, <>, <, <=, >, >=, BETWEEN, IN or begins_with, with the attribute on its
	// left side.
	Operator string
	Values   []attr.Value
}

var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// Comparison returns the expression as a comparison with values. ok is false if it is anything
// else.
func (e *Expr) Comparison() (c Comparison, ok bool) {
	if e.op != opOperator && (e.op != opCall || e.text != "begins_with") || len(e.args) < 2 {
		return c, false
	}

	left, others := e.args[0], e.args[1:]
	c.Operator = e.text

	// 5 < a is a > 5.
	if turned := mirrored[e.text]; turned != "" && left.op == opValue {
		left, others, c.Operator = e.args[1], e.args[:1], turned
	}

	if left.op != opPath || len(left.path) > 1 {
		return c, false
	}

	for _, o := range others {
		if o.op != opValue {
			return c, false
		}
		c.Values = append(c.Values, o.value)
	}
	c.Name = left.path[0].Name

	return c, true
}

// Comparisons returns all comparisons of the expression, at any depth.
func (e *Expr) Comparisons() []Comparison {
	var list []Comparison
	e.walk(func(n *Expr) {
		if c, ok := n.Comparison(); ok {
			list = append(list, c)
		}
	})

	return list
}

// walk calls visit for the expression and everything in it.
func (e *Expr) walk(visit func(*Expr)) {
	if e == nil {
		return
	}
	visit(e)

	for _, a := range e.args {
		a.walk(visit)
	}
}
