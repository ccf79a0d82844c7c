package dynamodb

import (
	"encoding/json"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// maxPage is how many bytes of items one Query or Scan reads, before it filters them.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
const maxPage = 1 << 20

// pageIn is what Query and Scan have in common.
type pageIn struct {
	TableName              *string
	IndexName              *string
	ConsistentRead         bool
	ExclusiveStartKey      attr.Item
	FilterExpression       *string
	Limit                  *int64
	ProjectionExpression   *string
	ReturnConsumedCapacity string
	Select                 string
	expressionIn
	legacyIn
}

// check validates what does not depend on the table.
func (in *pageIn) check() error {
	if err := in.legacyIn.refuse(); err != nil {
		return err
	}

	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return err
	}

	if err := wire.Within(in.Limit, "limit", 1, 1<<31-1); err != nil {
		return err
	}

	if err := wire.OneOf(in.Select, "select", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"); err != nil {
		return err
	}

	switch {
	case in.Select == "SPECIFIC_ATTRIBUTES" && in.ProjectionExpression == nil:
		return invalid("One or more parameter values were invalid: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case in.ProjectionExpression != nil && in.Select != "" && in.Select != "SPECIFIC_ATTRIBUTES":
		return invalid("Cannot specify the ProjectionExpression when choosing to get %s", in.Select)
	}

	return nil
}

// page collects one page of items between two store keys.
type page struct {
	in      *pageIn
	view    *view
	filter  *expression.Condition
	project *expression.Projection

	items          []byte // JSON elements
	count, scanned int
	bytes          int
	last           attr.Item // the LastEvaluatedKey, nil at the end
}

// expressions parses the filter and the projection.
func (pg *page) expressions(p *expression.Params) (err error) {
	if pg.in.FilterExpression != nil {
		if pg.filter, err = parseCondition("FilterExpression", *pg.in.FilterExpression, p); err != nil {
			return err
		}
	}

	if pg.in.ProjectionExpression != nil {
		if pg.project, err = parseProjection(*pg.in.ProjectionExpression, p); err != nil {
			return err
		}
	}

	return pg.view.checkProjection(pg.project)
}

// read collects the items with lo <= key < hi, up to the limits of a page. It returns when
// everything that it has read is on disk.
func (pg *page) read(s *Service, lo, hi []byte, reverse bool) error {
	limit := -1
	if pg.in.Limit != nil {
		limit = int(*pg.in.Limit)
	}

	// The page ends with the item that fills it, but it is known only at the next item
	// whether there is more: a table that ends there has no LastEvaluatedKey. A page that
	// ends by Limit always has one, as on AWS.
	var lastKey attr.Item

	err := s.db.Scan(lo, hi, reverse, func(_, value []byte) (bool, error) {
		if pg.bytes >= maxPage {
			pg.last = lastKey
			return false, nil
		}

		item, err := pg.take(s, value)
		if err != nil {
			return false, err
		}

		switch {
		case pg.scanned == limit:
			pg.last = pg.view.lastKey(item)
			return false, nil
		case pg.bytes >= maxPage:
			lastKey = pg.view.lastKey(item)
		}

		return true, nil
	})
	if err != nil {
		return err
	}

	return s.db.Barrier()
}

// take counts one item and adds it to the page if the filter matches.
func (pg *page) take(s *Service, value []byte) (attr.Item, error) {
	item, read, err := s.itemOf(pg.view, value) // decoding copies what it keeps
	if err != nil {
		return nil, err
	}

	pg.scanned++
	pg.bytes += read

	if pg.filter != nil {
		if match, err := pg.filter.Match(item); err != nil || !match {
			return item, err
		}
	}

	pg.count++
	if pg.in.Select == "COUNT" {
		return item, nil
	}

	out := item
	if pg.project != nil {
		out = pg.project.Apply(item)
	}

	if len(pg.items) > 0 {
		pg.items = append(pg.items, ',')
	}
	pg.items = out.AppendJSON(pg.items)

	return item, nil
}

// answer returns the answer of Query and Scan.
func (pg *page) answer() json.RawMessage {
	out := newAnswer(len(pg.items) + 256)
	out.int("Count", pg.count)
	out.int("ScannedCount", pg.scanned)

	if pg.in.Select != "COUNT" {
		out.name("Items")
		out.buf = append(out.buf, '[')
		out.buf = append(append(out.buf, pg.items...), ']')
	}

	if pg.last != nil {
		out.item("LastEvaluatedKey", pg.last)
	}
	out.consumed(pg.in.ReturnConsumedCapacity, pg.view.table.name, pg.view.spent(readUnits(pg.bytes, pg.in.ConsistentRead)))

	return out.done()
}
