package partiql

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// parser reads a statement by recursive descent.
type parser struct {
	src    string
	tok    token
	params []attr.Value
	// used counts the parameters of the statement so far.
	used int
	// badIn is set if an IN does not have a path before it and values behind it.
	badIn bool
}

// syntax is a statement as it is written, before anything in it is checked.
type syntax struct {
	Statement

	item        *Expr
	assignments []assignment
	returning   string // the RETURNING clause, in upper case
}

// assignment is one SET path = value, or one REMOVE path (without a value).
type assignment struct{ path, value *Expr }

// Parse reads a statement whose parameters have these values. More values than parameters are
// no error, as in DynamoDB Local.
func Parse(src string, params []attr.Value) (*Statement, error) {
	p := &parser{src: src, params: params}
	p.tok = scan(src, 0)

	s, err := p.statement()
	if err == nil {
		err = p.finish()
	}

	if err != nil {
		return nil, err
	}

	// From here on the syntax is right: its faults are reported before all others.
	if p.badIn {
		return nil, errorf(msgBadIn)
	}

	if p.used > len(params) {
		return nil, errorf("Number of parameters in request and statement don't match.")
	}

	for _, v := range params {
		if err := v.Err(); err != nil {
			return nil, err
		}
	}

	if err := s.build(src); err != nil {
		return nil, err
	}

	return &s.Statement, nil
}

func (p *parser) advance() { p.tok = scan(p.src, p.tok.end) }

// accept moves past the current token if it is this mark.
func (p *parser) accept(mark string) bool {
	if !p.tok.is(mark) {
		return false
	}
	p.advance()

	return true
}

// acceptWord moves past the current token if it is this keyword.
func (p *parser) acceptWord(word string) bool {
	if !p.tok.isWord(word) {
		return false
	}
	p.advance()

	return true
}

// unexpected is the error for the current token.
func (p *parser) unexpected(detail string) *Error {
	switch {
	case p.tok.kind == kBad:
		return malformed("")
	case p.tok.kind == kWord && keywords[p.tok.upper] && detail != msgLeftover:
		return malformed(detail + `; a name that is a keyword needs quotes: "` + p.tok.text + `"`)
	default:
		return malformed(detail)
	}
}

func (p *parser) expect(mark string) error {
	if !p.accept(mark) {
		return p.unexpected("Expected " + mark)
	}

	return nil
}

func (p *parser) expectWord(word string) error {
	if !p.acceptWord(word) {
		return p.unexpected("Expected keyword " + word)
	}

	return nil
}

func (p *parser) finish() error {
	// A semicolon may end the statement, but no second statement may follow.
	p.accept(";")

	if p.tok.kind != kEnd {
		return p.unexpected(msgLeftover)
	}

	return nil
}

func (p *parser) statement() (*syntax, error) {
	s := &syntax{}

	switch {
	case p.acceptWord("SELECT"):
		return s, p.selection(s)
	case p.acceptWord("INSERT"):
		return s, p.insertion(s)
	case p.acceptWord("UPDATE"):
		return s, p.update(s)
	case p.acceptWord("DELETE"):
		return s, p.deletion(s)
	case p.acceptWord("FROM"):
		return s, p.updateFrom(s)
	case p.acceptWord("EXISTS"):
		return s, p.existence(s)
	default:
		return nil, p.unexpected(msgNoCommand)
	}
}

// source reads the table, with an index after a dot.
func (p *parser) source(s *syntax, mayHaveAlias bool) error {
	var parts []string
	for {
		if !p.isName() {
			return p.unexpected("Expected a table name")
		}

		if p.tok.text == "" {
			return errorf(msgEmptyName)
		}
		parts = append(parts, p.tok.text)
		p.advance()

		if !p.accept(".") {
			break
		}
	}

	switch {
	// Two parts are a table and its index, which only a SELECT can read.
	case (s.Command == Update || s.Command == Delete) && len(parts) == 2:
		return errorf(msgOnIndex)
	case s.Command == Update && len(parts) > 1:
		return errorf(msgTableName)
	case s.Command != Select && len(parts) > 1:
		return errorf(msgOneTable)
	case len(parts) > 2:
		return errorf("A path may contain at most 2 components in the FROM clause")
	case len(parts) == 2:
		s.Index = parts[1]
	}
	s.Table = parts[0]

	// An INSERT has no alias: the caller finds such a word left over.
	if mayHaveAlias && (p.tok.isWord("AS") || p.isName()) {
		return errorf(msgAlias)
	}

	return nil
}

// where reads an optional WHERE clause.
func (p *parser) where(s *syntax) (err error) {
	if p.acceptWord("WHERE") {
		s.Where, err = p.expression()
	}

	return err
}

// isName reports whether the current token is a name: a word that is no keyword, or any
// text in double quotes.
func (p *parser) isName() bool {
	return p.tok.kind == kQuoted || p.tok.kind == kWord && !keywords[p.tok.upper]
}

// path reads a document path.
func (p *parser) path() (*Expr, error) {
	e := &Expr{op: opPath, at: p.tok}
	if p.tok.text == "" {
		return nil, errorf(msgEmptyName)
	}
	e.path = expression.Path{{Name: p.tok.text}}
	p.advance()

	for {
		var step expression.Step
		var err error

		switch {
		case p.accept("."):
			step, err = p.member()
		case p.accept("["):
			step, err = p.element()
		default:
			return e, nil
		}

		if err != nil {
			return nil, err
		}
		e.path = append(e.path, step)
	}
}
