package dynamodb

import "ratchet/embedded/internal/dynamodb/indexes"

// computeIndexes sets the changes of the entries in the table's indexes. It fails if the new item
// cannot be in one of them.
func (s *Service) computeIndexes(c *change) error {
	all := c.state.Record.Indexes

	// An item that does not change may break the rules of an index that is newer than the item.
	if len(all) == 0 || c.verb == check || !c.differs() {
		return nil
	}

	c.indexes = make([]indexes.Change, len(all))
	for i := range all {
		x := &all[i]
		if err := x.CheckItem(c.new, c.verb == update); err != nil {
			return err
		}

		d := indexes.Change{Index: x, Old: x.EntryOf(&c.table.Space, c.old, c.key.Bytes), New: x.EntryOf(&c.table.Space, c.new, c.key.Bytes)}
		if x.Building && d.Old.Key != nil {
			// The old item may not have been entered yet, and is then neither removed nor counted.
			_, entered, err := s.db.Get(d.Old.Key)
			if err != nil {
				return err
			}

			if !entered {
				d.Old = indexes.Entry{}
			}
		}
		c.indexes[i] = d
	}

	return nil
}
