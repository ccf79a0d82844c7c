package statements

import (
	"bytes"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Source is what a SELECT reads: a table or one of its indexes.
type Source struct {
	keyspace.Space
	Table *keyspace.Space
	Index *indexes.Index // nil for the table itself
}

// Plan says how a SELECT reads: ranges of store keys, one after the other, each in the same
// direction.
type Plan struct {
	Ranges  []Range
	Reverse bool
}

// Range is a range of store keys.
type Range struct{ Lo, Hi []byte }

// Plan returns the ranges that hold every item for which the WHERE clause can be true.
func (v *Source) Plan(stmt *partiql.Statement) (*Plan, error) {
	hashes, sort, err := v.keyConditions(stmt.Where)
	if err != nil {
		return nil, err
	}

	p := &Plan{}
	if err := v.order(p, stmt, hashes); err != nil {
		return nil, err
	}

	if err := v.checkFilterOf(stmt, hashes != nil); err != nil {
		return nil, err
	}

	if hashes == nil {
		p.Ranges = []Range{{v.Prefix, store.PrefixEnd(v.Prefix)}}
		return p, nil
	}

	for _, h := range hashes {
		lo, hi, err := v.Bounds(&expression.KeyCondition{Hash: h, Range: sort})
		if err != nil {
			return nil, err
		}
		p.Ranges = append(p.Ranges, Range{lo, hi})
	}

	return p, nil
}

// After returns the ranges that are left behind the store key of the last item of the page before.
func (p *Plan) After(at []byte) ([]Range, error) {
	// The page before ended in one of the ranges; all earlier ranges are done.
	for i, r := range p.Ranges {
		if bytes.Compare(at, r.Lo) < 0 || bytes.Compare(at, r.Hi) >= 0 {
			continue
		}

		if p.Reverse {
			r.Hi = at
		} else {
			r.Lo = append(at, 0)
		}

		return append([]Range{r}, p.Ranges[i+1:]...), nil
	}

	return nil, RefusedToken()
}

// rangeOps are the comparisons that narrow a sort key.
var rangeOps = map[string]expression.RangeOp{
	"=": expression.RangeEqual, "<": expression.RangeLess, "<=": expression.RangeLessEqual, ">": expression.RangeGreater,
	">=": expression.RangeGreaterEqual, "BETWEEN": expression.RangeBetween, "begins_with": expression.RangeBeginsWith,
}

// keyConditions returns the partition keys to which the clause restricts the items, in order,
// nil for no restriction, and the first restriction of the sort key.
func (v *Source) keyConditions(where *partiql.Expr) (hashes []attr.Value, sort expression.Range, err error) {
	for _, e := range where.Conjuncts() {
		c, ok := e.Comparison()

		// The first condition narrows the ranges. Further ones only filter.
		if !ok || c.Name != v.Keys.Hash.Name || hashes != nil || c.Operator != "=" && c.Operator != "IN" {
			continue
		}

		if slices.ContainsFunc(c.Values, func(h attr.Value) bool { return h.Kind != v.Keys.Hash.Kind }) {
			return nil, sort, keyTypeMismatch(v.Keys.Hash)
		}
		hashes = sortedValues(c.Values)
	}

	for _, e := range where.Conjuncts() {
		c, ok := e.Comparison()

		// The sort key narrows the ranges only within known partitions.
		if !ok || hashes == nil || v.Keys.Range.Name == "" || c.Name != v.Keys.Range.Name || sort.Op != expression.RangeNone || rangeOps[c.Operator] == expression.RangeNone {
			continue
		}

		if slices.ContainsFunc(c.Values, func(r attr.Value) bool { return r.Kind != v.Keys.Range.Kind }) {
			return nil, sort, keyTypeMismatch(v.Keys.Range)
		}

		sort = expression.Range{Op: rangeOps[c.Operator], Lo: c.Values[0]}
		if sort.Op == expression.RangeBetween {
			sort.Hi = c.Values[1]
		}
	}

	return hashes, sort, v.checkKeyKinds(where)
}

// checkKeyKinds refuses comparisons of key attributes with values of other types, wherever
// they stand.
func (v *Source) checkKeyKinds(where *partiql.Expr) error {
	for _, c := range where.Comparisons() {
		for _, k := range v.Keys.Attrs() {
			if c.Name == k.Name && c.Operator != "begins_with" && slices.ContainsFunc(c.Values, func(x attr.Value) bool { return x.Kind != k.Kind }) {
				return wire.Invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
			}
		}
	}

	return nil
}

// sortedValues returns the values in order, each once.
func sortedValues(values []attr.Value) []attr.Value {
	sorted := slices.SortedFunc(slices.Values(values), func(a, b attr.Value) int {
		// They have an order: keyConditions has checked their types.
		order, _ := attr.Compare(a, b)
		return order
	})

	return slices.CompactFunc(sorted, attr.Equal)
}

// order checks the ORDER BY clause and sets the order of the partitions and of the items in
// them.
func (v *Source) order(p *Plan, stmt *partiql.Statement, hashes []attr.Value) error {
	if stmt.Order == nil {
		return nil
	}

	if stmt.Where == nil {
		return wire.Invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
	}

	for _, o := range stmt.Order {
		switch {
		case !v.Keys.Has(o.Name):
			return wire.Invalid("Variable reference %s in ORDER BY clause must be part of the primary key", o.Name)
		case hashes == nil:
			return wire.Invalid("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
		case o.Name == v.Keys.Range.Name:
			p.Reverse = o.Descending
		// Only the partition key is left. Its values are read in the order of hashes.
		case o.Descending:
			slices.Reverse(hashes)
		}
	}

	return nil
}

// checkFilterOf refuses a filter by attributes that the index does not have, if the index is
// read by key.
func (v *Source) checkFilterOf(stmt *partiql.Statement, keyed bool) error {
	if v.Index == nil || !keyed {
		return nil
	}

	var lacking []string
	for _, name := range stmt.Condition.TopLevel() {
		if !v.Index.Projects(v.Table, name) {
			lacking = append(lacking, name)
		}
	}

	if lacking == nil {
		return nil
	}

	return wire.Invalid("One or more parameter values were invalid: Secondary index %s does not project one or more filter attributes: %s", v.Index.Name, model.List(lacking))
}
