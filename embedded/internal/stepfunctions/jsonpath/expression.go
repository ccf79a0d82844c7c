package jsonpath

import (
	"fmt"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// Expression is a path, an intrinsic function call, or, inside a call, a literal.
type Expression struct {
	path    *Path
	call    *call
	literal []byte
	// raw is a string literal with its backslashes, which States.Format reads.
	raw string
}

type call struct {
	text     string
	function *function
	args     []*Expression
}

// IntrinsicError says why an intrinsic function failed.
type IntrinsicError struct{ Call, Reason string }

func (e *IntrinsicError) Error() string {
	return fmt.Sprintf("the function '%s' had the following error: %s", e.Call, e.Reason)
}

// maxNesting is how deeply AWS lets intrinsic functions nest.
const maxNesting = 10

// CompileExpression reads a path or an intrinsic function call.
func CompileExpression(text string) (*Expression, error) {
	p := &parser{s: text}
	var e *Expression
	var err error
	if strings.HasPrefix(text, "States.") {
		e, err = p.call(1)
	} else {
		var path *Path
		path, err = p.path()
		e = &Expression{path: path}
	}

	if err != nil {
		return nil, err
	}

	if p.i != len(text) {
		return nil, p.errorf("unexpected %q", text[p.i])
	}

	return e, nil
}

// Evaluate computes the expression: a *NotFoundError for a path without match,
// an *IntrinsicError for a function that refuses its arguments.
func (e *Expression) Evaluate(s *Scope) ([]byte, error) {
	switch {
	case e.path != nil:
		return e.path.Evaluate(s)
	case e.call == nil:
		return e.literal, nil
	}

	values := make([][]byte, len(e.call.args))
	for i, arg := range e.call.args {
		v, err := arg.Evaluate(s)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}

	out, err := e.call.function.run(s, e.call, values)
	if err != nil {
		return nil, &IntrinsicError{Call: e.call.text, Reason: err.Error()}
	}

	return out, nil
}

// call reads "States.Name(arg, ...)".
func (p *parser) call(depth int) (*Expression, error) {
	if depth > maxNesting {
		return nil, p.errorf("intrinsic functions nest more than %d deep", maxNesting)
	}

	from := p.i
	open := strings.IndexByte(p.s[p.i:], '(')
	if open < 0 {
		return nil, p.errorf("( is missing")
	}

	name := strings.TrimSpace(p.s[p.i : p.i+open])
	f := functionNamed(name)
	if f == nil {
		return nil, p.errorf("%q is not an intrinsic function", name)
	}

	p.i += open + 1
	c := &call{function: f}
	for p.space(); !p.take(")"); {
		if len(c.args) > 0 {
			if !p.take(",") {
				return nil, p.errorf(", or ) is missing")
			}
			p.space()
		}

		arg, err := p.argument(depth)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, arg)
		p.space()
	}

	if len(c.args) < f.least || f.most >= 0 && len(c.args) > f.most {
		return nil, p.errorf("%s takes %s arguments, not %d", name, f.arity(), len(c.args))
	}
	c.text = p.s[from:p.i]

	return &Expression{call: c}, nil
}

func (p *parser) argument(depth int) (*Expression, error) {
	switch {
	case p.peek() == '$':
		path, err := p.path()
		return &Expression{path: path}, err
	case strings.HasPrefix(p.s[p.i:], "States."):
		return p.call(depth + 1)
	case p.peek() == '\'':
		return p.text()
	}

	rest := p.s[p.i:]
	end := strings.IndexAny(rest, ",) ")
	if end < 0 {
		end = len(rest)
	}

	text := []byte(rest[:end])
	switch rawjson.KindOf(text) {
	case rawjson.Number, rawjson.Bool, rawjson.Null:
		if rawjson.Valid(text) == nil {
			p.i += end
			return &Expression{literal: text}, nil
		}
	default:
	}

	return nil, p.errorf("an argument must be a path, a 'string', a number, true, false, null or a function call")
}

// text reads a string in single quotes. A backslash escapes ' { } and itself.
func (p *parser) text() (*Expression, error) {
	var raw, plain strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		c := p.s[p.i]
		if c == '\'' {
			p.i++
			return &Expression{literal: rawjson.AppendText(nil, plain.String()), raw: raw.String()}, nil
		}
		raw.WriteByte(c)

		if c == '\\' && p.i+1 < len(p.s) {
			p.i++
			next := p.s[p.i]
			raw.WriteByte(next)

			if !strings.ContainsRune(`'{}\`, rune(next)) {
				plain.WriteByte('\\')
			}
			plain.WriteByte(next)
			continue
		}
		plain.WriteByte(c)
	}

	return nil, p.errorf("a closing ' is missing")
}
