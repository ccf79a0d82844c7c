package dynamodb

import (
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/indexes"
)

// hasCollection reports whether the item of the change is in an item collection: whether its
// table has a local index.
func (c *change) hasCollection() bool {
	return slices.ContainsFunc(c.state.Record.Indexes, func(x indexes.Index) bool { return x.Local })
}

// appendCollection appends the metrics of the item's collection. The estimate is always 0 to 1 GB.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections
func (c *change) appendCollection(dst []byte) []byte {
	hash := c.table.Keys.Hash.Name
	dst = append(dst, `{"ItemCollectionKey":`...)
	dst = attr.Item{hash: c.key.Attrs[hash]}.AppendJSON(dst)

	return append(dst, `,"SizeEstimateRangeGB":[0.0,1.0]}`...)
}

// addCollection adds the ItemCollectionMetrics of one write to the answer if the request asks for
// them and the table has a local index.
func addCollection(a *answer.Object, want string, c *change) {
	if want == "SIZE" && c.hasCollection() {
		a.Name("ItemCollectionMetrics").Buf = c.appendCollection(a.Buf)
	}
}

// addCollections adds the ItemCollectionMetrics of several writes to the answer: grouped by table,
// each collection once.
func addCollections(a *answer.Object, want string, changes []*change) {
	if want != "SIZE" {
		return
	}

	byTable := map[string][]string{}
	for _, c := range changes {
		// A condition check writes nothing. The changes of a replayed transaction have no state: it
		// was made by an earlier request.
		if c.verb == check || c.state == nil || !c.hasCollection() {
			continue
		}

		name, metrics := c.table.Name, string(c.appendCollection(nil))
		if !slices.Contains(byTable[name], metrics) {
			byTable[name] = append(byTable[name], metrics)
		}
	}

	if len(byTable) == 0 {
		return
	}

	out := answer.New(0)
	for _, name := range slices.Sorted(maps.Keys(byTable)) {
		list := []byte{'['}
		for i, metrics := range byTable[name] {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, metrics...)
		}
		out.Raw(name, append(list, ']'))
	}
	a.Raw("ItemCollectionMetrics", out.Done())
}
