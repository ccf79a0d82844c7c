package expression

import (
	"slices"
	"strings"
)

// multiCondition returns the condition on a key whose partition key or sort key has several
// attributes. It has an equality for each attribute of the partition key, and any comparisons for the
// first attributes of the sort key, all but the last of which are equalities.
// Source: https://github.com/paritysuite/dynamodb-conformance tests/tier1/query/multiAttributeGsiKey.test.ts;
// the partition key, and the order of the faults:
// https://docs.rs/crate/dynoxide-rs/3.2.0/source/tests/multi_attribute_keys.rs, recorded on the service
func (t *KeyTerms) multiCondition(schema KeySchema, before func(at int) error) (*KeyCondition, error) {
	keys := slices.Concat(schema.Hash, schema.Range)

	// Unlike for a key of single attributes, the start key is checked as a whole before the
	// conditions.
	for at := range keys {
		if err := before(at); err != nil {
			return nil, err
		}
	}

	if err := t.checkCount(len(keys)); err != nil {
		return nil, err
	}

	if missing := t.withoutEquality(schema.Hash); len(missing) > 0 {
		return nil, errorf("HASH key attributes %s must have equality conditions specified in the query", strings.Join(missing, ", "))
	}

	if err := t.checkKeys(schema, keys); err != nil {
		return nil, err
	}

	return t.bind(schema)
}

// withoutEquality returns the names of the keys that have no equality.
func (t *KeyTerms) withoutEquality(keys []Key) (names []string) {
	for _, key := range keys {
		if term, ok := t.of(key.Name); !ok || term.Op != RangeEqual {
			names = append(names, key.Name)
		}
	}

	return names
}

// checkKeys refuses comparisons of attributes that are no keys, and comparisons that a key does not
// take.
func (t *KeyTerms) checkKeys(schema KeySchema, keys []Key) error {
	for _, key := range keys {
		if term, ok := t.of(key.Name); ok {
			// false, because the equalities of the partition key were checked.
			if err := term.check(key, false); err != nil {
				return err
			}
		}
	}

	for _, term := range t.terms {
		if slices.ContainsFunc(keys, func(k Key) bool { return k.Name == term.name }) {
			continue
		}

		// There is one: each partition key attribute has a comparison, this one is of no key, and
		// there are no more comparisons than keys.
		free := slices.IndexFunc(schema.Range, func(k Key) bool {
			_, ok := t.of(k.Name)
			return !ok
		})

		return errorf("Query condition missed key schema element: %s", schema.Range[free].Name)
	}

	return nil
}

// bind returns the condition. The comparisons of the sort key must not leave out an attribute, and
// all but the last must be equalities.
func (t *KeyTerms) bind(schema KeySchema) (*KeyCondition, error) {
	var c KeyCondition
	for at, key := range schema.Hash {
		term, _ := t.of(key.Name)
		if at == 0 {
			c.Hash = term.Lo
		} else {
			c.MoreHash = append(c.MoreHash, term.Lo)
		}
	}

	// The last attribute that has a comparison. All attributes before it need equalities.
	last := len(schema.Range) - 1
	for ; last >= 0; last-- {
		if _, ok := t.of(schema.Range[last].Name); ok {
			break
		}
	}

	if last < 0 {
		return &c, nil
	}

	if missing := t.withoutEquality(schema.Range[:last]); len(missing) > 0 {
		return nil, errorf("RANGE key attributes %s must have equality conditions specified in the query because a condition is present on key attribute %s",
			strings.Join(missing, ", "), schema.Range[last].Name)
	}

	for _, key := range schema.Range[:last] {
		term, _ := t.of(key.Name)
		c.Equal = append(c.Equal, term.Lo)
	}

	term, _ := t.of(schema.Range[last].Name)
	c.Range = term.Range

	return &c, nil
}
