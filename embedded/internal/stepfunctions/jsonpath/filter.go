package jsonpath

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// condition is what a filter asks of a candidate.
type condition interface {
	holds(candidate, root []byte) bool
}

type (
	anyOf []condition
	allOf []condition
	not   struct{ condition }
	// exists holds when the operand's path matches something.
	exists  struct{ operand operand }
	compare struct {
		left, right operand
		operator    string
	}
)

// operand is a literal, or a path under the candidate (@) or the root ($).
type operand struct {
	literal []byte
	path    *Path
	root    bool
}

func (c anyOf) holds(v, root []byte) bool {
	for _, each := range c {
		if each.holds(v, root) {
			return true
		}
	}

	return false
}

func (c allOf) holds(v, root []byte) bool {
	for _, each := range c {
		if !each.holds(v, root) {
			return false
		}
	}

	return true
}

func (c not) holds(v, root []byte) bool { return !c.condition.holds(v, root) }

func (c exists) holds(v, root []byte) bool {
	_, ok := c.operand.value(v, root)
	return ok
}

func (c compare) holds(v, root []byte) bool {
	left, okLeft := c.left.value(v, root)
	right, okRight := c.right.value(v, root)
	if !okLeft || !okRight {
		return c.operator == "!=" && okLeft != okRight
	}

	switch c.operator {
	case "==":
		return rawjson.Equal(left, right)
	case "!=":
		return !rawjson.Equal(left, right)
	case "in":
		for e := rawjson.Walk(right); e.Next(); {
			if rawjson.Equal(left, e.Value) {
				return true
			}
		}

		return false
	}

	kind := rawjson.KindOf(left)
	if kind != rawjson.KindOf(right) {
		return false
	}

	order := 0
	switch kind {
	case rawjson.Number:
		order = rawjson.CompareNumbers(left, right)
	case rawjson.String:
		x, _ := rawjson.Text(left)
		y, _ := rawjson.Text(right)
		order = strings.Compare(x, y)
	default:
		return false
	}

	switch c.operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func (o operand) value(v, root []byte) ([]byte, bool) {
	if o.path == nil {
		return o.literal, true
	}

	if o.root {
		v = root
	}

	if !o.path.many {
		return follow(v, o.path.way)
	}
	var first []byte
	match(v, root, o.path.steps, func(m []byte) {
		if first == nil {
			first = m
		}
	})

	return first, first != nil
}

// maxFilterDepth bounds parentheses and negations in a filter.
const maxFilterDepth = 32

// filter reads "(condition)".
func (p *parser) filter() (condition, error) {
	p.space()

	if !p.take("(") {
		return nil, p.errorf("( is missing after ?")
	}

	c, err := p.or(0)
	if err != nil {
		return nil, err
	}
	p.space()

	if !p.take(")") {
		return nil, p.errorf(") is missing")
	}

	return c, nil
}

func (p *parser) or(depth int) (condition, error) {
	var all anyOf
	for {
		c, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		all = append(all, c)

		if p.space(); !p.take("||") {
			break
		}
	}

	return all, nil
}

func (p *parser) and(depth int) (condition, error) {
	var all allOf
	for {
		c, err := p.primary(depth)
		if err != nil {
			return nil, err
		}
		all = append(all, c)

		if p.space(); !p.take("&&") {
			break
		}
	}

	return all, nil
}

func (p *parser) primary(depth int) (condition, error) {
	if depth > maxFilterDepth {
		return nil, p.errorf("the filter is nested too deeply")
	}
	p.space()

	if p.take("!") {
		c, err := p.primary(depth + 1)
		return not{c}, err
	}

	if p.take("(") {
		c, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}

		if p.space(); !p.take(")") {
			return nil, p.errorf(") is missing")
		}

		return c, nil
	}

	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	p.space()

	if p.take("=~") {
		return nil, p.errorf("regular expressions in filters are not supported")
	}

	for _, operator := range []string{"==", "!=", "<=", ">=", "<", ">", "in "} {
		if !p.take(operator) {
			continue
		}
		right, err := p.operand()

		return compare{left: left, right: right, operator: strings.TrimSpace(operator)}, err
	}

	if left.path == nil {
		return nil, p.errorf("a comparison is missing")
	}

	return exists{left}, nil
}

func (p *parser) operand() (o operand, err error) {
	p.space()

	switch c := p.peek(); {
	case c == '@' || c == '$':
		p.i++
		o.root = c == '$'
		o.path = &Path{many: true}
		o.path.steps, err = p.steps()

		return o, err
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return operand{literal: rawjson.AppendText(nil, s)}, err
	default:
		o.literal, err = p.literal()
		return o, err
	}
}

// literal reads a bare JSON value: a number, true, false, null or an array.
func (p *parser) literal() ([]byte, error) {
	rest := p.s[p.i:]
	end := strings.IndexAny(rest, " )&|,")
	if strings.HasPrefix(rest, "[") {
		end = strings.IndexByte(rest, ']') + 1
	}

	if end <= 0 {
		end = len(rest)
	}

	text := []byte(strings.ReplaceAll(rest[:end], "'", `"`))
	if err := rawjson.Valid(text); err != nil {
		return nil, p.errorf("a value is missing")
	}
	p.i += end

	return text, nil
}
