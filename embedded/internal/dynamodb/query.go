package dynamodb

import (
	"bytes"
	"context"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/store"
)

type queryIn struct {
	pageIn
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

func (s *Service) query(_ context.Context, in *queryIn) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}

	t, err := s.lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	if in.KeyConditionExpression == nil {
		used := in.FilterExpression != nil || in.ProjectionExpression != nil
		if _, err := in.params("FilterExpression and KeyConditionExpression are", used); err != nil {
			return nil, err
		}

		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}

	p, err := in.params("", true)
	if err != nil {
		return nil, err
	}

	cond, err := expression.ParseKeyCondition(*in.KeyConditionExpression, t.keys.Hash.Name, t.keys.Range.Name, p)
	if err != nil {
		return nil, err
	}

	pg := &page{in: &in.pageIn, table: t}
	if err := pg.expressions(p); err != nil {
		return nil, err
	}

	if err := p.Unused(); err != nil {
		return nil, err
	}

	if err := t.checkFilter(pg.filter); err != nil {
		return nil, err
	}

	lo, hi, err := t.bounds(cond)
	if err != nil {
		return nil, err
	}

	reverse := in.ScanIndexForward != nil && !*in.ScanIndexForward
	if in.ExclusiveStartKey != nil {
		if lo, hi, err = t.startAfter(in.ExclusiveStartKey, cond, lo, hi, reverse); err != nil {
			return nil, err
		}
	}

	if bytes.Compare(lo, hi) < 0 {
		if err := pg.read(s, lo, hi, reverse); err != nil {
			return nil, err
		}
	}
	s.charge(pg.table.name, readUnits(pg.bytes, pg.in.ConsistentRead), 0)

	return pg.answer(), nil
}

// checkFilter refuses a filter of a Query that reads key attributes.
func (t *table) checkFilter(filter *expression.Condition) error {
	if filter == nil {
		return nil
	}

	for _, path := range filter.Paths() {
		switch name := path[0].Name; {
		case !t.keys.has(name):
		case len(path) > 1:
			return invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", name)
		default:
			return invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
		}
	}

	return nil
}

// bounds returns the range of store keys that a key condition covers.
func (t *table) bounds(c *expression.KeyCondition) (lo, hi []byte, err error) {
	if err := t.checkConditionKind(t.keys.Hash, c.Hash); err != nil {
		return nil, nil, err
	}

	if err := checkKeyValue(t.keys.Hash.Name, c.Hash); err != nil {
		return nil, nil, err
	}

	prefix, _ := t.partitionKey(c.Hash)
	end := store.PrefixEnd(prefix)
	r := c.Range
	if r.Op == expression.RangeNone {
		return prefix, end, nil
	}

	if err := t.checkConditionKind(t.keys.Range, r.Lo); err != nil {
		return nil, nil, err
	}

	if err := checkKeyValue(t.keys.Range.Name, r.Lo); err != nil {
		return nil, nil, err
	}

	if r.Op == expression.RangeBeginsWith {
		if r.Lo.Kind == attr.N {
			return nil, nil, invalid("Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
		}
		lo = attr.AppendKeyPrefix(bytes.Clone(prefix), r.Lo)

		return lo, store.PrefixEnd(lo), nil
	}

	at := attr.AppendKey(bytes.Clone(prefix), r.Lo)
	above := append(bytes.Clone(at), 0) // the smallest key above at
	switch r.Op {
	case expression.RangeEqual:
		return at, above, nil
	case expression.RangeLess:
		return prefix, at, nil
	case expression.RangeLessEqual:
		return prefix, above, nil
	case expression.RangeGreater:
		return above, end, nil
	case expression.RangeGreaterEqual:
		return at, end, nil
	default: // RangeBetween
		if err := t.checkConditionKind(t.keys.Range, r.Hi); err != nil {
			return nil, nil, err
		}

		if err := checkKeyValue(t.keys.Range.Name, r.Hi); err != nil {
			return nil, nil, err
		}

		return at, append(attr.AppendKey(bytes.Clone(prefix), r.Hi), 0), nil
	}
}

func (t *table) checkConditionKind(k keyAttr, v attr.Value) error {
	if v.Kind == k.Kind {
		return nil
	}
	return invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
}

// startAfter narrows the bounds to what comes after the start key.
func (t *table) startAfter(start attr.Item, c *expression.KeyCondition, lo, hi []byte, reverse bool) (_, _ []byte, err error) {
	key, err := t.keyOf(start)
	if err != nil {
		return nil, nil, invalid("The provided starting key is invalid: %s", message(err))
	}

	if !attr.Equal(start[t.keys.Hash.Name], c.Hash) {
		return nil, nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
	}

	if bytes.Compare(key.bytes, lo) < 0 || bytes.Compare(key.bytes, hi) >= 0 {
		return nil, nil, invalid("The provided starting key does not match the range key predicate")
	}

	if reverse {
		return lo, key.bytes, nil
	}

	return append(key.bytes, 0), hi, nil
}
