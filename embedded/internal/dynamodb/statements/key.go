package statements

import (
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/wire"
)

func keyTypeMismatch(k keyspace.Attr) error {
	return &keyspace.Mismatch{Err: wire.Invalid("Key attribute's data type should match its data type in table's schema: Key %s", k.Name)}
}

// ErrNoKey is the error of a WHERE clause that names no key.
var ErrNoKey = &keyspace.Mismatch{Err: wire.Invalid("Where clause does not contain a mandatory equality on all key attributes")}

// Key returns the key that the WHERE clause names: every key attribute must be equal
// to a value, or it fails with ErrNoKey.
func Key(keys *keyspace.Schema, where *partiql.Expr) (attr.Item, error) {
	key := attr.Item{}
	for _, k := range keys.Attrs() {
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

	if len(key) < len(keys.Attrs()) {
		return nil, ErrNoKey
	}

	return key, nil
}

// CheckInsert checks the key of an item in the words of PartiQL. PutItem has words of its own.
func CheckInsert(keys *keyspace.Schema, item attr.Item) error {
	for _, k := range keys.Attrs() {
		v, ok := item[k.Name]
		if !ok {
			return &keyspace.Mismatch{Err: wire.Invalid("Key attribute should be present in the item: Key %s", k.Name)}
		}

		if v.Kind != k.Kind {
			return keyTypeMismatch(k)
		}
	}

	return nil
}

// CheckKeyPaths refuses paths into key attributes.
func CheckKeyPaths(keys *keyspace.Schema, stmt *partiql.Statement) error {
	paths := stmt.Columns
	if stmt.Condition != nil {
		paths = slices.Concat(paths, stmt.Condition.Paths())
	}

	for _, p := range paths {
		if len(p) > 1 && keys.Has(p[0].Name) {
			return wire.Invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", p[0].Name)
		}
	}

	return nil
}
