package dynamodb

import (
	"encoding/json"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// maxPage is how many bytes of items one Query or Scan reads, before it filters them.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
const maxPage = 1 << 20

// beforeItems begins the answer of a page.
const beforeItems = `{"Items":[`

// roomForMembers is enough for the members of an answer beside its items, without keys.
const roomForMembers = 256

// pageIn has the parameters that Query and Scan share.
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
	AttributesToGet        []string
	ConditionalOperator    string
	references.Parameters
}

// constrainSelect checks the members that come first in Query and in Scan.
func (in *pageIn) constrainSelect(c *model.Constraints) {
	c.OneOf(in.Select, "select", "SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")

	if in.IndexName != nil {
		c.Name(*in.IndexName, "indexName")
	}
}

// checkSelect checks that Select and the projection of the request fit together.
func (in *pageIn) checkSelect() error {
	switch {
	case in.Select == "SPECIFIC_ATTRIBUTES" && in.ProjectionExpression == nil && in.AttributesToGet == nil:
		return invalid("One or more parameter values were invalid: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case in.ProjectionExpression != nil && in.Select != "" && in.Select != "SPECIFIC_ATTRIBUTES":
		return invalid("Cannot specify the ProjectionExpression when choosing to get %s", in.Select)
	case in.AttributesToGet != nil && in.Select != "" && in.Select != "SPECIFIC_ATTRIBUTES":
		return invalid("Cannot specify the AttributesToGet when choosing to get %s", in.Select)
	}

	return nil
}

// checkStartValues checks the values of an ExclusiveStartKey.
func (in *pageIn) checkStartValues() error {
	err := in.ExclusiveStartKey.Err()
	if err == nil {
		return nil
	}

	text := err.Error()
	for _, bare := range bareStartFaults {
		if strings.Contains(text, bare) {
			return invalid("%s", text)
		}
	}

	return invalid("The provided starting key is invalid: %s", text)
}

// bareStartFaults are parts of messages about values. In an ExclusiveStartKey, messages
// with one of these parts get no prefix.
// Source: https://github.com/architect/dynalite test/query.js, recorded on the service
var bareStartFaults = []string{"contains duplicates", "number set", "numeric value", "significant digits", "number with magnitude"}

// page collects one page of items between two store keys.
type page struct {
	in      *pageIn
	view    *view
	filter  *expression.Condition
	project *expression.Projection
	// legacyFilter is set if the filter is a QueryFilter.
	legacyFilter bool
	// single is set if the bounds of the page hold exactly one primary key.
	single bool
	// shape makes a row of a SELECT from an item. It is nil for whole items, and if project is set.
	shape func(attr.Item) attr.Item

	// items is the beginning of the answer: the items so far as JSON elements, with commas between
	// them. It is nil before the first one.
	items          []byte
	count, scanned int
	bytes          int            // read from the table or the index
	fetched        capacity.Units // for items fetched from the table for an index
	last           attr.Item      // the LastEvaluatedKey, nil at the end
	// full is the key of the item that filled the page.
	full attr.Item
}

// legacyParameters returns the legacy parameters that Query and Scan share, in the order in which
// messages list them. name is QueryFilter or ScanFilter.
func (in *pageIn) legacyParameters(name string, filter map[string]legacy.Condition) []legacy.Parameter {
	return []legacy.Parameter{
		{Name: "AttributesToGet", Given: len(in.AttributesToGet) > 0},
		{Name: name, Given: len(filter) > 0},
		{Name: "ConditionalOperator", Given: in.ConditionalOperator != ""},
	}
}

// expressionParameters is legacyParameters for the expressions.
func (in *pageIn) expressionParameters() []legacy.Parameter {
	return []legacy.Parameter{{Name: "ProjectionExpression", Given: in.ProjectionExpression != nil}, {Name: "FilterExpression", Given: in.FilterExpression != nil}}
}

// setLegacyFilter sets the filter to a QueryFilter or ScanFilter.
func (pg *page) setLegacyFilter(filter map[string]legacy.Condition) error {
	list, err := legacy.Comparisons(filter)
	if err != nil {
		return err
	}

	pg.filter, err = legacy.Joined(list, pg.in.ConditionalOperator)
	pg.legacyFilter = pg.filter != nil

	return err
}

// parse parses the filter and the projection, the last expressions of the request. p is nil if the
// request has no expressions.
func (pg *page) parse(p *expression.Params) (err error) {
	if pg.in.FilterExpression != nil {
		if pg.filter, err = references.ParseCondition("FilterExpression", *pg.in.FilterExpression, p); err != nil {
			return err
		}
	}

	if pg.in.ProjectionExpression != nil {
		if pg.project, err = references.ParseProjection(*pg.in.ProjectionExpression, p); err != nil {
			return err
		}
	}

	if p == nil {
		return nil
	}

	return p.Unused()
}

// read collects the items with lo <= key < hi, up to the limits of a page. It returns when
// everything that it has read is on disk.
func (pg *page) read(s *Service, lo, hi []byte, reverse bool) error {
	limit := -1
	if pg.in.Limit != nil {
		limit = int(*pg.in.Limit)
	}

	// The page ends with the item that fills it, but only a next item shows whether there is more: at
	// the end of the table there is no LastEvaluatedKey. A page that ends by Limit always has one, as
	// on AWS.
	err := pg.scan(s, lo, hi, reverse, func(value []byte) (more bool, err error) {
		if pg.bytes >= maxPage {
			pg.last = pg.full
			return false, nil
		}

		if err := pg.take(s, value); err != nil {
			return false, err
		}

		switch {
		case pg.scanned == limit:
			pg.last, err = pg.lastKey(value)
			return false, err
		case pg.bytes >= maxPage:
			pg.full, err = pg.lastKey(value)
		}

		return true, err
	})
	if err != nil {
		return err
	}

	if err := pg.view.checkThere(); err != nil {
		return err
	}

	return s.db.Barrier()
}

// scan calls take with the stored values between lo and hi. One primary key is looked up, which takes
// a small part of the time that a scan of its range takes.
func (pg *page) scan(s *Service, lo, hi []byte, reverse bool, take func(value []byte) (more bool, err error)) error {
	if !pg.single {
		return s.db.Scan(lo, hi, reverse, func(_, value []byte) (bool, error) { return take(value) })
	}

	value, found, err := s.db.Get(lo)
	if err == nil && found {
		_, err = take(value)
	}

	return err
}

// lastKey returns the LastEvaluatedKey of a page that ends with a stored value.
func (pg *page) lastKey(value []byte) (attr.Item, error) {
	item, err := stored.Item(value).Decode()
	if err != nil {
		return nil, err
	}

	return pg.view.lastKey(item), nil
}

// charge reports the capacity that the page consumed.
func (pg *page) charge(s *Service) {
	spent := pg.spent()
	s.charge(pg.view.table.Name, spent.Total(), 0)
}

// take counts one item and adds it to the page if the filter matches.
func (pg *page) take(s *Service, value []byte) (err error) {
	pg.scanned++

	// Counted before the filter: AWS bills and limits the items that it reads.
	pg.bytes += stored.Item(value).Size()

	// The usual page copies stored items into the answer without decoding them.
	if !pg.decodes() {
		if pg.countMatch() {
			pg.items, err = stored.Item(value).AppendJSON(pg.items)
		}

		return err
	}

	item, err := s.itemOf(pg, value) // decoding copies the value
	if err != nil {
		return err
	}

	if pg.filter != nil {
		if match, err := pg.filter.Match(item); err != nil || !match {
			return err
		}
	}

	if !pg.countMatch() {
		return nil
	}

	switch {
	case pg.shape != nil:
		item = pg.shape(item)
	case pg.project != nil:
		item = pg.project.Apply(item)
	}
	pg.items = item.AppendJSON(pg.items)

	return nil
}

// decodes reports whether the page needs its items decoded, because it does not show all items as
// they are stored.
func (pg *page) decodes() bool {
	return pg.filter != nil || pg.shape != nil || pg.project != nil || pg.view.fetch
}

// countMatch counts an item that the filter lets through. It reports whether the page shows items.
// If so, it makes room for this one.
func (pg *page) countMatch() (shown bool) {
	pg.count++
	if pg.in.Select == "COUNT" {
		return false
	}

	switch {
	case pg.items == nil:
		room := roomForMembers + 2*pg.bytes
		if !pg.single {
			room = pg.view.table.Room.First()
		}
		pg.items = append(wire.Buffer(room), beforeItems...)
	default:
		// An item takes about twice its size as JSON.
		if cap(pg.items)-len(pg.items) < pg.bytes/pg.scanned*2 {
			pg.items = wire.Grow(pg.items, len(pg.items)) // append alone takes a quarter more at a time
		}
		pg.items = append(pg.items, ',')
	}

	return true
}

// answer returns the answer of Query and Scan.
func (pg *page) answer() json.RawMessage {
	out := pg.begin()
	out.Int("Count", pg.count)
	out.Int("ScannedCount", pg.scanned)

	if pg.last != nil {
		out.Item("LastEvaluatedKey", pg.last)
	}
	capacity.Add(out, pg.in.ReturnConsumedCapacity, pg.view.table.Name, pg.spent())

	return out.Done()
}

// begin returns the beginning of the answer, with the items if they are asked for. begin may be
// called once.
func (pg *page) begin() *answer.Object {
	switch {
	case pg.in.Select == "COUNT":
		return answer.New(roomForMembers)
	case pg.items == nil:
		pg.items = append(make([]byte, 0, roomForMembers), beforeItems...)
	case !pg.single:
		pg.view.table.Room.Learn(len(pg.items) + roomForMembers)
	}

	return &answer.Object{Buf: append(pg.items, ']')}
}
