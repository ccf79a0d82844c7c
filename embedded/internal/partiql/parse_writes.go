package partiql

// insertion reads what follows INSERT.
func (p *parser) insertion(s *syntax) error {
	s.Command = Insert

	if err := p.expectWord("INTO"); err != nil {
		return err
	}

	if err := p.source(s, false); err != nil {
		return err
	}

	// PartiQL has these forms of INSERT, and DynamoDB does not.
	if p.tok.isWord("VALUES") || p.tok.is("{") {
		return errorf("Unsupported operation: InsertOp")
	}

	if !p.acceptWord("VALUE") {
		return p.unexpected(msgLeftover)
	}

	var err error
	if s.item, err = p.expression(); err != nil {
		return err
	}

	if p.tok.isWord("RETURNING") {
		return errorf("RETURNING is not supported in INSERT")
	}

	return nil
}

// update reads what follows UPDATE.
func (p *parser) update(s *syntax) error {
	s.Command = Update
	if err := p.source(s, true); err != nil {
		return err
	}

	if err := p.sets(s); err != nil {
		return err
	}

	if err := p.where(s); err != nil {
		return err
	}

	return p.returning(s)
}

// updateFrom reads what follows FROM: an update whose WHERE clause stands first.
func (p *parser) updateFrom(s *syntax) error {
	s.Command = Update
	if err := p.source(s, true); err != nil {
		return err
	}

	if err := p.where(s); err != nil {
		return err
	}

	if err := p.sets(s); err != nil {
		return err
	}

	return p.returning(s)
}

// deletion reads what follows DELETE.
func (p *parser) deletion(s *syntax) error {
	s.Command = Delete

	if err := p.expectWord("FROM"); err != nil {
		return err
	}

	if err := p.source(s, true); err != nil {
		return err
	}

	if err := p.where(s); err != nil {
		return err
	}

	return p.returning(s)
}

// existence reads what follows EXISTS.
func (p *parser) existence(s *syntax) error {
	if err := p.expect("("); err != nil {
		return err
	}

	if err := p.expectWord("SELECT"); err != nil {
		return err
	}

	if err := p.selection(s); err != nil {
		return err
	}

	// The command is set only now: selection reads a SELECT, whose table may have an index.
	s.Command = Exists

	return p.expect(")")
}

// sets reads SET and REMOVE clauses, one at least.
func (p *parser) sets(s *syntax) error {
	for {
		switch {
		case p.acceptWord("SET"):
			if err := p.setList(s); err != nil {
				return err
			}
		case p.acceptWord("REMOVE"):
			path, err := p.target()
			if err != nil {
				return err
			}

			// REMOVE takes one path: a further path needs a REMOVE of its own.
			s.assignments = append(s.assignments, assignment{path: path})
		case len(s.assignments) == 0:
			return p.unexpected("Expected SET or REMOVE")
		default:
			return nil
		}
	}
}

func (p *parser) setList(s *syntax) error {
	for {
		path, err := p.target()
		if err != nil {
			return err
		}

		if err := p.expect("="); err != nil {
			return err
		}

		value, err := p.expression()
		if err != nil {
			return err
		}
		s.assignments = append(s.assignments, assignment{path, value})

		if !p.accept(",") {
			return nil
		}
	}
}

// target reads a path that an update writes.
func (p *parser) target() (*Expr, error) {
	if !p.isName() {
		return nil, p.unexpected("Expected a path")
	}

	return p.path()
}

// returning reads an optional RETURNING clause.
func (p *parser) returning(s *syntax) error {
	if !p.acceptWord("RETURNING") {
		return nil
	}

	// Both words are checked before the first is passed, so that the error is at the first one.
	what, which := p.tok, scan(p.src, p.tok.end)
	if !what.isWord("ALL", "MODIFIED") || !which.isWord("OLD", "NEW") {
		return p.unexpected("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
	}
	p.advance()
	p.advance()

	if !p.tok.is("*") {
		return errorf("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
	}
	s.returning = "RETURNING " + what.upper + " " + which.upper + " *"
	p.advance()
	s.Returning = map[string]string{"ALL": "ALL_", "MODIFIED": "UPDATED_"}[what.upper] + which.upper

	return nil
}
