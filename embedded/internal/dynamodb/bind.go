package dynamodb

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/keyspace"
)

// Transactions and batches of writes are validated in two steps, as DynamoDB Local does it (see
// tests/conformance): first the values and expressions, for which the request itself is enough;
// then whether its tables exist and its keys fit. So each action is a draft first, and is bound to
// its table later. A single write looks for its table and key before its expressions.

// draftKeyed returns an action on the item with that key, before its table is known.
func draftKeyed(v verb, key attr.Item) (*action, error) {
	a := &action{verb: v, key: keyspace.Primary{Attrs: key}}

	return a, a.checkValues()
}

// checkValues checks the values of a draft's item or key.
func (a *action) checkValues() error {
	if a.verb != put {
		return a.key.Attrs.Err()
	}

	if err := a.item.Err(); err != nil {
		return err
	}

	if a.item.Size() > maxItem {
		return invalid("Item size has exceeded the maximum allowed size")
	}

	return nil
}

// bind checks a draft against its table.
func (a *action) bind(t *catalog.Table) (err error) {
	a.table = t

	if a.verb != put {
		if a.key, err = t.KeyOf(a.key.Attrs); err != nil || a.update == nil {
			return err
		}

		return a.keepsKey()
	}

	if a.key, err = t.KeyIn(a.item); err != nil {
		return err
	}

	// An update is checked later, when its new item is known.
	all := t.State().Record.Indexes
	for i := range all {
		if err := all[i].CheckItem(a.item, false); err != nil {
			return err
		}
	}

	return nil
}
