package partiql

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// expression reads alternatives: conditions that OR joins.
func (p *parser) expression() (*Expr, error) { return p.joined("OR", p.conjunction) }

func (p *parser) conjunction() (*Expr, error) { return p.joined("AND", p.negation) }

// joined reads operands between which the word stands.
func (p *parser) joined(word string, operand func() (*Expr, error)) (*Expr, error) {
	left, err := operand()
	for err == nil && p.tok.isWord(word) {
		at := p.tok
		p.advance()

		var right *Expr
		if right, err = operand(); err == nil {
			left = &Expr{op: opOperator, text: word, args: []*Expr{left, right}, at: at}
		}
	}

	return left, err
}

func (p *parser) negation() (*Expr, error) {
	at := p.tok
	if !p.acceptWord("NOT") {
		return p.comparison()
	}

	e, err := p.negation()
	if err != nil {
		return nil, err
	}

	return not(e, at), nil
}

func not(e *Expr, at token) *Expr {
	return &Expr{op: opOperator, text: "NOT", args: []*Expr{e}, at: at}
}

// signs are the comparisons with the signs that expressions write for them.
var signs = map[string]string{"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

// comparison reads an operand and, if it is compared, the rest of the comparison.
func (p *parser) comparison() (*Expr, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}

	at := p.tok
	if at.kind == kMark && signs[at.text] != "" {
		p.advance()

		right, err := p.sum()
		if err != nil {
			return nil, err
		}

		return &Expr{op: opOperator, text: signs[at.text], args: []*Expr{left, right}, at: at}, nil
	}

	if p.acceptWord("IS") {
		return p.test(left, at)
	}

	negated := p.tok.isWord("NOT")
	if negated {
		// A NOT before any other word is not part of this comparison; the caller finds it left
		// over.
		if next := scan(p.src, p.tok.end); !next.isWord("IN", "BETWEEN", "LIKE") {
			return left, nil
		}
		p.advance()
	}

	e := left
	switch at := p.tok; {
	case p.acceptWord("BETWEEN"):
		e, err = p.between(left, at)
	case p.acceptWord("IN"):
		e, err = p.membership(left, at)
	case p.tok.isWord("LIKE"):
		return nil, errorf("Unsupported operator in Condition Expression. Operator: like")
	}

	if err == nil && negated {
		e = not(e, at)
	}

	return e, err
}

// test reads what follows IS.
func (p *parser) test(left *Expr, at token) (*Expr, error) {
	negated := p.acceptWord("NOT")
	if !p.tok.isWord("MISSING", "NULL") {
		return nil, malformed("Expected MISSING or NULL after IS")
	}

	e := &Expr{op: opIs, text: p.tok.upper, args: []*Expr{left}, at: at}
	p.advance()

	if negated {
		e = not(e, at)
	}

	return e, nil
}

func (p *parser) between(left *Expr, at token) (*Expr, error) {
	lo, err := p.sum()
	if err != nil {
		return nil, err
	}

	if err := p.expectWord("AND"); err != nil {
		return nil, err
	}

	hi, err := p.sum()
	if err != nil {
		return nil, err
	}

	return &Expr{op: opOperator, text: "BETWEEN", args: []*Expr{left, lo, hi}, at: at}, nil
}

// membership reads what follows IN: values in brackets or parentheses. Anything else there is an
// error of the statement only if all of it can be read.
func (p *parser) membership(left *Expr, at token) (*Expr, error) {
	end := map[string]string{"(": ")", "[": "]"}[p.tok.text]
	if p.tok.kind != kMark || end == "" {
		// Parse reports the error when the whole statement was read.
		p.badIn = true
		return p.comparison()
	}
	open := p.tok
	p.advance()

	list, err := p.list(opList, end, open)
	if err != nil {
		return nil, err
	}

	if left.op != opPath || len(list.args) == 0 {
		p.badIn = true
	}

	return &Expr{op: opOperator, text: "IN", args: append([]*Expr{left}, list.args...), at: at}, nil
}

