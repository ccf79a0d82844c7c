package expression

import "ratchet/embedded/internal/attr"

// op is what a node of the syntax tree does.
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

// node is one node of a syntax tree. Conditions, their operands and the values of
// an update share the type, for an opening parenthesis does not tell which of them
// follows.
type node struct {
	op     op
	parens bool // stands in parentheses of its own
	// redundant: stands in two pairs of them.
	redundant bool
	// text is the name of a function, the sign of an operator, or a :reference.
	text  string
	path  Path
	value attr.Value
	args  []*node
}

// function is what a call computes, resolved from its name when it is checked.
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

// functionOf finds a function by its name, which is case-sensitive.
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

// operands is how many arguments the function takes.
func (f function) operands() int {
	if f == fnAttributeExists || f == fnAttributeNotExists || f == fnSize {
		return 1
	}
	return 2
}

// inUpdate reports whether the function belongs into an update expression.
func (f function) inUpdate() bool { return f == fnIfNotExists || f == fnListAppend }

// operandKind is the type an operand is known to have before any item is seen, or
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
