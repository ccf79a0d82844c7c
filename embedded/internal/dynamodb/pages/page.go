package pages

import (
	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/dynamodb/views"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// maxPage is how many bytes of items one Query or Scan reads, before it filters them.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
const maxPage = 1 << 20

// Page collects one page of items between two store keys.
type Page struct {
	In      *Request
	View    *views.View
	Filter  *expression.Condition
	Project *expression.Projection
	// LegacyFilter is set if the filter is a QueryFilter.
	LegacyFilter bool
	// Single is set if the bounds of the page hold exactly one primary key.
	Single bool
	// Shape makes a row of a SELECT from an item. It is nil for whole items, and if Project is set.
	Shape func(attr.Item) attr.Item
	// Last is the LastEvaluatedKey, nil at the end.
	Last attr.Item

	// items is the beginning of the answer: the items so far as JSON elements, with commas between
	// them. It is nil before the first one.
	items          []byte
	count, scanned int
	bytes          int            // read from the table or the index
	fetched        capacity.Units // for items fetched from the table for an index
	// full is the key of the item that filled the page.
	full attr.Item
}

// SetLegacyFilter sets the filter to a QueryFilter or ScanFilter.
func (pg *Page) SetLegacyFilter(filter map[string]legacy.Condition) error {
	list, err := legacy.Comparisons(filter)
	if err != nil {
		return err
	}

	pg.Filter, err = legacy.Joined(list, pg.In.ConditionalOperator)
	pg.LegacyFilter = pg.Filter != nil

	return err
}

// Parse parses the filter and the projection, the last expressions of the request. p is nil if the
// request has no expressions.
func (pg *Page) Parse(p *expression.Params) (err error) {
	if pg.In.FilterExpression != nil {
		if pg.Filter, err = references.ParseCondition("FilterExpression", *pg.In.FilterExpression, p); err != nil {
			return err
		}
	}

	if pg.In.ProjectionExpression != nil {
		if pg.Project, err = references.ParseProjection(*pg.In.ProjectionExpression, p); err != nil {
			return err
		}
	}

	if p == nil {
		return nil
	}

	return p.Unused()
}

// Read collects the items with lo <= key < hi, up to the limits of a page. It returns when
// everything that it has read is on disk.
func (pg *Page) Read(db *store.DB, lo, hi []byte, reverse bool) error {
	limit := -1
	if pg.In.Limit != nil {
		limit = int(*pg.In.Limit)
	}

	// The page ends with the item that fills it, but only a next item shows whether there is more: at
	// the end of the table there is no LastEvaluatedKey. A page that ends by Limit always has one, as
	// on AWS.
	err := pg.scan(db, lo, hi, reverse, func(value []byte) (more bool, err error) {
		if pg.bytes >= maxPage {
			pg.Last = pg.full
			return false, nil
		}

		if err := pg.take(db, value); err != nil {
			return false, err
		}

		switch {
		case pg.scanned == limit:
			pg.Last, err = pg.lastKey(value)
			return false, err
		case pg.bytes >= maxPage:
			pg.full, err = pg.lastKey(value)
		}

		return true, err
	})
	if err != nil {
		return err
	}

	if err := pg.View.CheckThere(); err != nil {
		return err
	}

	return db.Barrier()
}

// scan calls take with the stored values between lo and hi. One primary key is looked up, which takes
// a small part of the time that a scan of its range takes.
func (pg *Page) scan(db *store.DB, lo, hi []byte, reverse bool, take func(value []byte) (more bool, err error)) error {
	if !pg.Single {
		return db.Scan(lo, hi, reverse, func(_, value []byte) (bool, error) { return take(value) })
	}

	value, found, err := db.Get(lo)
	if err == nil && found {
		_, err = take(value)
	}

	return err
}

// lastKey returns the LastEvaluatedKey of a page that ends with a stored value.
func (pg *Page) lastKey(value []byte) (attr.Item, error) {
	item, err := stored.Item(value).Decode()
	if err != nil {
		return nil, err
	}

	return pg.View.LastKey(item), nil
}

// take counts one item and adds it to the page if the filter matches.
func (pg *Page) take(db *store.DB, value []byte) (err error) {
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

	item, err := pg.itemOf(db, value) // decoding copies the value
	if err != nil {
		return err
	}

	if pg.Filter != nil {
		if match, err := pg.Filter.Match(item); err != nil || !match {
			return err
		}
	}

	if !pg.countMatch() {
		return nil
	}

	switch {
	case pg.Shape != nil:
		item = pg.Shape(item)
	case pg.Project != nil:
		item = pg.Project.Apply(item)
	}
	pg.items = item.AppendJSON(pg.items)

	return nil
}

// decodes reports whether the page needs its items decoded, because it does not show all items as
// they are stored.
func (pg *Page) decodes() bool {
	return pg.Filter != nil || pg.Shape != nil || pg.Project != nil || pg.View.Fetch
}

// countMatch counts an item that the filter lets through. It reports whether the page shows items.
// If so, it makes room for this one.
func (pg *Page) countMatch() (shown bool) {
	pg.count++
	if pg.In.Select == "COUNT" {
		return false
	}

	switch {
	case pg.items == nil:
		room := roomForMembers + 2*pg.bytes
		if !pg.Single {
			room = pg.View.Table.Room.First()
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

// itemOf returns the item of a stored value: an entry of the index, or the table's item where
// the entry does not have enough. It counts what is fetched from the table.
func (pg *Page) itemOf(db *store.DB, raw stored.Item) (item attr.Item, err error) {
	v := pg.View
	if item, err = raw.Decode(); err != nil || !v.Fetch {
		return item, err
	}

	key, err := v.Table.PrimaryOf(v.Table.KeyAttrs(item))
	if err != nil {
		return nil, err
	}

	whole, ok, err := db.Get(key.Bytes)
	if err != nil || !ok {
		return item, err // the item went after the entry was read
	}

	// AWS charges each fetched item as a read of its own.
	pg.fetched += capacity.Read(stored.Item(whole).Size(), pg.In.ConsistentRead)

	return stored.Item(whole).Decode()
}