// arithmetic are the operators whose result is a value, and no condition.
var arithmetic = []string{"+", "-", "||", "*", "/", "%"}

// sum reads operands between which arithmetic operators stand.
func (p *parser) sum() (*Expr, error) {
	left, err := p.factor()

	// All operators are on one level: operators other than + and - are refused later, whatever
	// their precedence.
	for err == nil && slices.ContainsFunc(arithmetic, p.tok.is) {
		at := p.tok
		p.advance()

		var right *Expr
		if right, err = p.factor(); err == nil {
			left = &Expr{op: opOperator, text: at.text, args: []*Expr{left, right}, at: at}
		}
	}

	return left, err
}

// factor reads an operand with an optional sign.
func (p *parser) factor() (*Expr, error) {
	at := p.tok
	if !at.is("-") && !at.is("+") {
		return p.primary()
	}
	p.advance()

	e, err := p.factor()
	if err != nil {
		return nil, err
	}

	// A sign belongs only to a literal number, which has one minus at most.
	if e.op == opValue && e.value.Kind == attr.N && !e.parameter && !strings.HasPrefix(e.text, "-") {
		if at.is("-") {
			e.text = "-" + e.text
		}

		return e, nil
	}

	return nil, errorf("Incorrect number of operands for operator or function; operator or function: %s, number of operands: 1", at.text)
}

// primary reads a literal, a parameter, a path, a call, or anything in parentheses.
func (p *parser) primary() (*Expr, error) {
	at := p.tok

	switch {
	case at.kind == kText:
		p.advance()
		return &Expr{op: opValue, value: attr.Value{Kind: attr.S, Str: at.text}, at: at}, nil
	case at.kind == kNumber:
		p.advance()
		return p.number(at)
	case at.kind == kParameter:
		p.advance()
		return p.param(at), nil
	case p.accept("("):
		return p.parentheses(at)
	case p.accept("["):
		return p.list(opList, "]", at)
	case p.accept("<<"):
		return p.list(opBag, ">>", at)
	case p.accept("{"):
		return p.structure(at)
	// Before a parenthesis all words are functions but these: IN (...) and AND (...) are not calls.
	case at.kind == kWord && !at.isWord("AND", "BETWEEN", "FALSE", "IN", "IS", "LIKE", "MISSING", "NULL", "OR", "TRUE") && scan(p.src, at.end).is("("):
		return p.call(at)
	case p.isName():
		return p.path()
	case at.isWord("TRUE", "FALSE"):
		p.advance()
		return &Expr{op: opValue, value: attr.Value{Kind: attr.BOOL, Bool: at.upper == "TRUE"}, at: at}, nil
	case at.isWord("NULL"):
		p.advance()
		return &Expr{op: opValue, value: attr.Value{Kind: attr.NULL, Bool: true}, at: at}, nil
	case at.isWord("MISSING"):
		p.advance()
		return &Expr{op: opMissing, at: at}, nil
	case at.isWord("SELECT", "CASE", "CAST", "EXISTS"):
		return nil, errorf("Unsupported token in expression: %s at %s", at.upper, p.position(at))
	default:
		return nil, p.unexpected("Unexpected term")
	}
}

// number returns a literal number. Its scale must fit in 32 bits.
func (p *parser) number(at token) (*Expr, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(at.text), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")

	if exponent != "" {
		n, err := strconv.ParseInt(exponent, 10, 64)
		if scale := int64(len(fraction)) - n; err != nil || n > math.MaxInt32 || n < math.MinInt32 || scale > math.MaxInt32 || scale < math.MinInt32 {
			return nil, malformed("")
		}
	}

	// The value follows when the sign is known.
	return &Expr{op: opValue, value: attr.Value{Kind: attr.N}, text: at.text, at: at}, nil
}

// param returns the value of the next parameter.
func (p *parser) param(at token) *Expr {
	e := &Expr{op: opValue, parameter: true, at: at}

	// Parse reports missing values after the faults of the syntax.
	if p.used < len(p.params) {
		e.value = p.params[p.used]
	}
	p.used++

	return e
}

