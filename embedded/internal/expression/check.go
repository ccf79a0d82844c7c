package expression

import (
	"encoding/base64"

	"ratchet/embedded/internal/attr"
)

// position is where a call stands.
type position uint8

const (
	inCondition position = iota
	inOperand
	inSet     // the whole value of a SET
	inAddend  // an operand of + or -
	inSetCall // an argument of a function in a SET
)

// check walks the tree from the outside in and from left to right. It finds the errors that
// do not depend on references: functions, reserved words, indexes.
func (n *node) check(at position) *Error {
	if n.built {
		return nil
	}

	switch n.op {
	case opPath:
		return n.path.check()
	case opValue:
		return nil
	case opCall:
		if err := n.checkCall(at); err != nil {
			return err
		}

		// The arguments of a call have rules of their own, which differ between updates and
		// conditions.
		if at >= inSet {
			at = inSetCall
		} else {
			at = inOperand
		}
	case opAnd, opOr, opNot:
		at = inCondition
	case opPlus, opMinus:
		at = inAddend
	case opIn:
		if len(n.args)-1 > maxIn {
			return errorf("The IN operator is provided with too many operands; number of operands: %d", len(n.args)-1)
		}
		at = inOperand
	default:
		at = inOperand
	}

	for _, a := range n.args {
		if err := a.check(at); err != nil {
			return err
		}
	}

	return nil
}

func (n *node) checkCall(at position) *Error {
	f := functionOf(n.text)
	misplaced := false
	switch {
	case f == fnUnknown:
		return errorf("Invalid function name; function: %s", n.text)
	case f.inUpdate() && at < inSet:
		return errorf("The function is not allowed in a condition expression; function: %s", n.text)
	case !f.inUpdate() && at >= inSet:
		return errorf("The function is not allowed in an update expression; function: %s", n.text)
	// size is an operand. All other functions of conditions are conditions.
	case at == inCondition:
		misplaced = f == fnSize
	case at == inOperand:
		misplaced = f != fnSize
	// list_append must be the whole value of a SET; if_not_exists may also be a part of it.
	case at != inSet:
		misplaced = f == fnListAppend
	}

	if misplaced {
		return errorf("The function is not allowed to be used this way in an expression; function: %s", n.text)
	}

	return nil
}

func (p Path) check() *Error {
	for _, s := range p {
		switch {
		// An index out of range has its text as name; see parser.index.
		case s.List && s.Name != "":
			return errorf("List index is not within the allowable range; index: [%s]", s.Name)
		case !s.List && isReserved(s.Name):
			return errorf("Attribute name is a reserved keyword; reserved keyword: %s", s.Name)
		}
	}

	if len(p) > attr.MaxDepth {
		return errorf("The document path has too many nesting levels; nesting levels: %d", len(p))
	}

	return nil
}

// bind resolves the references of a path in place.
func (p Path) bind(params *Params) *Error {
	for n, s := range p {
		if s.List || s.Name[0] != '#' {
			continue
		}

		name, ok := params.name(s.Name)
		if !ok {
			return errorf("An expression attribute name used in the document path is not defined; attribute name: %s", s.Name)
		}
		p[n].Name = name
	}

	return nil
}

// bind walks the tree from the inside out, resolves references, and checks the operands of
// every operation as far as the expression alone tells them.
func (n *node) bind(params *Params) *Error {
	if n.built || n.fixed {
		return nil
	}

	switch n.op {
	case opPath:
		return n.path.bind(params)
	case opValue:
		return n.bindValue(params)
	}

	for _, a := range n.args {
		if err := a.bind(params); err != nil {
			return err
		}
	}

	switch n.op {
	case opCall:
		return n.checkOperands()
	// All types can be equal. Only S, N and B have an order.
	case opEqual, opNotEqual, opIn:
		return n.checkDistinct()
	case opLess, opLessEqual, opGreater, opGreaterEqual:
		if err := n.checkDistinct(); err != nil {
			return err
		}
		return n.checkOrdered()
	case opBetween:
		return n.checkBetween()
	case opPlus, opMinus:
		return n.checkKinds(attr.N)
	default:
		return nil
	}
}

