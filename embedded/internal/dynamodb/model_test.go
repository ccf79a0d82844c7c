package dynamodb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/store"
)

// TestIndexesAgainstAModel compares tables and their index, whose key has any legal number of
// attributes of any kinds, with a map of the items.
func TestIndexesAgainstAModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newIndexModel(t, r)
		defer m.close()

		m.createTable(rapid.Bool().Draw(r, "index at first"))

		r.Repeat(map[string]func(*rapid.T){
			"put":    m.put,
			"update": m.update,
			"delete": m.remove,
			"index":  m.changeIndex,
			"reopen": m.reopen,
			"query":  m.query,
			"scan":   m.scan,
			"":       m.checkCounts,
		})
	})
}

// indexModel is a table with at most one index, and the items that should be in it.
type indexModel struct {
	t       *testing.T
	r       *rapid.T
	disk    vfs.FS
	db      *store.DB
	service *Service

	table, index keyspace.Schema
	projection   string
	indexed      bool
	// no is the number of the index: an index that is deleted and added again has another name.
	no    int
	items map[string]attr.Item // by the JSON of the primary key
}

func newIndexModel(t *testing.T, r *rapid.T) *indexModel {
	m := &indexModel{t: t, r: r, disk: vfs.NewMem(), items: map[string]attr.Item{}}
	kind := rapid.SampledFrom([]attr.Kind{attr.S, attr.N, attr.B})

	m.table.Hash = keyspace.Attr{Name: "pk", Kind: attr.S}
	if rapid.Bool().Draw(r, "sort key") {
		m.table.Range = keyspace.Attr{Name: "sk", Kind: kind.Draw(r, "kind of sk")}
	}

	m.index = drawIndexKey(r, m.table.Attrs(), kind)
	m.projection = rapid.SampledFrom([]string{indexes.All, indexes.KeysOnly, indexes.Include}).Draw(r, "projection")
	m.open()

	return m
}

// drawIndexKey draws a key of an index, in which attributes of the table's key may stand too.
func drawIndexKey(r *rapid.T, table []keyspace.Attr, kind *rapid.Generator[attr.Kind]) (k keyspace.Schema) {
	hashes := rapid.IntRange(1, 4).Draw(r, "hashes")
	ranges := rapid.IntRange(0, 4).Draw(r, "ranges")

	parts := make([]keyspace.Attr, hashes+ranges)
	for i := range parts {
		parts[i] = keyspace.Attr{Name: string(rune('a' + i)), Kind: kind.Draw(r, "kind")}
	}

	if rapid.IntRange(0, 3).Draw(r, "of the table") == 0 {
		parts[rapid.IntRange(0, len(parts)-1).Draw(r, "at")] = rapid.SampledFrom(table).Draw(r, "which")
	}

	k.Hash, k.MoreHash = parts[0], parts[1:hashes]
	if ranges > 0 {
		k.Range, k.MoreRange = parts[hashes], parts[hashes+1:]
	}

	return k
}

func (m *indexModel) open() {
	m.service, m.db = openStored(m.t, store.Config{Dir: "model", Disk: m.disk})
}

func (m *indexModel) close() {
	if err := m.service.Close(); err != nil {
		m.t.Error(err)
	}

	if err := m.db.Close(); err != nil {
		m.t.Error(err)
	}
}

func (m *indexModel) reopen(*rapid.T) {
	m.close()
	m.open()
}

// modelPage has the members of answers that the model compares.
type modelPage struct {
	Items            []attr.Item
	Count            int
	LastEvaluatedKey attr.Item
	TableDescription json.RawMessage
	Table            struct {
		GlobalSecondaryIndexes []struct{ ItemCount, IndexSizeBytes int }
	}
	ConsumedCapacity struct {
		GlobalSecondaryIndexes map[string]struct{ CapacityUnits float64 }
	}
}

// send sends a request. Its answer is empty if the request fails.
func (m *indexModel) send(operation string, members ...string) (p modelPage, failure string) {
	body := strings.Join(append([]string{`"TableName":"model"`}, members...), ",")

	answer := request(m.t, m.service, operation, "{"+body+"}")
	if !strings.HasPrefix(answer, "{") {
		return p, answer
	}

	if err := json.Unmarshal([]byte(answer), &p); err != nil {
		m.r.Fatalf("%s: %v", answer, err)
	}

	return p, ""
}

// must sends a request that must not fail.
func (m *indexModel) must(operation string, members ...string) modelPage {
	p, failure := m.send(operation, members...)
	if failure != "" {
		m.r.Fatalf("%s %s: %s", operation, strings.Join(members, ","), failure)
	}

	return p
}

