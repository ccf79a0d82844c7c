package dynamodb

import (
	"bytes"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/store"
)

// executeSelect reads one page of a SELECT. The WHERE clause is the filter of every item; its
// conditions on the key narrow the ranges that are read.
func (s *Service) executeSelect(in *executeStatementIn, stmt *partiql.Statement) (any, error) {
	t, err := s.lookup(&stmt.Table)
	if err != nil {
		return nil, err
	}

	v, err := statementView(t, stmt, in.ConsistentRead)
	if err != nil {
		return nil, err
	}

	plan, err := v.plan(stmt)
	if err != nil {
		return nil, err
	}

	pg := &page{
		in:     &pageIn{ConsistentRead: in.ConsistentRead, Limit: in.Limit, ReturnConsumedCapacity: in.ReturnConsumedCapacity},
		view:   v,
		filter: stmt.Condition,
		shape:  shapeOf(stmt.Columns),
	}

	ranges := plan.ranges
	if in.NextToken != nil {
		if ranges, err = plan.resume(v, &in.statementIn, *in.NextToken); err != nil {
			return nil, err
		}
	}

	// The ranges fill one page together: its limits count across them.
	for _, r := range ranges {
		if bytes.Compare(r.lo, r.hi) >= 0 {
			continue
		}

		if err := pg.read(s, r.lo, r.hi, plan.reverse); err != nil {
			return nil, err
		}

		if pg.last != nil {
			break
		}
	}
	pg.charge(s)

	out := pg.begin()
	if pg.last != nil {
		out.Text("NextToken", in.nextToken(pg.last))
	}
	capacity.Add(out, in.ReturnConsumedCapacity, t.name, pg.spent())

	return out.Done(), nil
}

// statementView returns the table or the index that a SELECT reads.
func statementView(t *table, stmt *partiql.Statement, consistent bool) (*view, error) {
	if err := checkKeyPaths(t, stmt); err != nil {
		return nil, err
	}

	if stmt.Index == "" {
		return &view{Space: t.Space, table: t}, nil
	}

	x := t.state.Load().record.IndexNamed(stmt.Index)
	switch {
	case x == nil:
		return nil, invalid("The table does not have the specified index")
	case x.Keys.IsMulti():
		return nil, multiKeyStatement()
	case !x.Local && consistent:
		return nil, invalid("Strongly consistent read is not supported on Global Secondary Indexes")
	}

	// view has the same checks in the words of a Query, and refuses an index that is being built.
	in := pageIn{IndexName: &stmt.Index}

	v, err := in.view(t)
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
		v.fetch = true
	default:
		return nil, invalid("One or more parameter values were invalid: Global secondary index %s does not project %s", x.Name, model.List(lacking))
	}

	return v, nil
}

// checkKeyPaths refuses paths into key attributes.
func checkKeyPaths(t *table, stmt *partiql.Statement) error {
	paths := stmt.Columns
	if stmt.Condition != nil {
		paths = slices.Concat(paths, stmt.Condition.Paths())
	}

	for _, p := range paths {
		if len(p) > 1 && t.Keys.Has(p[0].Name) {
			return invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", p[0].Name)
		}
	}

	return nil
}

// plan says how a SELECT reads: ranges of store keys, one after the other, each in the same
// direction.
type plan struct {
	ranges  []keyRange
	reverse bool
}

type keyRange struct{ lo, hi []byte }

// plan returns the ranges that hold every item for which the WHERE clause can be true.
func (v *view) plan(stmt *partiql.Statement) (*plan, error) {
	hashes, sort, err := v.keyConditions(stmt.Where)
	if err != nil {
		return nil, err
	}

	p := &plan{}
	if err := v.order(p, stmt, hashes); err != nil {
		return nil, err
	}

	if err := v.checkStatementFilter(stmt, hashes != nil); err != nil {
		return nil, err
	}

	if hashes == nil {
		p.ranges = []keyRange{{v.Prefix, store.PrefixEnd(v.Prefix)}}
		return p, nil
	}

	for _, h := range hashes {
		lo, hi, err := v.Bounds(&expression.KeyCondition{Hash: h, Range: sort})
		if err != nil {
			return nil, err
		}
		p.ranges = append(p.ranges, keyRange{lo, hi})
	}

	return p, nil
}

// rangeOps are the comparisons that narrow a sort key.
var rangeOps = map[string]expression.RangeOp{
	"=": expression.RangeEqual, "<": expression.RangeLess, "<=": expression.RangeLessEqual, ">": expression.RangeGreater,
	">=": expression.RangeGreaterEqual, "BETWEEN": expression.RangeBetween, "begins_with": expression.RangeBeginsWith,
}

// keyConditions returns the partition keys to which the clause restricts the items, in order,
// nil for no restriction, and the first restriction of the sort key.
func (v *view) keyConditions(where *partiql.Expr) (hashes []attr.Value, sort expression.Range, err error) {
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
func (v *view) checkKeyKinds(where *partiql.Expr) error {
	for _, c := range where.Comparisons() {
		for _, k := range v.Keys.Attrs() {
			if c.Name == k.Name && c.Operator != "begins_with" && slices.ContainsFunc(c.Values, func(x attr.Value) bool { return x.Kind != k.Kind }) {
				return invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
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
func (v *view) order(p *plan, stmt *partiql.Statement, hashes []attr.Value) error {
	if stmt.Order == nil {
		return nil
	}

	if stmt.Where == nil {
		return invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
	}

	for _, o := range stmt.Order {
		switch {
		case !v.Keys.Has(o.Name):
			return invalid("Variable reference %s in ORDER BY clause must be part of the primary key", o.Name)
		case hashes == nil:
			return invalid("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
		case o.Name == v.Keys.Range.Name:
			p.reverse = o.Descending
		// Only the partition key is left. Its values are read in the order of hashes.
		case o.Descending:
			slices.Reverse(hashes)
		}
	}

	return nil
}

// checkStatementFilter refuses a filter by attributes that the index does not have, if the index is
// read by key.
func (v *view) checkStatementFilter(stmt *partiql.Statement, keyed bool) error {
	if v.index == nil || !keyed {
		return nil
	}

	var lacking []string
	for _, name := range stmt.Condition.TopLevel() {
		if !v.index.Projects(&v.table.Space, name) {
			lacking = append(lacking, name)
		}
	}

	if lacking == nil {
		return nil
	}

	return invalid("One or more parameter values were invalid: Secondary index %s does not project one or more filter attributes: %s", v.index.Name, model.List(lacking))
}
