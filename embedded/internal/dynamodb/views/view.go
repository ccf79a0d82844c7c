package views

import (
	"errors"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// View is the table or the index that a Query or Scan reads.
type View struct {
	keyspace.Space
	Table *catalog.Table
	// Index is nil for the table itself.
	Index *indexes.Index
	// Fetch is set if the items are read from the table, because the entries of a local index lack
	// requested attributes.
	Fetch bool
}

// New returns the table or, if index is set, the index of that name, for a read with that Select.
func New(t *catalog.Table, index *string, selected string, consistent bool) (*View, error) {
	if index == nil {
		if selected == "ALL_PROJECTED_ATTRIBUTES" {
			return nil, wire.Invalid("One or more parameter values were invalid: Select type ALL_PROJECTED_ATTRIBUTES is supported only for indexes")
		}

		return &View{Space: t.Space, Table: t}, nil
	}

	x := t.State().Record.IndexNamed(*index)
	switch {
	case x == nil:
		return nil, wire.Invalid("The table does not have the specified index: %s", *index)
	case x.Building:
		return nil, wire.Invalid("Cannot read from backfilling global secondary index: %s", x.Name)
	case !x.Local && consistent:
		return nil, wire.Invalid("Consistent reads are not supported on global secondary indexes")
	}

	return &View{Space: x.Space(), Table: t, Index: x, Fetch: x.Local && selected == "ALL_ATTRIBUTES" && x.Projection != indexes.All}, nil
}

// CheckThere fails if the table or the index is gone: the read may have missed entries that were deleted
// with it. Tables and indexes are removed before their data.
func (v *View) CheckThere() error {
	state := v.Table.State()
	switch {
	case state.Deleted:
		return catalog.Missing()
	case v.Index == nil:
		return nil
	}

	// The index may have been deleted and created again since the request looked it up.
	if x := state.Record.IndexNamed(v.Index.Name); x == nil || x.No != v.Index.No {
		return wire.Invalid("The table does not have the specified index: %s", v.Index.Name)
	}

	return nil
}

// CheckAllAttributes refuses a Select of attributes that a global index does not have.
func (v *View) CheckAllAttributes(selected string) error {
	x := v.Index
	if selected != "ALL_ATTRIBUTES" || x == nil || x.Local || x.Projection == indexes.All {
		return nil
	}

	return wire.Invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.Name)
}

// CheckFilterPaths refuses paths into key attributes in a filter.
func (v *View) CheckFilterPaths(filter *expression.Condition) error {
	if filter == nil {
		return nil
	}

	return CheckPaths(v.Table, filter.Paths())
}

// CheckPaths refuses paths into attributes that are keys of the table or of one of its indexes.
func CheckPaths(t *catalog.Table, paths []expression.Path) error {
	const words = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "

	for _, path := range paths {
		if name := path[0].Name; len(path) > 1 && t.Keys.Has(name) {
			return wire.Invalid(words+"Key: %s", name)
		}
	}

	all := t.State().Record.Indexes
	for _, path := range paths {
		if name := path[0].Name; len(path) > 1 && slices.ContainsFunc(all, func(x indexes.Index) bool { return x.Keys.Has(name) }) {
			return wire.Invalid(words+"IndexKey: %s", name)
		}
	}

	return nil
}

// CheckProjection refuses paths into key attributes, and attributes that a global index does not
// have. It makes a local index fetch them from the table.
func (v *View) CheckProjection(p *expression.Projection) error {
	if p == nil {
		return nil
	}

	if err := CheckPaths(v.Table, p.Paths()); err != nil {
		return err
	}

	if v.Index == nil {
		return nil
	}

	for _, name := range p.TopLevel() {
		switch {
		case v.Index.Projects(&v.Table.Space, name):
		case v.Index.Local:
			v.Fetch = true
		default:
			return wire.Invalid("One or more parameter values were invalid: Global secondary index %s does not project [%s]", v.Index.Name, name)
		}
	}

	return nil
}

// LastKey returns the LastEvaluatedKey of a page that ends with the item.
func (v *View) LastKey(item attr.Item) attr.Item {
	if v.Index == nil {
		return v.Table.KeyAttrs(item)
	}

	return v.Index.LastKey(&v.Table.Space, item)
}

