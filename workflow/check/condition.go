package check

import (
	"path"
	"strings"

	"ratchet/workflow"
	"ratchet/workflow/internal/document"
)

// condition is a rule of a Choice, or a part of one.
type condition struct {
	line     int
	op       string // "And", "Or", "Not", or the comparison, like "StringEquals"; "" for JSONata
	subs     []*condition
	variable string
	operand  string // of a comparison with a constant string
}

// tristate is what is known about a condition.
type tristate byte

const (
	maybe tristate = iota
	yes
	no
)

func (r *aslReader) condition(n *document.Node, what string, depth int) *condition {
	c := &condition{line: n.Line}
	if !r.Want(n, document.Map, what) || depth > document.MaxDepth {
		return c
	}

	for _, m := range n.Members {
		switch m.Name {
		case "Next", "Comment", "Assign", "Output", "Condition":
		case "Variable":
			c.variable = r.String(m.Value, what+": Variable")
		case "And", "Or":
			c.op = m.Name
			if r.Want(m.Value, document.List, what+": "+m.Name) {
				for _, item := range m.Value.Items {
					c.subs = append(c.subs, r.condition(item, what, depth+1))
				}
			}
		case "Not":
			c.op, c.subs = m.Name, []*condition{r.condition(m.Value, what, depth+1)}
		default:
			c.op = m.Name
			c.operand = m.Value.Text
		}
	}

	return c
}

// judge evaluates the condition for an order that the execution believes to be in
// the state. Comparisons of other variables stay maybe.
func (c *condition) evaluate(variable string, state workflow.State) tristate {
	switch c.op {
	case "And", "Or":
		decisive := map[string]tristate{"And": no, "Or": yes}[c.op]
		result := map[string]tristate{"And": yes, "Or": no}[c.op]
		for _, s := range c.subs {
			switch s.evaluate(variable, state) {
			case decisive:
				return decisive
			case maybe:
				result = maybe
			}
		}

		return result
	case "Not":
		return map[tristate]tristate{yes: no, no: yes, maybe: maybe}[c.subs[0].evaluate(variable, state)]
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

func sure(is bool) tristate {
	if is {
		return yes
	}
	return no
}

// matches handles the plain * of StringMatches; what path.Match reads otherwise is
// left open.
func (c *condition) matches(text string) tristate {
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