func schemaJSON(k keyspace.Schema) string {
	parts := make([]string, k.Count())
	for i := range parts {
		kind := "HASH"
		if i >= k.Hashes() {
			kind = "RANGE"
		}
		parts[i] = fmt.Sprintf(`{"AttributeName":%q,"KeyType":%q}`, k.At(i).Name, kind)
	}

	return "[" + strings.Join(parts, ",") + "]"
}

// definitionsJSON returns the AttributeDefinitions of these attributes.
func definitionsJSON(attrs []keyspace.Attr) string {
	parts := make([]string, len(attrs))
	for i, k := range attrs {
		parts[i] = fmt.Sprintf(`{"AttributeName":%q,"AttributeType":%q}`, k.Name, k.Kind)
	}

	return `"AttributeDefinitions":[` + strings.Join(parts, ",") + "]"
}

func (m *indexModel) definition() string {
	m.no++
	nonKey := ""
	if m.projection == indexes.Include {
		nonKey = `,"NonKeyAttributes":["v"]`
	}

	return fmt.Sprintf(`{"IndexName":%q,"KeySchema":%s,"Projection":{"ProjectionType":%q%s}}`, m.indexName(), schemaJSON(m.index), m.projection, nonKey)
}

func (m *indexModel) indexName() string { return fmt.Sprintf("index-%d", m.no) }

func (m *indexModel) createTable(indexed bool) {
	used := m.table.Attrs()
	members := []string{`"BillingMode":"PAY_PER_REQUEST"`, `"KeySchema":` + schemaJSON(m.table)}
	if m.indexed = indexed; indexed {
		members = append(members, `"GlobalSecondaryIndexes":[`+m.definition()+`]`)

		for _, k := range m.index.Attrs() {
			if !slices.Contains(used, k) {
				used = append(used, k)
			}
		}
	}

	m.must("CreateTable", append(members, definitionsJSON(used))...)
}

// changeIndex adds the index with the items that are there, or deletes it.
func (m *indexModel) changeIndex(r *rapid.T) {
	if m.indexed {
		m.must("UpdateTable", fmt.Sprintf(`"GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":%q}}]`, m.indexName()))
	} else {
		m.must("UpdateTable", definitionsJSON(m.index.Attrs()), `"GlobalSecondaryIndexUpdates":[{"Create":`+m.definition()+`}]`)
	}
	m.indexed = !m.indexed
}