// Single reports whether the condition names one primary key of the table. Entries of an index can have
// equal keys.
func (v *View) Single(c *expression.KeyCondition) bool {
	return v.Index == nil && (v.Keys.Range.Name == "" || c.Range.Op == expression.RangeEqual)
}

// startNames returns the attributes that an ExclusiveStartKey has: the keys of the table and of the
// index.
func (v *View) startNames() []keyspace.Attr {
	want := v.Table.Keys.Attrs()
	if v.Index == nil {
		return want
	}

	for _, k := range v.Index.Keys.Attrs() {
		if !slices.ContainsFunc(want, func(o keyspace.Attr) bool { return o.Name == k.Name }) {
			want = append(want, k)
		}
	}

	return want
}

func invalidStart() error { return wire.Invalid("The provided starting key is invalid") }

// checkStart checks one key attribute of the view in an ExclusiveStartKey.
func checkStart(start attr.Item, k keyspace.Attr) error {
	value, ok := start[k.Name]
	switch {
	case !ok:
		return invalidStart()
	case value.Kind != k.Kind:
		return wire.Invalid("The provided key element does not match the schema")
	}

	return nil
}

// Condition returns the condition of a Query on the keys of the view. It also checks these keys in
// the ExclusiveStartKey, which may be nil.
func (v *View) Condition(terms *expression.KeyTerms, start attr.Item) (*expression.KeyCondition, error) {
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

// CheckScanStart checks the ExclusiveStartKey of a Scan of an index.
func (v *View) CheckScanStart(start attr.Item) error {
	if v.Index == nil {
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

// StartKey returns the store key that an ExclusiveStartKey names. If there is an index, its keys
// were checked.
func (v *View) StartKey(start attr.Item) ([]byte, error) {
	of := start
	if v.Index != nil {
		// The start key has the keys of the index, too, which KeyOf would refuse.
		of = attr.Item{}
		for _, k := range v.Table.Keys.Attrs() {
			if value, ok := start[k.Name]; ok {
				of[k.Name] = value
			}
		}
	}

	key, err := v.Table.KeyOf(of)
	if err != nil {
		return nil, wire.Invalid("The provided starting key is invalid: %s", message(err))
	}

	if v.Index == nil {
		return key.Bytes, nil
	}

	return v.Index.EntryKey(&v.Table.Space, start, key.Bytes), nil
}

// StartAfter narrows the bounds of a Query to what comes after the start key.
func (v *View) StartAfter(start attr.Item, c *expression.KeyCondition, lo, hi []byte, reverse bool) (_, _ []byte, err error) {
	key, err := v.StartKey(start)
	if err != nil {
		return nil, nil, err
	}

	same := attr.Equal(start[v.Keys.Hash.Name], c.Hash)
	for i, value := range c.MoreHash {
		same = same && attr.Equal(start[v.Keys.MoreHash[i].Name], value)
	}

	switch {
	case c.Range.Op == expression.RangeNone && !same:
		return nil, nil, wire.Invalid("The provided starting key is outside query boundaries based on provided conditions")
	case c.Range.Op != expression.RangeNone && !v.inRange(c, start):
		return nil, nil, wire.Invalid("The provided starting key does not match the range key predicate")
	case !same, v.Index == nil && v.Keys.Range.Name == "":
		return nil, nil, wire.Invalid("The query can return at most one row and cannot be restarted")
	}

	// The item of the start key was on the page before: hi is not part of the range, and key with a
	// zero byte is the next possible lo.
	if reverse {
		return lo, key, nil
	}

	return append(key, 0), hi, nil
}

// inRange reports whether a start key has the sort key that the condition asks for.
func (v *View) inRange(c *expression.KeyCondition, start attr.Item) bool {
	first := v.Keys.Hashes()
	for i, value := range c.Equal {
		if !attr.Equal(start[v.Keys.At(first+i).Name], value) {
			return false
		}
	}

	return c.Range.Contains(start[v.Keys.At(first+len(c.Equal)).Name])
}

// message returns the text of an error without the name of the exception.
func message(err error) string {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Message
	}

	return err.Error()
}
