package jsonpath

import (
	"regexp"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// word is a text without quotes.
var word = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// maxFilterDepth bounds parentheses and negations in a filter, and filters in filters.
const maxFilterDepth = 32

// filter reads "(condition)".
func (p *parser) filter() (condition, error) {
	p.space()

	if !p.take("(") {
		return nil, p.errorf("( is missing after ?")
	}

	if p.filters++; p.filters > maxFilterDepth {
		return nil, p.errorf("the filters are nested too deeply")
	}

	c, err := p.or(0)
	if err != nil {
		return nil, err
	}

	p.filters--
	p.space()

	if !p.take(")") {
		return nil, p.errorf(") is missing")
	}

	return c, nil
}

// or reads conditions with || between them.
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

// and reads conditions with && between them.
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

// primary reads a negation, a condition in parentheses, a comparison or a bare path.
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

	// An operator comes before its own prefix: <= before <. The space after "in" is
	// needed, because a name could go on.
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

// operand reads a path or a literal.
func (p *parser) operand() (o operand, err error) {
	p.space()

	switch c := p.peek(); {
	case c == '@' || c == '$':
		p.i++
		o.root = c == '$'
		// An operand's path is always a search: its steps are not sorted into plain steps
		// and others.
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
		// An array ends at its bracket, because it may contain the other delimiters.
		end = strings.IndexByte(rest, ']') + 1
	}

	if end <= 0 {
		end = len(rest)
	}

	// Strings in an array may have single quotes, which JSON does not know.
	text := []byte(strings.ReplaceAll(rest[:end], "'", `"`))
	if err := rawjson.Valid(text); err != nil {
		// A word without quotes is a text. Jayway JsonPath 2.0 reads words so, and two of AWS's published
		// definitions have them; later versions of the library refuse them. What the service does is not recorded.
		if !word.Match(text) {
			return nil, p.errorf("a value is missing")
		}
		text = rawjson.AppendText(nil, string(text))
	}

	p.i += end

	return text, nil
}