// modelValues are values that look alike behind each other, with the bytes that end texts and escape them.
var modelValues = map[attr.Kind][]string{
	attr.S: {"a", "ab", "b", "bc", "c", "\x00", "a\x00", "a\x00\x01b", "\x01", "ÿ"},
	attr.N: {"-1", "0", "1", "1.5", "10", "-10", "100"},
	attr.B: {"a", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\xff", "\xff\x00"},
}

// drawValue draws a value that a key attribute can have.
func drawValue(r *rapid.T, k keyspace.Attr) attr.Value {
	return attr.Value{Kind: k.Kind, Str: rapid.SampledFrom(modelValues[k.Kind]).Draw(r, k.Name)}
}

// drawFault draws a value that the key attribute cannot have.
func drawFault(r *rapid.T, k keyspace.Attr) attr.Value {
	faults := []attr.Value{{Kind: attr.BOOL, Bool: true}, {Kind: attr.L}, {Kind: attr.S, Str: "1"}, {Kind: attr.N, Str: "1"}, {Kind: attr.S}, {Kind: attr.B}}

	return rapid.SampledFrom(slices.DeleteFunc(faults, func(v attr.Value) bool {
		return v.Kind == k.Kind && (v.Kind == attr.N || v.Str != "")
	})).Draw(r, "fault")
}

// drawPart draws an item's value for a key attribute of the index, which may be missing or wrong.
func drawPart(r *rapid.T, k keyspace.Attr) (v attr.Value, has bool) {
	switch rapid.IntRange(0, 19).Draw(r, "case") {
	case 0:
		return v, false
	case 1:
		return drawFault(r, k), true
	}

	return drawValue(r, k), true
}

func (m *indexModel) drawKey(r *rapid.T) attr.Item {
	key := attr.Item{}
	for _, k := range m.table.Attrs() {
		key[k.Name] = attr.Value{Kind: k.Kind, Str: rapid.SampledFrom(modelValues[k.Kind][:4]).Draw(r, k.Name)}
	}

	return key
}

func itemJSON(i attr.Item) string { return string(i.AppendJSON(nil)) }

func (m *indexModel) put(r *rapid.T) {
	key := m.drawKey(r)

	item := maps.Clone(key)
	for _, k := range m.index.Attrs() {
		if m.table.Has(k.Name) {
			continue
		}

		if v, has := drawPart(r, k); has {
			item[k.Name] = v
		}
	}
	item["v"] = attr.Value{Kind: attr.N, Str: rapid.SampledFrom(modelValues[attr.N]).Draw(r, "v")}
	item["w"] = attr.NewList([]attr.Value{{Kind: attr.NULL, Bool: true}})

	m.write(itemJSON(key), item, "PutItem", `"Item":`+itemJSON(item))
}

func (m *indexModel) update(r *rapid.T) {
	key := m.drawKey(r)
	name := itemJSON(key)

	item := maps.Clone(key)
	maps.Copy(item, m.items[name])

	of := rapid.SampledFrom(append(m.index.Attrs(), keyspace.Attr{Name: "v", Kind: attr.N})).Draw(r, "attribute")
	if m.table.Has(of.Name) {
		return
	}

	v, has := drawPart(r, of)
	if !has {
		delete(item, of.Name)

		if m.items[name] == nil {
			item = nil // REMOVE alone creates no item
		}
		m.write(name, item, "UpdateItem", `"Key":`+name, `"UpdateExpression":"REMOVE #n"`, fmt.Sprintf(`"ExpressionAttributeNames":{"#n":%q}`, of.Name))

		return
	}

	item[of.Name] = v
	m.write(name, item, "UpdateItem", `"Key":`+name, `"UpdateExpression":"SET #n = :v"`, fmt.Sprintf(`"ExpressionAttributeNames":{"#n":%q}`, of.Name),
		`"ExpressionAttributeValues":`+itemJSON(attr.Item{":v": v}))
}

func (m *indexModel) remove(r *rapid.T) {
	name := itemJSON(m.drawKey(r))
	m.write(name, nil, "DeleteItem", `"Key":`+name)
}

// write sends a write after which the item is the given one, nil for none. An index refuses items
// with wrong values, except in a write that changes nothing.
func (m *indexModel) write(name string, item attr.Item, operation string, members ...string) {
	before := m.items[name]
	same := before != nil && item != nil && attr.EqualItems(before, item)
	refused := m.indexed && !same && m.isFaulty(item)

	p, failure := m.send(operation, append(members, `"ReturnConsumedCapacity":"INDEXES"`)...)
	if refused != (failure != "") {
		m.r.Fatalf("%s %s: refused %v, answer %q", operation, strings.Join(members, ","), refused, failure)
	}

	if refused {
		return
	}

	if got, want := p.ConsumedCapacity.GlobalSecondaryIndexes[m.indexName()].CapacityUnits, m.writeUnits(before, item); got != want {
		m.r.Fatalf("%s %s: %v units of the index, want %v", operation, strings.Join(members, ","), got, want)
	}

	if m.items[name] = item; item == nil {
		delete(m.items, name)
	}
}

// capacity.Write returns the cost of a write in the index, whose entries are all smaller than 1 KiB.
func (m *indexModel) writeUnits(before, after attr.Item) float64 {
	if !m.indexed {
		return 0
	}

	had, has := m.covers(before), m.covers(after)
	switch {
	case !had && !has:
		return 0
	case had != has:
		return 1
	case attr.EqualItems(m.project(before), m.project(after)):
		return 0
	}

	for _, k := range m.index.Attrs() {
		if !attr.Equal(before[k.Name], after[k.Name]) {
			return 2
		}
	}

	return 1
}

func (m *indexModel) isFaulty(item attr.Item) bool {
	for _, k := range m.index.Attrs() {
		if v, has := item[k.Name]; has && (v.Kind != k.Kind || v.Kind != attr.N && v.Str == "") {
			return true
		}
	}

	return false
}

// covers reports whether the item is in the index.
func (m *indexModel) covers(item attr.Item) bool {
	for _, k := range m.index.Attrs() {
		if _, has := item[k.Name]; !has {
			return false
		}
	}

	return item != nil && !m.isFaulty(item)
}

func (m *indexModel) project(item attr.Item) attr.Item {
	out := maps.Clone(item)
	if m.projection != indexes.All {
		delete(out, "w")
	}

	if m.projection == indexes.KeysOnly && !m.index.Has("v") {
		delete(out, "v")
	}

	return out
}

// checkCounts compares the counts of DescribeTable.
func (m *indexModel) checkCounts(*rapid.T) {
	if !m.indexed {
		return
	}

	count, size := 0, 0
	for _, item := range m.items {
		if m.covers(item) {
			count++
			size += m.project(item).Size()
		}
	}

	p := m.must("DescribeTable")
	if got := p.Table.GlobalSecondaryIndexes[0]; got.ItemCount != count || got.IndexSizeBytes != size {
		m.r.Fatalf("%d entries of %d bytes, want %d of %d", got.ItemCount, got.IndexSizeBytes, count, size)
	}
}
