package dynamodb

import (
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/expression"
)

// view is the table or the index that a Query or Scan reads.
type view struct {
	keyspace.Space
	table *catalog.Table
	// index is nil for the table itself.
	index *indexes.Index
	// fetch is set if the items are read from the table, because the entries of a local index lack
	// requested attributes.
	fetch bool
}

// view returns the table or the index that the request reads.
func (in *pageIn) view(t *catalog.Table) (*view, error) {
	if in.IndexName == nil {
		if in.Select == "ALL_PROJECTED_ATTRIBUTES" {
			return nil, invalid("One or more parameter values were invalid: Select type ALL_PROJECTED_ATTRIBUTES is supported only for indexes")
		}

		return &view{Space: t.Space, table: t}, nil
	}

	x := t.State().Record.IndexNamed(*in.IndexName)
	switch {
	case x == nil:
		return nil, invalid("The table does not have the specified index: %s", *in.IndexName)
	case x.Building:
		return nil, invalid("Cannot read from backfilling global secondary index: %s", x.Name)
	case !x.Local && in.ConsistentRead:
		return nil, invalid("Consistent reads are not supported on global secondary indexes")
	}

	return &view{Space: x.Space(), table: t, index: x, fetch: x.Local && in.Select == "ALL_ATTRIBUTES" && x.Projection != indexes.All}, nil
}

// checkThere fails if the table or the index is gone: the read may have missed entries that were deleted
// with it. Tables and indexes are removed before their data.
func (v *view) checkThere() error {
	state := v.table.State()
	switch {
	case state.Deleted:
		return catalog.Missing()
	case v.index == nil:
		return nil
	}

	// The index may have been deleted and created again since the request looked it up.
	if x := state.Record.IndexNamed(v.index.Name); x == nil || x.No != v.index.No {
		return invalid("The table does not have the specified index: %s", v.index.Name)
	}

	return nil
}

// checkAllAttributes refuses a Select of attributes that a global index does not have.
func (v *view) checkAllAttributes(selected string) error {
	x := v.index
	if selected != "ALL_ATTRIBUTES" || x == nil || x.Local || x.Projection == indexes.All {
		return nil
	}

	return invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.Name)
}

// checkFilterPaths refuses paths into key attributes in a filter.
func (v *view) checkFilterPaths(filter *expression.Condition) error {
	if filter == nil {
		return nil
	}

	return checkPaths(v.table, filter.Paths())
}

// checkPaths refuses paths into attributes that are keys of the table or of one of its indexes.
func checkPaths(t *catalog.Table, paths []expression.Path) error {
	const words = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "

	for _, path := range paths {
		if name := path[0].Name; len(path) > 1 && t.Keys.Has(name) {
			return invalid(words+"Key: %s", name)
		}
	}

	all := t.State().Record.Indexes
	for _, path := range paths {
		if name := path[0].Name; len(path) > 1 && slices.ContainsFunc(all, func(x indexes.Index) bool { return x.Keys.Has(name) }) {
			return invalid(words+"IndexKey: %s", name)
		}
	}

	return nil
}

