package check

import (
	"strings"

	"ratchet/workflow/internal/document"
)

// condition is a rule of a Choice, or a part of one.
type condition struct {
	line int
	// op is "And", "Or", "Not" or the comparison, like "StringEquals"; "Query" for JSONata.
	op       string
	subs     []*condition
	variable string
	operand  string // the constant, the path or the expression
}

func (r *aslReader) condition(n *document.Node, what string, depth int) *condition {
	c := &condition{line: n.Line}
	if !r.Want(n, document.Map, what) || depth > document.MaxDepth {
		return c
	}

	for _, m := range n.Members {
		switch m.Name {
		case "Next", "Comment", "Assign", "Output":
		case "Condition":
			// A condition of JSONata.
			c.op, c.operand = "Query", m.Value.Text
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

// combine is "and" or "or" of two answers.
func combine(and bool, a, b truth) truth {
	decisive := truthOf(!and)
	switch {
	case a == decisive || b == decisive:
		return decisive
	case a == maybe || b == maybe:
		return maybe
	}

	return decisive.not()
}

// evaluate evaluates the condition. steady says that an answer of maybe is the same each time: it rests on
// data that does not change. A part is evaluated only if the parts before it do not decide, as in the service,
// so that only what can be read is demanded.
func (c *condition) evaluate(sc scope) (answer truth, steady bool) {
	switch c.op {
	case "And", "Or":
		// Without a decisive part and without a maybe, the other answer holds.
		answer, steady = truthOf(c.op == "And"), true
		decisive := answer.not()
		for _, sub := range c.subs {
			part, always := sub.evaluate(sc)
			if part == decisive {
				return decisive, true
			}

			answer, steady = combine(c.op == "And", answer, part), steady && always
		}

		return answer, steady
	case "Not":
		answer, steady = c.subs[0].evaluate(sc)
		return answer.not(), steady
	case "Query":
		return sc.decide(sc.read(c.operand))
	case "IsPresent":
		v := sc.look(sc.reference(c.variable))
		if v.kind == foreign || v.kind == untracked {
			return maybe, v == fixedValue
		}

		return truthOf((v.kind != missing) == (c.operand == "true")), true
	}

	v := sc.path(c.variable)
	other := v
	if strings.HasSuffix(c.op, "Path") {
		other = sc.path(c.operand)
	}

	if v.kind == missing || other.kind == missing {
		return maybe, true
	}

	return c.compare(sc, v, other), v.steady() && other.steady()
}

// compare evaluates a comparison of a value that exists, with a constant or with another value.
func (c *condition) compare(sc scope, v, other *value) truth {
	content, known := sc.textOf(v)
	composed := v.kind == object && v.rest == nil || v.kind == list || v.kind == position

	op, with := c.op, c.operand
	if path, isPath := strings.CutSuffix(op, "Path"); isPath {
		op = path

		var constant bool
		if with, constant = sc.textOf(other); !constant {
			return maybe
		}
	}

	switch {
	case op == "IsString":
		if !known && !composed && v.kind != causeOf {
			return maybe
		}

		return truthOf((known || v.kind == causeOf) == (with == "true"))
	// No name of a state is a time.
	case op == "IsTimestamp" && (v.kind == stateOf || composed):
		return truthOf(with == "false")
	case op == "IsNull" || op == "IsNumeric" || op == "IsBoolean":
		if !known && !composed {
			return maybe
		}

		return truthOf(with == "false")
	case !known && !composed:
		return maybe
	// A comparison with a value of another type does not hold.
	case composed, strings.HasPrefix(op, "Numeric"), strings.HasPrefix(op, "Boolean"):
		return no
	}

	switch op {
	case "StringEquals":
		return truthOf(content == with)
	case "StringMatches":
		return truthOf(wildcard(content, with))
	case "StringLessThan":
		return truthOf(content < with)
	case "StringLessThanEquals":
		return truthOf(content <= with)
	case "StringGreaterThan":
		return truthOf(content > with)
	case "StringGreaterThanEquals":
		return truthOf(content >= with)
	}

	return maybe
}

// wildcard reports whether a text matches the pattern of a StringMatches: * stands for any text, \* for a star.
func wildcard(text, pattern string) bool {
	// parts are the literal texts between the stars.
	parts := []string{""}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			parts = append(parts, "")
			continue
		case c == '\\' && i+1 < len(pattern) && strings.ContainsRune(`*\`, rune(pattern[i+1])):
			i++
		}
		parts[len(parts)-1] += pattern[i : i+1]
	}

	if len(parts) == 1 {
		return text == parts[0]
	}

	text, begins := strings.CutPrefix(text, parts[0])
	last := len(parts) - 1
	// The leftmost match of each part leaves the most text for the parts after it.
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(text, part)
		text, begins = after, begins && found
	}

	return begins && strings.HasSuffix(text, parts[last])
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
