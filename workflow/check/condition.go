package check

import (
	"path"
	"strings"

	"ratchet/workflow"
	"ratchet/workflow/internal/document"
)

// condition is a rule of a Choice, or a part of one.
type condition struct {
	line int
	// op is "And", "Or", "Not" or the comparison, like "StringEquals"; "" for JSONata.
	op       string
	subs     []*condition
	variable string
	operand  string // of a comparison with a constant string
}

func (r *aslReader) condition(n *document.Node, what string, depth int) *condition {
	c := &condition{line: n.Line}
	if !r.Want(n, document.Map, what) || depth > document.MaxDepth {
		return c
	}

	for _, m := range n.Members {
		switch m.Name {
		// A JSONata Condition stays without an operator, and evaluates to maybe.
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
			c.op = m.Name
			c.subs = []*condition{r.condition(m.Value, what, depth+1)}
		default:
			// Any other member is the comparison.
			c.op = m.Name
			c.operand = m.Value.Text
		}
	}

	return c
}

// truth is the knowledge about a condition: yes, no or maybe.
type truth byte

const (
	maybe truth = iota
	yes
	no
)

func truthOf(is bool) truth {
	if is {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}

	return maybe
}

// evaluate evaluates the condition when the variable has the state as its value. A
// comparison of another variable is maybe.
func (c *condition) evaluate(variable string, state workflow.State) truth {
	switch c.op {
	case "And":
		return c.combine(variable, state, no)
	case "Or":
		return c.combine(variable, state, yes)
	case "Not":
		return c.subs[0].evaluate(variable, state).not()
	}

	if c.variable != variable {
		return maybe
	}

	switch c.op {
	case "StringEquals":
		return truthOf(c.operand == string(state))
	case "StringMatches":
		return c.matches(string(state))
	// The variable exists here, and is the text of a state.
	case "IsPresent", "IsString":
		return truthOf(c.operand == "true")
	case "IsNull", "IsNumeric", "IsBoolean", "IsTimestamp":
		return truthOf(c.operand == "false")
	}

	return maybe
}

// combine evaluates the parts of an And or Or. A part that is decisive (no for And, yes
// for Or) decides the whole.
func (c *condition) combine(variable string, state workflow.State, decisive truth) truth {
	// Without a decisive part and without a maybe, the other answer holds.
	result := decisive.not()
	for _, sub := range c.subs {
		switch sub.evaluate(variable, state) {
		case decisive:
			return decisive
		case maybe:
			result = maybe
		}
	}

	return result
}

// matches evaluates a StringMatches, where * stands for any text. path.Match also gives
// other characters a meaning; an operand with one of them is maybe.
func (c *condition) matches(text string) truth {
	if strings.ContainsAny(c.operand, `?[]\`) {
		return maybe
	}

	// Names of states have no slash, which * of path.Match would not match.
	ok, err := path.Match(c.operand, text)
	if err != nil {
		return maybe
	}

	return truthOf(ok)
}

// walk calls fn for the condition and its parts.
func (c *condition) walk(fn func(*condition)) {
	fn(c)

	for _, sub := range c.subs {
		sub.walk(fn)
	}
}

// onlyAbout reports whether every comparison in the condition is about the variable.
func (c *condition) onlyAbout(variable string) bool {
	only := true
	c.walk(func(part *condition) {
		switch part.op {
		case "And", "Or", "Not":
		default:
			only = only && part.variable == variable
		}
	})

	return only
}
