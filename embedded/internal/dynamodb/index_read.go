package dynamodb

import (
	"bytes"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
)

// view is what a Query or Scan reads: a table, or one of its indexes.
type view struct {
	keyspace
	table *table
	// index is nil for the table itself.
	index *indexRecord
	// fetch is set if the items are read from the table, because the entries of a local index
	// lack what the request asks for.
	fetch bool
}

// view returns what the request reads.
func (in *pageIn) view(t *table) (*view, error) {
	if in.IndexName == nil {
		if in.Select == "ALL_PROJECTED_ATTRIBUTES" {
			return nil, invalid("One or more parameter values were invalid: Select type ALL_PROJECTED_ATTRIBUTES is supported only for indexes")
		}

		return &view{keyspace: t.space(), table: t}, nil
	}

	x := t.state.Load().record.indexNamed(*in.IndexName)
	switch {
	case x == nil:
		return nil, invalid("The table does not have the specified index: %s", *in.IndexName)
	case x.Building:
		return nil, invalid("Cannot read from backfilling global secondary index: %s", x.Name)
	case !x.Local && in.ConsistentRead:
		return nil, invalid("Consistent reads are not supported on global secondary indexes")
	case !x.Local && in.Select == "ALL_ATTRIBUTES" && x.Projection != projectAll:
		return nil, invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.Name)
	}

	return &view{keyspace: x.space(), table: t, index: x, fetch: x.Local && in.Select == "ALL_ATTRIBUTES" && x.Projection != projectAll}, nil
}

// checkProjection refuses attributes that a global index does not have, and makes a local one
// fetch them from the table.
func (v *view) checkProjection(p *expression.Projection) error {
	if v.index == nil || p == nil {
		return nil
	}

	for _, name := range p.TopLevel() {
		switch {
		case v.index.projects(v.table, name):
		case v.index.Local:
			v.fetch = true
		default:
			return invalid("One or more parameter values were invalid: Global secondary index %s does not project [%s]", v.index.Name, name)
		}
	}

	return nil
}

// lastKey returns the LastEvaluatedKey of a page that ends with the item.
func (v *view) lastKey(item attr.Item) attr.Item {
	if v.index == nil {
		return v.table.keyAttrs(item)
	}

	return v.index.lastKey(v.table, item)
}

// startKey returns the store key that an ExclusiveStartKey names.
func (v *view) startKey(start attr.Item) ([]byte, error) {
	if v.index == nil {
		key, err := v.table.keyOf(start)
		if err != nil {
			return nil, invalid("The provided starting key is invalid: %s", message(err))
		}

		return key.bytes, nil
	}

	if err := start.Err(); err != nil {
		return nil, invalid("The provided starting key is invalid: %s", message(err))
	}

	want := definitions{}
	for _, k := range []keyAttr{v.table.keys.Hash, v.table.keys.Range, v.index.Keys.Hash, v.index.Keys.Range} {
		if k.Name != "" && !want.has(k.Name) {
			want = append(want, k)
		}
	}

	for _, k := range want {
		if start[k.Name].Kind != k.Kind || len(start) != len(want) {
			return nil, invalid("The provided starting key is invalid")
		}
	}

	key, err := v.table.primaryOf(v.table.keyAttrs(start))
	if err != nil {
		return nil, invalid("The provided starting key is invalid: %s", message(err))
	}

	return v.index.entryKey(v.table, start, key.bytes), nil
}

// startAfter narrows the bounds of a Query to what comes after the start key.
func (v *view) startAfter(start attr.Item, c *expression.KeyCondition, lo, hi []byte, reverse bool) (_, _ []byte, err error) {
	key, err := v.startKey(start)
	if err != nil {
		return nil, nil, err
	}

	if !attr.Equal(start[v.keys.Hash.Name], c.Hash) {
		return nil, nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
	}

	if bytes.Compare(key, lo) < 0 || bytes.Compare(key, hi) >= 0 {
		return nil, nil, invalid("The provided starting key does not match the range key predicate")
	}

	if reverse {
		return lo, key, nil
	}

	return append(key, 0), hi, nil
}

// spent returns what a page that cost so much consumed.
func (v *view) spent(units halfUnits) spent {
	if v.index == nil {
		return onTable(units)
	}

	return spent{indexes: []indexSpent{{v.index, units}}}
}

// itemOf returns the item of a stored value: an entry of the index, or the table's item where
// the entry does not have enough, with the bytes that were read for it.
func (s *Service) itemOf(v *view, raw stored) (item attr.Item, read int, err error) {
	if item, err = raw.item(); err != nil || !v.fetch {
		return item, raw.size(), err
	}

	key, err := v.table.primaryOf(v.table.keyAttrs(item))
	if err != nil {
		return nil, 0, err
	}

	whole, ok, err := s.db.Get(key.bytes)
	if err != nil || !ok {
		return item, raw.size(), err // the item went after the entry was read
	}

	item, err = stored(whole).item()

	return item, raw.size() + stored(whole).size(), err
}

// collection adds the metrics of the item's collection to the answer of a write, if the
// request asks for them and the table has a local index. The estimate is that of a collection
// below 1 GB.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections
func (a *answer) collection(want string, c *change) {
	indexes := c.state.record.Indexes
	if want != "SIZE" || !slices.ContainsFunc(indexes, func(x indexRecord) bool { return x.Local }) {
		return
	}

	hash := c.table.keys.Hash.Name
	a.name("ItemCollectionMetrics").buf = append(a.buf, `{"ItemCollectionKey":`...)
	a.buf = attr.Item{hash: c.key.attrs[hash]}.AppendJSON(a.buf)
	a.buf = append(a.buf, `,"SizeEstimateRangeGB":[0.0,1.0]}`...)
}
