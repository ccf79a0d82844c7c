package dynamodb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/expression"
)

// modelCondition is a key condition of the model, one term for each attribute.
type modelCondition []modelTerm

type modelTerm struct {
	key keyspace.Attr
	expression.Range
}

func (c *modelCondition) add(k keyspace.Attr, r expression.Range) { *c = append(*c, modelTerm{k, r}) }

var modelOperators = map[expression.RangeOp]string{
	expression.RangeEqual: "#%[1]d = :l%[1]d", expression.RangeLess: "#%[1]d < :l%[1]d", expression.RangeLessEqual: "#%[1]d <= :l%[1]d",
	expression.RangeGreater: ":l%[1]d < #%[1]d", expression.RangeGreaterEqual: "#%[1]d >= :l%[1]d",
	expression.RangeBetween: "#%[1]d BETWEEN :l%[1]d AND :h%[1]d", expression.RangeBeginsWith: "begins_with(#%[1]d, :l%[1]d)",
}

// text returns the KeyConditionExpression, its terms in any order.
func (c modelCondition) text(r *rapid.T) string {
	terms := make([]string, len(c))
	for i, t := range c {
		terms[i] = fmt.Sprintf(modelOperators[t.Op], i)
	}

	return strings.Join(rapid.Permutation(terms).Draw(r, "order"), " AND ")
}

func (c modelCondition) names() string {
	names := make([]string, len(c))
	for i, t := range c {
		names[i] = fmt.Sprintf(`"#%d":%q`, i, t.key.Name)
	}

	return "{" + strings.Join(names, ",") + "}"
}

func (c modelCondition) values() string {
	values := attr.Item{}
	for i, t := range c {
		values[fmt.Sprintf(":l%d", i)] = t.Lo
		if t.Op == expression.RangeBetween {
			values[fmt.Sprintf(":h%d", i)] = t.Hi
		}
	}

	return itemJSON(values)
}

// query draws a legal key condition and reads it in both directions, at once and in pages.
func (m *indexModel) query(r *rapid.T) {
	if !m.indexed {
		return
	}

	value := func(k keyspace.Attr) attr.Value { return drawValue(r, k) }
	if len(m.items) > 0 && rapid.IntRange(0, 9).Draw(r, "of an item") > 0 {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(m.items))).Draw(r, "item")
		value = func(k keyspace.Attr) attr.Value {
			if v, has := m.items[name][k.Name]; has && v.Kind == k.Kind && (k.Kind == attr.N || v.Str != "") {
				return v
			}

			return drawValue(r, k)
		}
	}

	equal := m.index.Hashes()
	if more := m.index.Count() - equal; more > 0 {
		equal += rapid.IntRange(0, more).Draw(r, "equal")
	}

	var c modelCondition
	for i := range equal {
		k := m.index.At(i)
		c.add(k, expression.Range{Op: expression.RangeEqual, Lo: value(k)})
	}

	if equal < m.index.Count() && rapid.Bool().Draw(r, "bound") {
		k := m.index.At(equal)
		ops := []expression.RangeOp{expression.RangeLess, expression.RangeLessEqual, expression.RangeGreater, expression.RangeGreaterEqual, expression.RangeBetween, expression.RangeBeginsWith}
		if k.Kind == attr.N {
			ops = ops[:5]
		}

		lo, hi := value(k), drawValue(r, k)
		op := rapid.SampledFrom(ops).Draw(r, "operator")

		if order, _ := attr.Compare(lo, hi); op == expression.RangeBetween && order > 0 {
			lo, hi = hi, lo
		}
		c.add(k, expression.Range{Op: op, Lo: lo, Hi: hi})
	}

	want := m.matching(c)
	members := []string{fmt.Sprintf(`"IndexName":%q`, m.indexName()), fmt.Sprintf(`"KeyConditionExpression":%q`, c.text(r)),
		`"ExpressionAttributeNames":` + c.names(), `"ExpressionAttributeValues":` + c.values()}
	m.compare("Query", want, members...)

	m.queryFrom(r, c, want, members)

	slices.Reverse(want)
	m.compare("Query", want, append(members, `"ScanIndexForward":false`)...)
}

