package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
)

// parser reads the text of an expression from left to right.
type parser struct {
	s string
	i int

	filters int // around the place i
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at position %d of %q", fmt.Sprintf(format, args...), p.i+1, p.s)
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}

	return 0
}

// take skips word if it comes next, and reports whether it did.
func (p *parser) take(word string) bool {
	if strings.HasPrefix(p.s[p.i:], word) {
		p.i += len(word)
		return true
	}

	return false
}

// space skips white space.
func (p *parser) space() {
	for p.peek() == ' ' || p.peek() == '\t' || p.peek() == '\n' {
		p.i++
	}
}

// number reads an integer; ok is false if there is none.
func (p *parser) number() (int, bool) {
	from := p.i
	if p.peek() == '-' {
		p.i++
	}

	for p.peek() >= '0' && p.peek() <= '9' {
		p.i++
	}

	n, err := strconv.Atoi(p.s[from:p.i])
	if err != nil {
		// A lone minus, or digits that fit no int, are no number.
		p.i = from
	}

	return n, err == nil
}

// quoted reads a string in single or double quotes. A backslash escapes the character after it.
func (p *parser) quoted() (string, error) {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		return "", p.errorf("a quoted name is missing")
	}

	var out strings.Builder
	for p.i++; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; {
		case c == quote:
			p.i++
			return out.String(), nil
		case c == '\\' && p.i+1 < len(p.s):
			p.i++

			// Source: LocalStack's recordings of AWS (test_escape_sequence_parsing, JSONPATH): before
			// the other quote a backslash stands for itself.
			if next := p.s[p.i]; next != quote && (next == '\'' || next == '"') {
				out.WriteByte(c)
			}

			out.WriteByte(p.s[p.i])
		default:
			out.WriteByte(c)
		}
	}

	return "", p.errorf("a closing %c is missing", quote)
}
