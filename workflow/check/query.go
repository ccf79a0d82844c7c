package check

import (
	"regexp"
	"strings"

	"ratchet/workflow/internal/document"
)

// query is an expression of JSONata, as far as the check follows it: paths, variables, constants, objects,
// lists, comparisons, and, or, +, and a few functions.
type query struct {
	op   string // see the constants below, or an operator like "="
	name string // of a variable, member or function; a constant
	subs []*query
	// names of the members of an object, one for each sub.
	names []string
}

const (
	queryUnknown  = "unknown"
	queryVariable = "variable"
	queryMember   = "member"
	queryElement  = "element"
	queryText     = "text"
	queryLiteral  = "literal"
	queryCall     = "call"
	queryObject   = "object"
	queryList     = "list"
)

// queryToken matches one token.
var queryToken = regexp.MustCompile(`^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\$[A-Za-z_][A-Za-z0-9_]*|\$)|([A-Za-z_][A-Za-z0-9_]*)|([0-9]+(?:\.[0-9]+)?)|(!=|<=|>=|:=|\*\*|~>|\.\.|[=<>+\-*/&.,:;?()\[\]{}|%^@#]))`)

// tokenClass is the group of queryToken that matched.
type tokenClass int

const (
	doubleQuoted tokenClass = iota + 1
	singleQuoted
	variableToken
	wordToken
	numberToken
	signToken
)

type queryToken1 struct {
	class tokenClass
	text  string
}

// isQuery reports whether a text of a state in JSONata is an expression.
func isQuery(s string) bool { return strings.HasPrefix(s, "{%") && strings.HasSuffix(s, "%}") }

// readQuery reads an expression with its brackets {% %}. An expression that the check does not follow has
// the op "unknown".
func readQuery(s string) *query {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{%"), "%}")

	var tokens []queryToken1
	for rest := strings.TrimSpace(s); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		m := queryToken.FindStringSubmatch(rest)
		if m == nil {
			return &query{op: queryUnknown, name: s}
		}

		for class := doubleQuoted; class <= signToken; class++ {
			if m[class] != "" {
				tokens = append(tokens, queryToken1{class, m[class]})
			}
		}

		// An empty text has no group with content.
		if m[0] == `""` || m[0] == `''` {
			tokens = append(tokens, queryToken1{doubleQuoted, ""})
		}
		rest = rest[len(m[0]):]
	}

	p := queryParser{tokens: tokens}

	q := p.binary(0)
	if p.failed || len(p.tokens) > 0 {
		return &query{op: queryUnknown, name: s}
	}

	return q
}

type queryParser struct {
	tokens []queryToken1
	failed bool
	depth  int
}

// queryOperators has the binary operators by their precedence, the weakest first.
var queryOperators = [][]string{{"or"}, {"and"}, {"=", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-", "&"}}

// sign takes the next token if it is one of the signs or words.
func (p *queryParser) sign(signs ...string) string {
	if len(p.tokens) == 0 || p.tokens[0].class != signToken && p.tokens[0].class != wordToken {
		return ""
	}

	for _, s := range signs {
		if p.tokens[0].text == s {
			p.tokens = p.tokens[1:]
			return s
		}
	}

	return ""
}

// want takes a sign that must follow.
func (p *queryParser) want(sign string) { p.failed = p.sign(sign) == "" || p.failed }

func (p *queryParser) binary(level int) *query {
	if level == len(queryOperators) {
		return p.steps()
	}

	p.depth++
	defer func() { p.depth-- }()

	left := p.binary(level + 1)
	for !p.failed && p.depth < document.MaxDepth {
		op := p.sign(queryOperators[level]...)
		if op == "" {
			return left
		}

		left = &query{op: op, subs: []*query{left, p.binary(level + 1)}}
	}

	p.failed = true

	return left
}

// steps reads a value with the members and elements that follow it.
func (p *queryParser) steps() *query {
	q := p.value()
	for !p.failed {
		switch p.sign(".", "[") {
		case ".":
			if len(p.tokens) == 0 || p.tokens[0].class != wordToken {
				p.failed = true
				return q
			}
			q = &query{op: queryMember, name: p.tokens[0].text, subs: []*query{q}}
			p.tokens = p.tokens[1:]
		case "[":
			if len(p.tokens) == 0 || p.tokens[0].class != numberToken {
				p.failed = true
				return q
			}
			q = &query{op: queryElement, name: "[" + p.tokens[0].text + "]", subs: []*query{q}}
			p.tokens = p.tokens[1:]
			p.want("]")
		default:
			return q
		}
	}

	return q
}

func (p *queryParser) value() *query {
	switch p.sign("(", "{", "[") {
	case "(":
		q := p.binary(0)
		p.want(")")

		return q
	case "{":
		return p.object()
	case "[":
		return &query{op: queryList, subs: p.list("]")}
	}

	if p.failed || len(p.tokens) == 0 {
		p.failed = true
		return &query{op: queryUnknown}
	}

	token := p.tokens[0]
	p.tokens = p.tokens[1:]

	switch {
	case token.class <= singleQuoted:
		return &query{op: queryText, name: token.text}
	case token.class == numberToken, token.class == wordToken && (token.text == "true" || token.text == "false" || token.text == "null"):
		return &query{op: queryLiteral, name: token.text}
	case token.class == variableToken && p.sign("(") != "":
		return &query{op: queryCall, name: token.text[1:], subs: p.list(")")}
	case token.class == variableToken:
		return &query{op: queryVariable, name: token.text[1:]}
	}

	p.failed = true

	return &query{op: queryUnknown}
}

// list reads values up to a closing bracket.
func (p *queryParser) list(end string) []*query {
	var subs []*query
	for !p.failed && p.sign(end) == "" {
		if len(subs) > 0 {
			p.want(",")
		}
		subs = append(subs, p.binary(0))
	}

	return subs
}

func (p *queryParser) object() *query {
	q := &query{op: queryObject}
	for !p.failed && p.sign("}") == "" {
		if len(q.subs) > 0 {
			p.want(",")
		}

		if len(p.tokens) == 0 || p.tokens[0].class > singleQuoted {
			p.failed = true
			return q
		}

		q.names = append(q.names, p.tokens[0].text)
		p.tokens = p.tokens[1:]
		p.want(":")
		q.subs = append(q.subs, p.binary(0))
	}

	return q
}
