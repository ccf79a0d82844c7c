package expression

import "ratchet/embedded/internal/attr"

// op is the operation of a node of the syntax tree.
type op uint8

const (
	opPath op = iota
	opValue
	opCall
	opEqual
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opBetween
	opIn
	opAnd
	opOr
	opNot
	opPlus
	opMinus
)

// node is a node of a syntax tree. Conditions, operands and the values of an update share
// the type, because after an opening parenthesis any of them may follow.
type node struct {
	op     op
	parens bool // stands in parentheses
	// redundant is set if the node stands in two pairs of parentheses.
	redundant bool
	// text is the name of a function, the sign of an operator, or a :reference.
	text  string
	path  Path
	value attr.Value
	args  []*node
	// built is set for a path or value that came without a source: it has no references and
	// may be a reserved word.
	built bool
	// fixed is set for a kept part without references, whose operands have been checked.
	fixed bool
}

// function is a function of the language.
type function uint8

const (
	fnUnknown function = iota
	fnAttributeExists
	fnAttributeNotExists
	fnAttributeType
	fnBeginsWith
	fnContains
	fnSize
	fnIfNotExists
	fnListAppend
)

// functionOf returns the function of that name. Names are case-sensitive.
func functionOf(name string) function {
	switch name {
	case "attribute_exists":
		return fnAttributeExists
	case "attribute_not_exists":
		return fnAttributeNotExists
	case "attribute_type":
		return fnAttributeType
	case "begins_with":
		return fnBeginsWith
	case "contains":
		return fnContains
	case "size":
		return fnSize
	case "if_not_exists":
		return fnIfNotExists
	case "list_append":
		return fnListAppend
	default:
		return fnUnknown
	}
}

// operands returns how many arguments the function takes.
func (f function) operands() int {
	if f == fnAttributeExists || f == fnAttributeNotExists || f == fnSize {
		return 1
	}
	return 2
}

// inUpdate reports whether the function is one of update expressions.
func (f function) inUpdate() bool { return f == fnIfNotExists || f == fnListAppend }

// operandKind returns the type of an operand as far as the expression alone tells, else
// Invalid.
func (n *node) operandKind() attr.Kind {
	switch {
	case n.op == opValue:
		return n.value.Kind
	case n.op == opCall && n.text == "size":
		return attr.N
	default:
		return attr.Invalid
	}
}