// checkProjection refuses paths into key attributes, and attributes that a global index does not
// have. It makes a local index fetch them from the table.
func (v *view) checkProjection(p *expression.Projection) error {
	if p == nil {
		return nil
	}

	if err := checkPaths(v.table, p.Paths()); err != nil {
		return err
	}

	if v.index == nil {
		return nil
	}

	for _, name := range p.TopLevel() {
		switch {
		case v.index.Projects(&v.table.Space, name):
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
		return v.table.KeyAttrs(item)
	}

	return v.index.LastKey(&v.table.Space, item)
}

// single reports whether the condition names one primary key of the table. Entries of an index can have
// equal keys.
func (v *view) single(c *expression.KeyCondition) bool {
	return v.index == nil && (v.Keys.Range.Name == "" || c.Range.Op == expression.RangeEqual)
}

// startNames returns the attributes that an ExclusiveStartKey has: the keys of the table and of the
// index.
func (v *view) startNames() []keyspace.Attr {
	want := v.table.Keys.Attrs()
	if v.index == nil {
		return want
	}

	for _, k := range v.index.Keys.Attrs() {
		if !slices.ContainsFunc(want, func(o keyspace.Attr) bool { return o.Name == k.Name }) {
			want = append(want, k)
		}
	}

	return want
}

func invalidStart() error { return invalid("The provided starting key is invalid") }

// checkStart checks one key attribute of the view in an ExclusiveStartKey.
func checkStart(start attr.Item, k keyspace.Attr) error {
	value, ok := start[k.Name]
	switch {
	case !ok:
		return invalidStart()
	case value.Kind != k.Kind:
		return invalid("The provided key element does not match the schema")
	}

	return nil
}

// condition returns the condition of a Query on the keys of the view. It also checks these keys in
// the ExclusiveStartKey, which may be nil.
func (v *view) condition(terms *expression.KeyTerms, start attr.Item) (*expression.KeyCondition, error) {
	attrs := v.Keys.Attrs()

	keys := make([]expression.Key, len(attrs))
	for i, k := range attrs {
		keys[i] = expression.Key{Name: k.Name, Kind: k.Kind}
	}

	schema := expression.KeySchema{Hash: keys[:v.Keys.Hashes()], Range: keys[v.Keys.Hashes():]}
	if start == nil {
		return terms.Condition(schema, nil)
	}

	if len(start) != len(v.startNames()) {
		return nil, invalidStart()
	}

	return terms.Condition(schema, func(at int) error { return checkStart(start, attrs[at]) })
}

// checkScanStart checks the ExclusiveStartKey of a Scan of an index.
func (v *view) checkScanStart(start attr.Item) error {
	if v.index == nil {
		return nil
	}

	if len(start) != len(v.startNames()) {
		return invalidStart()
	}

	for _, k := range v.Keys.Attrs() {
		if err := checkStart(start, k); err != nil {
			return err
		}
	}

	return nil
}

// startKey returns the store key that an ExclusiveStartKey names. If there is an index, its keys
// were checked.
func (v *view) startKey(start attr.Item) ([]byte, error) {
	of := start
	if v.index != nil {
		// The start key has the keys of the index, too, which KeyOf would refuse.
		of = attr.Item{}
		for _, k := range v.table.Keys.Attrs() {
			if value, ok := start[k.Name]; ok {
				of[k.Name] = value
			}
		}
	}

	key, err := v.table.KeyOf(of)
	if err != nil {
		return nil, invalid("The provided starting key is invalid: %s", message(err))
	}

	if v.index == nil {
		return key.Bytes, nil
	}

	return v.index.EntryKey(&v.table.Space, start, key.Bytes), nil
}

// startAfter narrows the bounds of a Query to what comes after the start key.
func (v *view) startAfter(start attr.Item, c *expression.KeyCondition, lo, hi []byte, reverse bool) (_, _ []byte, err error) {
	key, err := v.startKey(start)
	if err != nil {
		return nil, nil, err
	}

	same := attr.Equal(start[v.Keys.Hash.Name], c.Hash)
	for i, value := range c.MoreHash {
		same = same && attr.Equal(start[v.Keys.MoreHash[i].Name], value)
	}

	switch {
	case c.Range.Op == expression.RangeNone && !same:
		return nil, nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
	case c.Range.Op != expression.RangeNone && !v.inRange(c, start):
		return nil, nil, invalid("The provided starting key does not match the range key predicate")
	case !same, v.index == nil && v.Keys.Range.Name == "":
		return nil, nil, invalid("The query can return at most one row and cannot be restarted")
	}

	// The item of the start key was on the page before: hi is not part of the range, and key with a
	// zero byte is the next possible lo.
	if reverse {
		return lo, key, nil
	}

	return append(key, 0), hi, nil
}

// inRange reports whether a start key has the sort key that the condition asks for.
func (v *view) inRange(c *expression.KeyCondition, start attr.Item) bool {
	first := v.Keys.Hashes()
	for i, value := range c.Equal {
		if !attr.Equal(start[v.Keys.At(first+i).Name], value) {
			return false
		}
	}

	return c.Range.Contains(start[v.Keys.At(first+len(c.Equal)).Name])
}

// spent returns the capacity that a page consumed: for all bytes that were read from the table or index
// together, and for each item that was fetched from the table for an index.
func (pg *page) spent() capacity.Spent {
	units := capacity.Read(pg.bytes, pg.in.ConsistentRead)
	if pg.view.index == nil {
		return capacity.OnTable(units)
	}

	return capacity.Spent{Table: pg.fetched, Indexes: []capacity.Index{{Name: pg.view.index.Name, Local: pg.view.index.Local, Units: units}}}
}

// itemOf returns the item of a stored value: an entry of the index, or the table's item where
// the entry does not have enough. It counts what is fetched from the table.
func (s *Service) itemOf(pg *page, raw stored.Item) (item attr.Item, err error) {
	v := pg.view
	if item, err = raw.Decode(); err != nil || !v.fetch {
		return item, err
	}

	key, err := v.table.PrimaryOf(v.table.KeyAttrs(item))
	if err != nil {
		return nil, err
	}

	whole, ok, err := s.db.Get(key.Bytes)
	if err != nil || !ok {
		return item, err // the item went after the entry was read
	}

	// AWS charges each fetched item as a read of its own.
	pg.fetched += capacity.Read(stored.Item(whole).Size(), pg.in.ConsistentRead)

	return stored.Item(whole).Decode()
}
