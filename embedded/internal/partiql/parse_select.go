package partiql

import (
	"slices"
	"strconv"

	"ratchet/embedded/internal/expression"
)

// selection reads what follows SELECT.
func (p *parser) selection(s *syntax) error {
	s.Command = Select

	switch {
	// PartiQL has these clauses. DynamoDB refuses them with messages of their own.
	case p.tok.isWord("VALUE", "PIVOT"):
		return errorf("Select projection doesn't support value or pivot keywords")
	case p.tok.isWord("DISTINCT"):
		return errorf("Unsupported token in expression: DISTINCT")
	}

	if !p.accept("*") {
		if err := p.columns(s); err != nil {
			return err
		}
	}

	if err := p.expectWord("FROM"); err != nil {
		return err
	}

	if p.tok.is("(") {
		return errorf("Unexpected from source")
	}

	if err := p.source(s, true); err != nil {
		return err
	}

	if p.tok.is(",") {
		return errorf("Only select from a single table or index is supported.")
	}

	if err := p.where(s); err != nil {
		return err
	}

	return p.tail(s)
}

// columns reads the columns of a SELECT.
func (p *parser) columns(s *syntax) error {
	var names []string
	for {
		e, err := p.expression()
		if err != nil {
			return err
		}

		if e.op != opPath {
			return errorf("Unexpected path component at %s", p.position(e.at))
		}

		// An alias may stand without AS.
		if p.tok.isWord("AS") || p.isName() {
			return errorf(msgAlias)
		}

		name := ColumnName(e.path)
		if slices.Contains(names, name) {
			return errorf("Duplicate identifiers in select clause: %s", name)
		}
		names, s.Columns = append(names, name), append(s.Columns, e.path)

		if !p.accept(",") {
			return nil
		}
	}
}

// ColumnName returns the identifier of a column: the last member of its path, with the indexes
// behind it.
func ColumnName(path expression.Path) (name string) {
	for _, step := range slices.Backward(path) {
		if !step.List {
			return step.Name + name
		}
		name = step.String() + name
	}

	return name
}

// tail reads what follows the WHERE clause of a SELECT.
func (p *parser) tail(s *syntax) error {
	switch {
	case p.tok.isWord("GROUP"):
		return errorf("Unsupported clause: GROUP BY")
	case p.tok.isWord("HAVING", "LIMIT", "OFFSET"):
		// The operand is read first, because the message has its position.
		clause := p.tok.upper
		p.advance()

		e, err := p.expression()
		if err != nil {
			return err
		}

		return errorf("Unsupported clause: %s at %s", clause, p.position(e.at))
	case !p.tok.isWord("ORDER"):
		return nil
	}
	p.advance()

	if err := p.expectWord("BY"); err != nil {
		return err
	}

	for {
		e, err := p.expression()
		if err != nil {
			return err
		}

		if e.op != opPath || len(e.path) > 1 {
			what := p.src[e.at.start:e.at.end]
			if e.at.kind == kText {
				what = strconv.Quote(e.at.text)
			}

			return errorf("Argument to ORDER BY must be of type VariableReference. Type: %s", what)
		}

		descending := p.acceptWord("DESC")
		if !descending {
			p.acceptWord("ASC")
		}
		s.Order = append(s.Order, Order{Name: e.path[0].Name, Descending: descending})

		if !p.accept(",") {
			return nil
		}
	}
}
