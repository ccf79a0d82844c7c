package dynamodb

import (
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/pages"
)

// spent returns the cost of a change: a unit for each 1 KB of the larger of the item before
// and the item after, and the units of the entries that it changes in indexes. A transaction
// doubles the whole cost.
func (c *change) spent() capacity.Spent {
	out := capacity.Spent{Table: c.unitsOf(max(c.oldSize, c.newSize))}
	for i := range c.indexes {
		units := c.indexes[i].Units()
		if c.transacted {
			units *= 2
		}

		// An entry that stays as it is costs nothing and is not reported.
		if units > 0 {
			out.Indexes = append(out.Indexes, capacity.Index{Name: c.indexes[i].Index.Name, Local: c.indexes[i].Index.Local, Units: units})
		}
	}

	return out
}

// writeUnits returns the cost of the change in the table and its indexes.
func (c *change) writeUnits() capacity.Units {
	s := c.spent()
	return s.Total()
}

// refusedUnits returns the cost of a failed condition: the cost of the existing item, or one unit
// if there is none. AWS bills it, but does not report it in the answer.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.ConditionalUpdate
func (c *change) refusedUnits() capacity.Units { return c.unitsOf(c.oldSize) }

func (c *change) unitsOf(bytes int) capacity.Units {
	// AWS rounds up to whole KB before a transaction doubles the units.
	units := capacity.Write(bytes)
	if c.transacted {
		return 2 * units
	}

	return units
}

// charge reports the consumption of a call to Config.Consumed.
func (s *Service) charge(table string, read, write capacity.Units) {
	if s.cfg.Consumed != nil {
		s.cfg.Consumed(table, read.Float(), write.Float())
	}
}

// chargePage reports the capacity that a page consumed.
func (s *Service) chargePage(pg *pages.Page) {
	spent := pg.Spent()
	s.charge(pg.View.Table.Name, spent.Total(), 0)
}