func (n *node) bindValue(params *Params) *Error {
	v, ok := params.value(n.text)
	if !ok {
		return errorf("An expression attribute value used in expression is not defined; attribute value: %s", n.text)
	}
	n.value = v

	return nil
}

// checkOperands checks a call whose arguments are bound.
func (n *node) checkOperands() *Error {
	f := functionOf(n.text)
	if len(n.args) != f.operands() {
		return errorf("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", n.text, len(n.args))
	}

	switch f {
	case fnAttributeExists, fnAttributeNotExists, fnIfNotExists:
		if n.args[0].op != opPath {
			return errorf("Operator or function requires a document path; operator or function: %s", n.text)
		}
		return n.checkDistinct()
	case fnAttributeType:
		return n.checkTypeName()
	case fnBeginsWith:
		if err := n.checkDistinct(); err != nil {
			return err
		}
		return n.checkKinds(attr.S, attr.B)
	case fnContains:
		return n.checkDistinct()
	case fnSize:
		return n.checkKinds(attr.S, attr.B, attr.SS, attr.NS, attr.BS, attr.L, attr.M)
	case fnListAppend:
		return n.checkKinds(attr.L)
	}

	return nil
}

// checkDistinct returns an error if a path is compared with itself.
func (n *node) checkDistinct() *Error {
	first := n.args[0]
	if first.op != opPath {
		return nil
	}

	for _, a := range n.args[1:] {
		if a.op == opPath && a.path.equal(first.path) {
			return errorf("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %v", n.text, first.path)
		}
	}

	return nil
}

// checkKinds returns an error if an operand is known to be of another kind.
func (n *node) checkKinds(allowed ...attr.Kind) *Error {
next:
	for _, a := range n.args {
		k := a.operandKind()

		// The type of an attribute is known only with an item.
		if k == attr.Invalid {
			continue
		}

		for _, want := range allowed {
			if k == want {
				continue next
			}
		}

		return errorf("Incorrect operand type for operator or function; operator or function: %s, operand type: %v", n.text, k)
	}

	return nil
}

func (n *node) checkOrdered() *Error { return n.checkKinds(attr.S, attr.N, attr.B) }

func (n *node) checkTypeName() *Error {
	const valid = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
	want := n.args[1]
	switch k := want.operandKind(); {
	// A type name must be a value. For an attribute or a call the message lists all types.
	case k == attr.Invalid:
		return errorf("Incorrect operand type for operator or function; operator or function: %s, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}", n.text)
	case k != attr.S:
		return errorf("Incorrect operand type for operator or function; operator or function: %s, operand type: %v", n.text, k)
	case attr.KindOf(want.value.Str) == attr.Invalid:
		return errorf("Invalid attribute type name found; type: %s, valid types: %s", want.value.Str, valid)
	default:
		return nil
	}
}

func (n *node) checkBetween() *Error {
	if err := n.checkOrdered(); err != nil {
		return err
	}

	if err := n.checkDistinct(); err != nil {
		return err
	}

	lo, hi := n.args[1], n.args[2]

	// A bound that is an attribute can be compared only with an item.
	if lo.op != opValue || hi.op != opValue {
		return nil
	}

	fault := ""
	if order, ok := attr.Compare(lo.value, hi.value); !ok {
		fault = "same data type for lower and upper bounds"
	} else if order > 0 {
		fault = "upper bound to be greater than or equal to lower bound"
	}

	if fault == "" {
		return nil
	}

	return errorf("The BETWEEN operator requires %s; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s",
		fault, formatScalar(lo.value), formatScalar(hi.value))
}

// formatScalar returns a scalar as DynamoDB writes it in messages: {S:x}.
func formatScalar(v attr.Value) string {
	text := v.Str
	if v.Kind == attr.B {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}

	return "{" + v.Kind.String() + ":" + text + "}"
}
