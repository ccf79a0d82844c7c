package dynamodb

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/statements"
	"ratchet/embedded/internal/partiql"
)

// statementAction returns the action of an INSERT, UPDATE, DELETE or EXISTS. Its errors about
// the table's key are schemaErrors. returns is the ReturnValuesOnConditionCheckFailure.
func (s *Service) statementAction(stmt *partiql.Statement, returns string) (*action, error) {
	t, err := s.tables.Lookup(&stmt.Table)
	if err != nil {
		return nil, err
	}

	if stmt.Command == partiql.Insert {
		return newInsert(t, stmt.Item)
	}

	key, err := statements.Key(&t.Keys, stmt.Where)
	if err != nil {
		return nil, err
	}

	verbs := map[partiql.Command]verb{partiql.Update: update, partiql.Delete: remove, partiql.Exists: check}

	a, err := newKeyed(verbs[stmt.Command], t, key)
	if err != nil {
		return nil, err
	}

	// The WHERE clause compares the key, too, so that it does not hold for a missing item.
	a.cond = stmt.Condition
	a.returnOld = returns == "ALL_OLD"
	a.needOld = stmt.Returning == "ALL_OLD" || stmt.Returning == "UPDATED_OLD"

	switch stmt.Command {
	case partiql.Delete:
		// A DELETE of a missing item succeeds, as DeleteItem does. An UPDATE fails.
		a.mayMiss = true
	case partiql.Update:
		a.update = stmt.Update
		return a, a.keepsKey()
	}

	return a, nil
}

// newInsert returns the action that puts an item where there is none.
func newInsert(t *catalog.Table, item attr.Item) (*action, error) {
	if err := statements.CheckInsert(&t.Keys, item); err != nil {
		return nil, err
	}

	a, err := newPut(t, item)
	if err != nil {
		return nil, err
	}
	a.insert = true

	return a, nil
}
