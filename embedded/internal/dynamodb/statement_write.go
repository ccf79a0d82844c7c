package dynamodb

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/partiql"
)

// statementAction returns the action of an INSERT, UPDATE, DELETE or EXISTS. Its errors about
// the table's key are schemaErrors. returns is the ReturnValuesOnConditionCheckFailure.
func (s *Service) statementAction(stmt *partiql.Statement, returns string) (*action, error) {
	t, err := s.lookup(&stmt.Table)
	if err != nil {
		return nil, err
	}

	if stmt.Command == partiql.Insert {
		return newInsert(t, stmt.Item)
	}

	key, err := t.statementKey(stmt.Where)
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
func newInsert(t *table, item attr.Item) (*action, error) {
	// These errors are in the words of PartiQL. newPut has the words of PutItem.
	for _, k := range t.Keys.Attrs() {
		v, ok := item[k.Name]
		if !ok {
			return nil, &keyspace.Mismatch{Err: invalid("Key attribute should be present in the item: Key %s", k.Name)}
		}

		if v.Kind != k.Kind {
			return nil, keyTypeMismatch(k)
		}
	}

	a, err := newPut(t, item)
	if err != nil {
		return nil, err
	}
	a.insert = true

	return a, nil
}

func keyTypeMismatch(k keyspace.Attr) error {
	return &keyspace.Mismatch{Err: invalid("Key attribute's data type should match its data type in table's schema: Key %s", k.Name)}
}

// errNoKey is the error of a WHERE clause that names no key.
var errNoKey = &keyspace.Mismatch{Err: invalid("Where clause does not contain a mandatory equality on all key attributes")}

// statementKey returns the key that the WHERE clause names: every key attribute must be equal
// to a value, or it fails with errNoKey.
func (t *table) statementKey(where *partiql.Expr) (attr.Item, error) {
	key := attr.Item{}
	for _, k := range t.Keys.Attrs() {
		for _, e := range where.Conjuncts() {
			c, ok := e.Comparison()
			if !ok || c.Name != k.Name || c.Operator != "=" {
				continue
			}

			if c.Values[0].Kind != k.Kind {
				return nil, keyTypeMismatch(k)
			}
			key[k.Name] = c.Values[0]

			// A second equality is part of the condition.
			break
		}
	}

	if len(key) < len(t.Keys.Attrs()) {
		return nil, errNoKey
	}

	return key, nil
}
