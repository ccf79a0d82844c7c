package dynamodb

import (
	"bytes"

	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/pages"
	"ratchet/embedded/internal/dynamodb/statements"
	"ratchet/embedded/internal/dynamodb/views"
	"ratchet/embedded/internal/partiql"
)

// executeSelect reads one page of a SELECT. The WHERE clause is the filter of every item; its
// conditions on the key narrow the ranges that are read.
func (s *Service) executeSelect(in *executeStatementIn, stmt *partiql.Statement) (any, error) {
	t, err := s.tables.Lookup(&stmt.Table)
	if err != nil {
		return nil, err
	}

	v, err := statementView(t, stmt, in.ConsistentRead)
	if err != nil {
		return nil, err
	}

	plan, err := (&statements.Source{Space: v.Space, Table: &t.Space, Index: v.Index}).Plan(stmt)
	if err != nil {
		return nil, err
	}

	pg := &pages.Page{
		In:     &pages.Request{ConsistentRead: in.ConsistentRead, Limit: in.Limit, ReturnConsumedCapacity: in.ReturnConsumedCapacity},
		View:   v,
		Filter: stmt.Condition,
		Shape:  statements.Row(stmt.Columns),
	}

	ranges := plan.Ranges
	if in.NextToken != nil {
		if ranges, err = resume(v, plan, &in.Request, *in.NextToken); err != nil {
			return nil, err
		}
	}

	// The ranges fill one page together: its limits count across them.
	for _, r := range ranges {
		if bytes.Compare(r.Lo, r.Hi) >= 0 {
			continue
		}

		if err := pg.Read(s.db, r.Lo, r.Hi, plan.Reverse); err != nil {
			return nil, err
		}

		if pg.Last != nil {
			break
		}
	}
	s.chargePage(pg)

	out := pg.Begin()
	if pg.Last != nil {
		out.Text("NextToken", in.TokenAfter(pg.Last))
	}
	capacity.Add(out, in.ReturnConsumedCapacity, t.Name, pg.Spent())

	return out.Done(), nil
}

// resume returns the ranges of the plan that are left after the page before the token.
func resume(v *views.View, p *statements.Plan, in *statements.Request, token string) ([]statements.Range, error) {
	last, err := in.ReadToken(token)
	if err != nil {
		return nil, err
	}

	// The key comes from the caller: it may lack attributes of the index, or have them with other types.
	if err := v.CheckScanStart(last); err != nil {
		return nil, statements.RefusedToken()
	}

	at, err := v.StartKey(last)
	if err != nil {
		return nil, statements.RefusedToken()
	}

	return p.After(at)
}

// statementView returns the table or the index that a SELECT reads.
func statementView(t *catalog.Table, stmt *partiql.Statement, consistent bool) (*views.View, error) {
	if err := statements.CheckKeyPaths(&t.Keys, stmt); err != nil {
		return nil, err
	}

	if stmt.Index == "" {
		return views.New(t, nil, "", false)
	}

	x := t.State().Record.IndexNamed(stmt.Index)
	switch {
	case x == nil:
		return nil, invalid("The table does not have the specified index")
	case x.Keys.IsMulti():
		return nil, multiKeyStatement()
	case !x.Local && consistent:
		return nil, invalid("Strongly consistent read is not supported on Global Secondary Indexes")
	}

	// views.New has the same checks in the words of a Query, and refuses an index that is being built.
	v, err := views.New(t, &stmt.Index, "", false)
	if err != nil {
		return nil, err
	}

	var lacking []string
	for _, path := range stmt.Columns {
		if name := path[0].Name; !x.Projects(&t.Space, name) {
			lacking = append(lacking, name)
		}
	}

	switch {
	case len(lacking) == 0:
	case x.Local:
		v.Fetch = true
	default:
		return nil, invalid("One or more parameter values were invalid: Global secondary index %s does not project %s", x.Name, model.List(lacking))
	}

	return v, nil
}
