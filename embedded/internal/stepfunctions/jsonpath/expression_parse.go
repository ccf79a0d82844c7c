package jsonpath

import (
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

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
	f := functions[name]
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

// argument reads one argument of a call.
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

	// A literal ends where another token can begin.
	rest := p.s[p.i:]
	end := strings.IndexAny(rest, ",) ")
	if end < 0 {
		end = len(rest)
	}

	text := []byte(rest[:end])
	switch rawjson.KindOf(text) {
	case rawjson.Number, rawjson.Bool, rawjson.Null:
		// KindOf returns Number for any text that is of no other kind, so Valid decides.
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

			// Source: LocalStack's recordings of AWS (test_illegal_escapes).
			if next == '"' {
				return nil, p.errorf("\\\" is no escape")
			}

			// A backslash before any other character stands for itself.
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
