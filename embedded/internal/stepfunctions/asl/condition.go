package asl

import (
	"errors"
	"strings"

	"ratchet/embedded/internal/stepfunctions/jsonpath"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Condition decides a choice rule. Holds fails with a *jsonpath.NotFoundError if the
// variable, or the path that it is compared with, matches nothing.
type Condition interface {
	Holds(s *jsonpath.Scope) (bool, error)
}

type (
	allOf []Condition
	anyOf []Condition
	not   struct{ Condition }
	// present is IsPresent, the only test that does not fail for a missing variable.
	present struct {
		variable *jsonpath.Path
		want     bool
	}
	// typed is an Is test other than IsPresent.
	typed struct {
		variable *jsonpath.Path
		is       func(v []byte) bool
		want     bool
	}
	// comparison compares the variable with a constant, or with another path.
	comparison struct {
		variable *jsonpath.Path
		with     []byte
		path     *jsonpath.Path
		order    func(a, b []byte) (order int, comparable bool)
		accepts  func(order int) bool
	}
	// matches is StringMatches: * stands for any text, \* for a star. pattern holds the
	// literal parts between the stars.
	matches struct {
		variable *jsonpath.Path
		pattern  []string
	}
)

func (c allOf) Holds(s *jsonpath.Scope) (bool, error) {
	for _, each := range c {
		if ok, err := each.Holds(s); !ok || err != nil {
			return false, err
		}
	}

	return true, nil
}

func (c anyOf) Holds(s *jsonpath.Scope) (bool, error) {
	for _, each := range c {
		if ok, err := each.Holds(s); ok || err != nil {
			return ok, err
		}
	}

	return false, nil
}

func (c not) Holds(s *jsonpath.Scope) (bool, error) {
	ok, err := c.Condition.Holds(s)
	// An error stays an error: Not does not make it true.
	return !ok && err == nil, err
}

func (c present) Holds(s *jsonpath.Scope) (bool, error) {
	_, err := c.variable.Evaluate(s)

	var missing *jsonpath.NotFoundError
	// Only for IsPresent, a path that matches nothing is an answer and no error.
	if err != nil && !errors.As(err, &missing) {
		return false, err
	}

	return (err == nil) == c.want, nil
}

func (c typed) Holds(s *jsonpath.Scope) (bool, error) {
	v, err := c.variable.Evaluate(s)
	return err == nil && c.is(v) == c.want, err
}

func (c comparison) Holds(s *jsonpath.Scope) (bool, error) {
	v, err := c.variable.Evaluate(s)
	if err != nil {
		return false, err
	}

	with := c.with
	if c.path != nil {
		if with, err = c.path.Evaluate(s); err != nil {
			return false, err
		}
	}

	order, ok := c.order(v, with)

	// Values of different types have no order, and the rule does not hold.
	return ok && c.accepts(order), nil
}

func (c matches) Holds(s *jsonpath.Scope) (bool, error) {
	v, err := c.variable.Evaluate(s)
	if err != nil {
		return false, err
	}

	text, ok := rawjson.Text(v)

	return ok && wildcard(text, c.pattern), nil
}

// wildcard reports whether text is the literal parts with any text between them.
func wildcard(text string, parts []string) bool {
	// Without a star, the whole text must be equal.
	if len(parts) == 1 {
		return text == parts[0]
	}

	if !strings.HasPrefix(text, parts[0]) {
		return false
	}

	text = text[len(parts[0]):]
	last := len(parts) - 1
	// The leftmost match of each part leaves the most text for the parts
	// behind it, so no other match has to be tried.
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}

		text = text[i+len(part):]
	}

	// The last part must end the rest, so that it does not overlap the other parts.
	return strings.HasSuffix(text, parts[last])
}

// splitPattern splits a StringMatches pattern at its unescaped stars.
func splitPattern(pattern string) (parts []string) {
	var part strings.Builder

	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern) && (pattern[i+1] == '*' || pattern[i+1] == '\\'):
			i++
			part.WriteByte(pattern[i])
		case c == '*':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}

	return append(parts, part.String())
}