// parentheses reads what follows an opening parenthesis: an expression, or a list.
func (p *parser) parentheses(at token) (*Expr, error) {
	e, err := p.expression()
	if err != nil {
		return nil, err
	}

	// Without a comma the parentheses only group.
	if p.accept(",") {
		l, err := p.list(opList, ")", at)
		if err != nil {
			return nil, err
		}
		l.args = append([]*Expr{e}, l.args...)

		return l, nil
	}

	return e, p.expect(")")
}

// list reads the elements of a list or bag and its end.
func (p *parser) list(o op, end string, at token) (*Expr, error) {
	e := &Expr{op: o, at: at}
	if p.accept(end) {
		return e, nil
	}

	for {
		element, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, element)

		if !p.accept(",") {
			return e, p.expect(end)
		}
	}
}

// structure reads the members of a struct and its end.
func (p *parser) structure(at token) (*Expr, error) {
	e := &Expr{op: opStruct, at: at}
	if p.accept("}") {
		return e, nil
	}

	for {
		key, err := p.expression()
		if err != nil {
			return nil, err
		}

		if err := p.expect(":"); err != nil {
			return nil, err
		}

		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.keys, e.args = append(e.keys, key), append(e.args, value)

		if !p.accept(",") {
			return e, p.expect("}")
		}
	}
}

// call reads name(operand, ...).
func (p *parser) call(at token) (*Expr, error) {
	p.advance()
	p.advance() // the parenthesis

	if p.tok.is("*") && scan(p.src, p.tok.end).is(")") {
		p.advance() // count(*), which is no function here
	}

	e, err := p.list(opCall, ")", at)
	if err != nil {
		return nil, err
	}

	// Names of functions are case-insensitive here, but not in expressions.
	e.text = strings.ToLower(at.text)

	return e, nil
}

// member reads the name after a dot.
func (p *parser) member() (expression.Step, error) {
	at := p.tok

	switch {
	case at.is("*"):
		return expression.Step{}, errorf("Unpivot path component like a.*.b are not supported at %s", p.position(at))
	case at.kind != kQuoted && at.kind != kWord:
		return expression.Step{}, p.unexpected("Invalid path dot component")
	case at.kind == kWord && keywords[at.upper]:
		return expression.Step{}, malformed("Invalid path dot component")
	case at.text == "":
		return expression.Step{}, errorf(msgEmptyName)
	}
	p.advance()

	return expression.Step{Name: at.text}, nil
}

// element reads the index or name after an opening bracket.
func (p *parser) element() (expression.Step, error) {
	if p.tok.is("*") {
		return expression.Step{}, errorf("Wildcard path component like a[*].b are not supported at %s", p.position(p.tok))
	}

	e, err := p.expression()
	if err != nil {
		return expression.Step{}, err
	}

	if err := p.expect("]"); err != nil {
		return expression.Step{}, err
	}

	switch {
	case e.op == opValue && e.value.Kind == attr.N && !e.parameter:
		// A number with a point or an exponent is no index, either.
		n, err := strconv.ParseInt(e.text, 10, 32)
		if err != nil || n < 0 {
			return expression.Step{}, errorf("List index is not within the allowable range; index: [%s] at %s", e.text, p.position(e.at))
		}

		return expression.Step{List: true, Index: int(n)}, nil
	case e.op == opValue && e.value.Kind == attr.S && !e.parameter && e.value.Str != "":
		return expression.Step{Name: e.value.Str}, nil
	default:
		return expression.Step{}, errorf("Unexpected path component at %s", p.position(e.at))
	}
}

// position returns where a token is: line, column and length, in characters from 1.
func (p *parser) position(t token) string { return position(p.src, t) }

func position(src string, t token) string {
	before := src[:t.start]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])

	return fmt.Sprintf("%d:%d:%d", line, column, utf8.RuneCountInString(src[t.start:t.end]))
}
