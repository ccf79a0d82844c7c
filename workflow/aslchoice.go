package workflow

import (
	"path"
	"strings"
)

// condition is a rule of a Choice, or a part of one.
type condition struct {
	line     int
	op       string // "And", "Or", "Not", or the comparison, like "StringEquals"; "" for JSONata
	subs     []*condition
	variable string
	operand  string // of a comparison with a constant string
}

// verdict is what is known about a condition.
type verdict byte

const (
	maybe verdict = iota
	yes
	no
)

func (r *aslReader) condition(n *node, what string, depth int) *condition {
	c := &condition{line: n.line}
	if !r.want(n, isMap, what) || depth > maxDepth {
		return c
	}

	for _, m := range n.members {
		switch m.name {
		case "Next", "Comment", "Assign", "Output", "Condition":
		case "Variable":
			c.variable = r.str(m.value, what+": Variable")
		case "And", "Or":
			c.op = m.name
			if r.want(m.value, isList, what+": "+m.name) {
				for _, item := range m.value.items {
					c.subs = append(c.subs, r.condition(item, what, depth+1))
				}
			}
		case "Not":
			c.op, c.subs = m.name, []*condition{r.condition(m.value, what, depth+1)}
		default:
			c.op = m.name
			c.operand = m.value.text
		}
	}

	return c
}

// judge evaluates the condition for an order that the execution believes to be in
// the state. Comparisons of other variables stay maybe.
func (c *condition) judge(variable string, state State) verdict {
	switch c.op {
	case "And", "Or":
		decisive := map[string]verdict{"And": no, "Or": yes}[c.op]
		result := map[string]verdict{"And": yes, "Or": no}[c.op]
		for _, s := range c.subs {
			switch s.judge(variable, state) {
			case decisive:
				return decisive
			case maybe:
				result = maybe
			}
		}

		return result
	case "Not":
		return map[verdict]verdict{yes: no, no: yes, maybe: maybe}[c.subs[0].judge(variable, state)]
	}

	if c.variable != variable {
		return maybe
	}

	switch c.op {
	case "StringEquals":
		return sure(c.operand == string(state))
	case "StringMatches":
		return c.matches(string(state))
	case "IsPresent", "IsString":
		return sure(c.operand == "true")
	case "IsNull", "IsNumeric", "IsBoolean", "IsTimestamp":
		return sure(c.operand == "false")
	}

	return maybe
}

func sure(is bool) verdict {
	if is {
		return yes
	}
	return no
}

// matches handles the plain * of StringMatches; what path.Match reads otherwise is
// left open.
func (c *condition) matches(text string) verdict {
	if strings.ContainsAny(c.operand, `?[]\`) {
		return maybe
	}

	ok, err := path.Match(c.operand, text)
	if err != nil {
		return maybe
	}

	return sure(ok)
}

// walk calls fn for the condition and its parts.
func (c *condition) walk(fn func(*condition)) {
	fn(c)

	for _, s := range c.subs {
		s.walk(fn)
	}
}

// about reports whether every comparison in the condition is about the variable.
func (c *condition) about(variable string) bool {
	only := true
	c.walk(func(p *condition) {
		switch p.op {
		case "And", "Or", "Not":
		default:
			only = only && p.variable == variable
		}
	})

	return only
}
