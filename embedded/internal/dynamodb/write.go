package dynamodb

import (
	"bytes"
	"encoding/json"
	"time"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// verb is what an action does to its item.
type verb uint8

const (
	put verb = iota
	update
	remove
	check // only the condition; of a transaction
)

// action is one checked request to write one item.
type action struct {
	verb   verb
	table  *table
	key    primary
	item   attr.Item          // put: the new item
	update *expression.Update // update: nil changes nothing but creates the item
	cond   *expression.Condition
	// returnOld asks for the item in a failed condition's answer
	// (ReturnValuesOnConditionCheckFailure=ALL_OLD).
	returnOld bool
	// needOld asks for change.old even where the action itself does without, and to
	// leave it as it is.
	needOld bool
	// transacted marks a part of a transaction: it costs twice.
	transacted bool
	// expireAt marks a removal by the sweep: only of an item whose time to live
	// ended at that second or before. 0: an ordinary action.
	expireAt int64
}

// change is an action judged against the item as it was.
type change struct {
	*action
	state *tableState
	// old is decoded only where somebody needs it.
	old, new       attr.Item
	oldRaw, newRaw stored // nil: no item
	oldSize        int
	newSize        int
}

// differs reports whether the change changes anything. One that does not is
// acknowledged without a write and without a stream record, as on AWS.
func (c *change) differs() bool {
	return c.verb != check && !bytes.Equal(c.oldRaw, c.newRaw)
}

// perform carries out one action: read, judge and write under the item's
// stripe, which is held until the change is on disk.
func (s *Service) perform(a *action) (*change, error) {
	st := s.stripes.of(a.key.lock)
	st.mu.Lock()
	defer st.mu.Unlock()

	c, err := s.judge(a)
	if err != nil {
		return nil, err
	}

	if !c.differs() {
		s.charge(a.table.name, 0, c.writeUnits())
		return c, nil
	}
	b := s.db.NewBatch()
	record, streamed := c.stage(b)
	st.version.Add(1)
	defer st.version.Add(1)

	if streamed {
		err = streams.Commit(b, time.Now(), record)
	} else {
		err = b.Commit()
	}

	if err != nil {
		return nil, err
	}
	c.account()
	s.charge(a.table.name, 0, c.writeUnits())

	return c, nil
}

// judge reads the item, checks the condition and computes the new item. The
// caller holds the item's stripe.
func (s *Service) judge(a *action) (*change, error) {
	c := &change{action: a, state: a.table.state.Load()}
	if c.state.dropped {
		return nil, tableMissing()
	}

	raw, ok, err := s.db.Get(a.key.bytes)
	if err != nil {
		return nil, err
	}

	if ok {
		c.oldRaw, c.oldSize = raw, stored(raw).size()
		if a.cond != nil || a.needOld || a.verb == update || c.state.record.TTL != "" {
			if c.old, err = c.oldRaw.item(); err != nil {
				return nil, err
			}
		}
	}

	if a.expireAt != 0 && !c.lapsed() {
		c.newRaw, c.newSize = c.oldRaw, c.oldSize
		return c, nil
	}

	if a.cond != nil {
		match, err := a.cond.Match(c.old)
		if err != nil {
			return nil, err
		}

		if !match {
			s.charge(a.table.name, 0, c.refusedUnits())
			return nil, c.conditionFailed()
		}
	}

	return c, c.compute()
}

// compute sets the item as it will be.
func (c *change) compute() error {
	switch c.verb {
	case remove, check:
		c.newRaw = nil
		return nil
	case put:
		c.new = c.item
	case update:
		base := c.old
		if base == nil {
			base = c.key.attrs
		}

		c.new = base
		if c.update == nil {
			break
		}

		var err error
		if c.old != nil && !c.needOld && c.state.record.TTL == "" {
			// Nobody looks at the old item again, so it becomes the new one.
			c.new, err = c.update.Change(c.old)
			c.old = nil
		} else {
			c.new, err = c.update.Apply(base)
		}

		if err != nil {
			return err
		}

		if c.oldRaw == nil && len(c.new) == len(base) {
			return nil // nothing but REMOVE and DELETE: they create no item
		}
	}

	c.newSize = c.new.Size()
	if c.newSize > MaxItem {
		if c.verb == update {
			return invalid("Item size to update has exceeded the maximum allowed size")
		}
		return invalid("Item size has exceeded the maximum allowed size")
	}
	c.newRaw = newStored(c.new, c.newSize)

	return nil
}

// stage puts the change into b and returns its stream record, if its table
// has a stream.
func (c *change) stage(b *store.Batch) (record streams.Change, streamed bool) {
	if c.newRaw == nil {
		b.Delete(c.key.bytes)
	} else {
		b.Set(c.key.bytes, c.newRaw)
	}
	c.stageExpiry(b)

	if c.state.stream == nil {
		return record, false
	}
	record = streams.Change{
		Stream: c.state.stream, Hash: c.key.partition, Event: streams.Modify, Expired: c.expireAt != 0,
		Keys: attr.AppendBinary(nil, c.key.attrs), New: c.newRaw.encoding(), Old: c.oldRaw.encoding(),
		Size: c.key.attrs.Size(),
	}
	// A record's size counts what its view shows.
	switch c.state.stream.View() {
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

// account counts the change once it is on disk.
func (c *change) account() {
	items := int64(0)
	if c.newRaw != nil {
		items++
	}

	if c.oldRaw != nil {
		items--
	}

	if items != 0 {
		c.table.count.Add(items)
	}
	c.table.bytes.Add(int64(c.newSize - c.oldSize))
}

// conditionFailed is the refusal of a change whose condition did not hold.
func (c *change) conditionFailed() *wire.Error {
	e := wire.Errorf("ConditionalCheckFailedException", "The conditional request failed")
	if c.returnOld && c.old != nil {
		e.Members = map[string]any{"Item": json.RawMessage(c.old.AppendJSON(make([]byte, 0, 2*c.oldSize)))}
	}

	return e
}
