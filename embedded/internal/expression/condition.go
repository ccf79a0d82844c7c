package expression

import "ratchet/embedded/internal/attr"

// Condition is a parsed ConditionExpression or FilterExpression.
type Condition struct{ root *node }

// ParseCondition parses a condition. field is the member of the request that it comes from,
// "ConditionExpression" or "FilterExpression", for the messages.
func ParseCondition(field, src string, p *Params) (*Condition, error) {
	if p.err != nil {
		return nil, p.err
	}

	root, err := parse(&keptConditions, src, readCondition, p)
	if err != nil {
		return nil, invalidExpression(field, err)
	}

	return &Condition{root}, nil
}

func invalidExpression(field string, err *Error) error {
	return errorf("Invalid %s: %s", field, err.Message)
}

// Match reports whether the item, which may be nil, satisfies the condition. The error is
// always nil: ParseCondition has checked everything that could fail.
func (c *Condition) Match(item attr.Item) (bool, error) { return c.root.match(item), nil }

// TopLevel returns the top-level attribute names that the condition reads, sorted.
func (c *Condition) TopLevel() []string { return topLevel(c.Paths()) }

// Paths returns the document paths that the condition reads, in the order of the source.
func (c *Condition) Paths() []Path { return c.root.appendPaths(nil) }

func (n *node) appendPaths(paths []Path) []Path {
	if n.op == opPath {
		return append(paths, n.path)
	}

	for _, a := range n.args {
		paths = a.appendPaths(paths)
	}

	return paths
}

// readCondition returns the tree of a condition whose references are not resolved.
func readCondition(src string) (*node, *Error) {
	p, err := newParser(src)
	if err != nil {
		return nil, err
	}

	root, err := p.or(false)
	if err != nil {
		return nil, err
	}

	if err := p.finish(); err != nil {
		return nil, err
	}

	return root, root.check(inCondition)
}

// or reads conditions joined by OR. If allowOperand is true, an operand may stand in the place
// of the first, as the a in (a) = :x: the parser has only seen the parenthesis.
func (p *parser) or(allowOperand bool) (*node, *Error) {
	left, err := p.and(allowOperand)
	for err == nil && p.kind == kOr {
		p.advance()

		var right *node
		if right, err = p.and(false); err == nil {
			left = p.node(opOr, "OR", left, right)
		}
	}

	return left, err
}

func (p *parser) and(allowOperand bool) (*node, *Error) {
	left, err := p.not(allowOperand)
	for err == nil && p.kind == kAnd {
		p.advance()

		var right *node
		if right, err = p.not(false); err == nil {
			left = p.node(opAnd, "AND", left, right)
		}
	}

	return left, err
}

func (p *parser) not(allowOperand bool) (*node, *Error) {
	if p.kind != kNot {
		return p.comparison(allowOperand)
	}
	p.advance()

	n, err := p.not(false)
	if err != nil {
		return nil, err
	}

	return p.node(opNot, "NOT", n), nil
}

// comparison reads a comparison, a call, or a condition in parentheses.
func (p *parser) comparison(allowOperand bool) (*node, *Error) {
	left, err := p.group()
	if err != nil {
		return nil, err
	}

	// A condition in parentheses: only paths, values and calls have the ops up to opCall.
	if left.op > opCall {
		return left.checkParentheses()
	}

	// Now it is known that left is an operand, so its parentheses can be reported (see undecided).
	if p.kind == kBetween || p.kind == kIn || p.kind >= kEqual && p.kind <= kGreaterEqual {
		if _, err := left.checkParentheses(); err != nil {
			return nil, err
		}
	}

	switch p.kind {
	case kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual:
		// The tokens and the ops of comparisons are in the same order.
		op, text := opEqual+op(p.kind-kEqual), p.text()
		p.advance()

		right, err := p.operand()
		if err != nil {
			return nil, err
		}

		return p.node(op, text, left, right), nil
	case kBetween:
		return p.between(left)
	case kIn:
		p.advance()

		args, err := p.operands([]*node{left})
		if err != nil {
			return nil, err
		}

		return p.node(opIn, "IN", args...), nil
	}

	if allowOperand && p.kind == kClose {
		return left, nil
	}

	if left.op == opCall {
		return left.checkParentheses()
	}

	return nil, p.syntaxError()
}

func (p *parser) between(left *node) (*node, *Error) {
	p.advance()

	lo, err := p.operand()
	if err != nil {
		return nil, err
	}

	if err := p.expect(kAnd); err != nil {
		return nil, err
	}

	hi, err := p.operand()
	if err != nil {
		return nil, err
	}

	return p.node(opBetween, "BETWEEN", left, lo, hi), nil
}

// group reads an operand, or anything in parentheses.
func (p *parser) group() (*node, *Error) {
	if p.kind != kOpen {
		p.undecided = true
		n, err := p.operand()
		p.undecided = false
		return n, err
	}
	p.advance()

	n, err := p.or(true)
	if err != nil {
		return nil, err
	}

	return p.closeParenthesis(n)
}