// queryFrom reads from a start key that no item needs to have. A start key outside of the condition is refused.
func (m *indexModel) queryFrom(r *rapid.T, c modelCondition, entries []attr.Item, members []string) {
	start := attr.Item{}
	for _, k := range append(m.table.Attrs(), m.index.Attrs()...) {
		start[k.Name] = drawValue(r, k)
	}

	for i, t := range c {
		if t.Op == expression.RangeEqual && (i < m.index.Hashes() || rapid.IntRange(0, 9).Draw(r, "inside") > 0) {
			start[t.key.Name] = t.Lo
		}
	}
	members = append(slices.Clone(members), `"ExclusiveStartKey":`+itemJSON(start))

	if slices.ContainsFunc(c, func(t modelTerm) bool { return !t.Contains(start[t.key.Name]) }) {
		if p, failure := m.send("Query", members...); !strings.Contains(failure, "The provided starting key does not match the range key predicate") {
			m.r.Fatalf("Query %s: %s%s", strings.Join(members, ","), failure, itemsJSON(p.Items))
		}

		return
	}

	for _, row := range []struct {
		more  string
		order int
	}{{`"ScanIndexForward":true`, 1}, {`"ScanIndexForward":false`, -1}} {
		var want []attr.Item
		for _, item := range entries {
			if m.order(item, start) == row.order {
				want = append(want, item)
			}
		}

		if row.order < 0 {
			slices.Reverse(want)
		}

		got := m.must("Query", append(slices.Clone(members), row.more)...).Items
		if !slices.EqualFunc(got, want, attr.EqualItems) {
			m.r.Fatalf("Query %s, %s\n got %s\nwant %s", strings.Join(members, ","), row.more, itemsJSON(got), itemsJSON(want))
		}
	}
}

// compare reads all pages, with and without a Limit, and compares their items in their order.
func (m *indexModel) compare(operation string, want []attr.Item, members ...string) {
	for _, limit := range []string{"", `,"Limit":1`, `,"Limit":2`} {
		var got []attr.Item
		start := ""
		for {
			p := m.must(operation, strings.Join(members, ",")+limit+start)
			if got = append(got, p.Items...); p.LastEvaluatedKey == nil {
				break
			}
			start = `,"ExclusiveStartKey":` + itemJSON(p.LastEvaluatedKey)
		}

		if !slices.EqualFunc(got, want, attr.EqualItems) {
			m.r.Fatalf("%s %s%s\n got %s\nwant %s", operation, strings.Join(members, ","), limit, itemsJSON(got), itemsJSON(want))
		}
	}
}

func itemsJSON(items []attr.Item) string {
	var all []string
	for _, item := range items {
		all = append(all, itemJSON(item))
	}

	return strings.Join(all, "\n     ")
}

// matching returns the entries of the index that a condition selects, in the order of the index.
func (m *indexModel) matching(c modelCondition) (entries []attr.Item) {
	for _, item := range m.items {
		if m.covers(item) && !slices.ContainsFunc(c, func(t modelTerm) bool { return !t.Contains(item[t.key.Name]) }) {
			entries = append(entries, m.project(item))
		}
	}

	slices.SortFunc(entries, m.order)

	return entries
}

// order compares two entries of one partition.
func (m *indexModel) order(a, b attr.Item) int {
	for _, k := range append(m.index.Attrs(), m.table.Attrs()...) {
		if n, _ := attr.Compare(a[k.Name], b[k.Name]); n != 0 {
			return n
		}
	}

	return 0
}

// scan reads the index in segments, in pages of two, and compares all pages together.
func (m *indexModel) scan(r *rapid.T) {
	if !m.indexed {
		return
	}

	var got []attr.Item
	total := rapid.SampledFrom([]int{1, 2, 3, 7}).Draw(r, "segments")
	for n := range total {
		start := ""
		for {
			p := m.must("Scan", fmt.Sprintf(`"IndexName":%q,"Limit":2,"Segment":%d,"TotalSegments":%d%s`, m.indexName(), n, total, start))
			if got = append(got, p.Items...); p.LastEvaluatedKey == nil {
				break
			}
			start = `,"ExclusiveStartKey":` + itemJSON(p.LastEvaluatedKey)
		}
	}

	want := m.matching(nil)
	byText := func(a, b attr.Item) int { return cmp.Compare(itemJSON(a), itemJSON(b)) }
	slices.SortFunc(got, byText)
	slices.SortFunc(want, byText)

	if !slices.EqualFunc(got, want, attr.EqualItems) {
		r.Fatalf("a scan of %d segments\n got %s\nwant %s", total, itemsJSON(got), itemsJSON(want))
	}
}
