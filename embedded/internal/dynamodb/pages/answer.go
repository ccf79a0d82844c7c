package pages

import (
	"encoding/json"

	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
)

// beforeItems begins the answer of a page.
const beforeItems = `{"Items":[`

// roomForMembers is enough for the members of an answer beside its items, without keys.
const roomForMembers = 256

// Answer returns the answer of Query and Scan.
func (pg *Page) Answer() json.RawMessage {
	out := pg.Begin()
	out.Int("Count", pg.count)
	out.Int("ScannedCount", pg.scanned)

	if pg.Last != nil {
		out.Item("LastEvaluatedKey", pg.Last)
	}
	capacity.Add(out, pg.In.ReturnConsumedCapacity, pg.View.Table.Name, pg.Spent())

	return out.Done()
}

// Begin returns the beginning of the answer, with the items if they are asked for. Begin may be
// called once.
func (pg *Page) Begin() *answer.Object {
	switch {
	case pg.In.Select == "COUNT":
		return answer.New(roomForMembers)
	case pg.items == nil:
		pg.items = append(make([]byte, 0, roomForMembers), beforeItems...)
	case !pg.Single:
		pg.View.Table.Room.Learn(len(pg.items) + roomForMembers)
	}

	return &answer.Object{Buf: append(pg.items, ']')}
}

// Spent returns the capacity that a page consumed: for all bytes that were read from the table or index
// together, and for each item that was fetched from the table for an index.
func (pg *Page) Spent() capacity.Spent {
	units := capacity.Read(pg.bytes, pg.In.ConsistentRead)
	if pg.View.Index == nil {
		return capacity.OnTable(units)
	}

	return capacity.Spent{Table: pg.fetched, Indexes: []capacity.Index{{Name: pg.View.Index.Name, Local: pg.View.Index.Local, Units: units}}}
}
