package dynamodb

import (
	"bytes"
	"encoding/json"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// verb is the kind of an action.
type verb uint8

const (
	put verb = iota
	update
	remove
	check // only the condition; in transactions
)

// action is a checked request to write one item.
type action struct {
	verb   verb
	table  *catalog.Table
	key    keyspace.Primary
	item   attr.Item          // put: the new item
	update *expression.Update // update: nil changes nothing but creates the item
	cond   *expression.Condition
	// returnOld asks for the item in a failed condition's answer
	// (ReturnValuesOnConditionCheckFailure=ALL_OLD).
	returnOld bool
	// needOld asks for change.old, unchanged, even if the action itself does not need it.
	needOld bool
	// insert marks a put that must find no item.
	insert bool
	// mayMiss marks an action whose condition counts only if there is an item.
	mayMiss bool
	// values is the size in bytes of the values of an action's expressions. Only transactions need it.
	values int
	// transacted marks an action of a transaction, which costs double.
	transacted bool
	// expireAt marks a removal by the sweep. It removes only an item whose time to live ends
	// at that second or before. 0: an ordinary action.
	expireAt int64
}

// change is an action evaluated against the item as it was.
type change struct {
	*action
	state *catalog.State
	// old is decoded only if the action, the answer, an index or the time to live needs it.
	old, new       attr.Item
	oldRaw, newRaw stored.Item // nil: no item
	oldSize        int
	newSize        int
	indexes        []indexes.Change
}

// differs reports whether the change alters the item. If not, the action is acknowledged without a write
// and without a stream record, as on AWS.
func (c *change) differs() bool {
	return c.verb != check && !bytes.Equal(c.oldRaw, c.newRaw)
}

// perform reads the item, evaluates the action and writes the item. It holds the item's
// stripe until the change is on disk.
func (s *Service) perform(a *action) (*change, error) {
	st := s.stripes.Of(a.key.Lock)
	st.Lock()
	defer st.Unlock()

	c, err := s.evaluate(a)
	if err != nil {
		return nil, err
	}

	if !c.differs() {
		// AWS bills a write even if it changes nothing.
		s.charge(a.table.Name, 0, c.writeUnits())
		return c, nil
	}

	b := s.db.NewBatch()
	record, streamed := c.stage(b)

	// The version is odd from before the change is visible until the change is on disk,
	// see stripes.Stripe.Read.
	st.Begin()
	defer st.End()

	if streamed {
		err = streams.Commit(b, s.cfg.Clock.Now(), record)
	} else {
		err = b.Commit()
	}

	if err != nil {
		return nil, err
	}
	c.updateCounts()
	s.charge(a.table.Name, 0, c.writeUnits())

	return c, nil
}

// evaluate reads the item, checks the condition and computes the new item. The caller holds
// the item's stripe.
func (s *Service) evaluate(a *action) (*change, error) {
	c := &change{action: a, state: a.table.State()}
	if c.state.Deleted {
		return nil, catalog.Missing()
	}

	get := s.db.Get
	if a.verb == put {
		get = s.db.GetRare // most items that are put are new
	}

	raw, ok, err := get(a.key.Bytes)
	if err != nil {
		return nil, err
	}

	if ok {
		c.oldRaw, c.oldSize = raw, stored.Item(raw).Size()

		// Without one of these the stored bytes are enough.
		if a.cond != nil || a.needOld || a.verb == update || c.keepsOld() {
			if c.old, err = c.oldRaw.Decode(); err != nil {
				return nil, err
			}
		}
	}

	// The change has the same bytes before and after, so that nothing is written.
	if a.expireAt != 0 && !c.isExpired() {
		c.newRaw, c.newSize = c.oldRaw, c.oldSize
		return c, nil
	}

	// Billed like a failed condition.
	if a.insert && c.oldRaw != nil {
		s.charge(a.table.Name, 0, c.refusedUnits())
		return nil, wire.Errorf("DuplicateItemException", "Duplicate primary key exists in table")
	}

	if a.cond != nil && (c.oldRaw != nil || !a.mayMiss) {
		match, err := a.cond.Match(c.old)
		if err != nil {
			return nil, err
		}

		if !match {
			s.charge(a.table.Name, 0, c.refusedUnits())
			return nil, c.conditionFailed()
		}
	}

	if err := c.compute(); err != nil {
		return nil, err
	}

	return c, s.computeIndexes(c)
}

// keepsOld reports whether the old item is needed beside the new one, for the table's indexes
// or its time to live.
func (c *change) keepsOld() bool { return c.state.Record.TTL != "" || len(c.state.Record.Indexes) > 0 }

// compute sets the item after the change.
func (c *change) compute() error {
	switch c.verb {
	case remove, check:
		c.newRaw = nil
		return nil
	case put:
		c.new = c.item
	case update:
		base := c.old

		// A missing item is created with its key.
		if base == nil {
			base = c.key.Attrs
		}

		c.new = base
		if c.update == nil {
			break
		}

		var err error
		switch {
		case c.oldRaw == nil:
			c.new, err = c.update.Create(base)
		case c.old != nil && !c.needOld && !c.keepsOld():
			// Nothing reads the old item after this: it is changed in place.
			c.new, err = c.update.Change(c.old)
			c.old = nil
		default:
			c.new, err = c.update.Apply(base)
		}

		if err != nil {
			return err
		}

		if c.oldRaw == nil && len(c.new) == len(base) {
			return nil // REMOVE and DELETE alone create no item
		}
	}

	c.newSize = c.new.Size()
	if c.newSize > maxItem {
		if c.verb == update {
			return invalid("Item size to update has exceeded the maximum allowed size")
		}
		return invalid("Item size has exceeded the maximum allowed size")
	}
	c.newRaw = stored.New(c.new, c.newSize)

	return nil
}

// stage adds the change to the batch and returns its stream record, if the table has a
// stream.
func (c *change) stage(b *store.Batch) (record streams.Change, streamed bool) {
	if c.newRaw == nil {
		b.Delete(c.key.Bytes)
	} else {
		b.Set(c.key.Bytes, c.newRaw)
	}
	c.stageExpiry(b)

	for i := range c.indexes {
		c.indexes[i].Stage(b)
	}

	if c.state.Stream == nil {
		return record, false
	}

	keySize := c.key.Attrs.Size()
	record = streams.Change{
		Stream:  c.state.Stream,
		Hash:    c.key.Partition,
		Event:   streams.Modify,
		Expired: c.expireAt != 0,
		Keys:    attr.AppendBinary(make([]byte, 0, keySize+len(c.key.Attrs)*4+16), c.key.Attrs),
		New:     c.newRaw.Encoding(),
		Old:     c.oldRaw.Encoding(),
		Size:    keySize,
	}

	// The size of a record counts the images that its view shows.
	switch c.state.Stream.View() {
	case streams.NewImage:
		record.Size += c.newSize
	case streams.OldImage:
		record.Size += c.oldSize
	case streams.NewAndOldImages:
		record.Size += c.newSize + c.oldSize
	}

	switch {
	case c.oldRaw == nil:
		record.Event = streams.Insert
	case c.newRaw == nil:
		record.Event = streams.Remove
	}

	return record, true
}

// updateCounts counts a change that is on disk.
func (c *change) updateCounts() {
	items := int64(0)
	if c.newRaw != nil {
		items++
	}

	if c.oldRaw != nil {
		items--
	}

	c.table.CountItems(items, int64(c.newSize-c.oldSize))
	c.table.CountEntries(c.indexes)
}

// conditionFailed returns the error of a change whose condition does not hold.
func (c *change) conditionFailed() *wire.Error {
	e := wire.Errorf("ConditionalCheckFailedException", "The conditional request failed")
	if c.returnOld && c.old != nil {
		e.Members = map[string]any{"Item": json.RawMessage(c.old.AppendJSON(make([]byte, 0, 2*c.oldSize)))}
	}

	return e
}
