package dynamodb

import (
	"maps"
	"slices"
	"strconv"

	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/wire"
)

// checkCapacity validates ReturnConsumedCapacity.
func checkCapacity(value string) error {
	return wire.OneOf(value, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}

// halfUnits counts capacity in halves of units: an eventually consistent read costs half a
// unit.
type halfUnits int

// readUnits returns the cost of reading a number of bytes in one call: a unit for each 4 KB, half
// of that if eventually consistent. A missing item costs as much as a small one.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
func readUnits(bytes int, consistent bool) halfUnits {
	steps := max(1, (bytes+4095)/4096)
	if consistent {
		return halfUnits(2 * steps)
	}

	return halfUnits(steps)
}

// spent is the capacity that a call consumed in one table and its indexes.
type spent struct {
	table   halfUnits
	indexes []indexSpent
}

// indexSpent is the capacity that a call consumed in one index.
type indexSpent struct {
	index *indexRecord
	units halfUnits
}

// onTable returns the consumption of a call that used no index.
func onTable(units halfUnits) spent { return spent{table: units} }

func (s *spent) total() halfUnits {
	sum := s.table
	for _, x := range s.indexes {
		sum += x.units
	}

	return sum
}

// add adds the consumption of another call in the same table.
func (s *spent) add(other spent) {
	s.table += other.table

	for _, x := range other.indexes {
		i := slices.IndexFunc(s.indexes, func(o indexSpent) bool { return o.index.Name == x.index.Name })
		if i < 0 {
			s.indexes = append(s.indexes, x)
		} else {
			s.indexes[i].units += x.units
		}
	}
}

// spendings sums up by table.
type spendings map[string]*spent

func (s spendings) add(table string, other spent) {
	if s[table] == nil {
		s[table] = &spent{}
	}

	s[table].add(other)
}

// spent returns the cost of a change: a unit for each 1 KB of the larger of the item before
// and the item after, and the units of the entries that it changes in indexes. A transaction
// doubles the whole cost.
func (c *change) spent() spent {
	out := spent{table: c.unitsOf(max(c.oldSize, c.newSize))}
	for i := range c.indexes {
		units := c.indexes[i].units()
		if c.transacted {
			units *= 2
		}

		// An entry that stays as it is costs nothing and is not reported.
		if units > 0 {
			out.indexes = append(out.indexes, indexSpent{c.indexes[i].index, units})
		}
	}

	return out
}

// writeUnits returns the cost of the change in the table and its indexes.
func (c *change) writeUnits() halfUnits {
	s := c.spent()
	return s.total()
}

// refusedUnits returns the cost of a failed condition: the cost of the existing item, or one unit
// if there is none. AWS bills it, but does not report it in the answer.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.ConditionalUpdate
func (c *change) refusedUnits() halfUnits { return c.unitsOf(c.oldSize) }

func (c *change) unitsOf(bytes int) halfUnits {
	// AWS rounds up to whole KB before a transaction doubles the units.
	units := halfUnits(2 * max(1, (bytes+1023)/1024))
	if c.transacted {
		return 2 * units
	}

	return units
}

func appendUnits(dst []byte, h halfUnits) []byte {
	return strconv.AppendFloat(dst, float64(h)/2, 'f', 1, 64)
}

// addConsumed adds the ConsumedCapacity of one table to the answer if the request asks for it.
func addConsumed(a *answer.Object, want, table string, s spent) {
	if want == "TOTAL" || want == "INDEXES" {
		a.Name("ConsumedCapacity").Buf = appendConsumed(a.Buf, want, table, &s, "")
	}
}

// appendConsumed appends one ConsumedCapacity. A transaction also reports the units under
// their kind, "ReadCapacityUnits" or "WriteCapacityUnits"; kind is empty for others.
func appendConsumed(dst []byte, want, table string, s *spent, kind string) []byte {
	counts := func(dst []byte, units halfUnits) []byte {
		dst = appendUnits(append(dst, `"CapacityUnits":`...), units)
		if kind != "" {
			dst = append(dst, `,"`+kind+`":`...)
			dst = appendUnits(dst, units)
		}

		return dst
	}
	dst = answer.AppendText(append(dst, `{"TableName":`...), table)
	dst = counts(append(dst, ','), s.total())

	// TOTAL asks for the sum alone.
	if want == "INDEXES" {
		dst = append(counts(append(dst, `,"Table":{`...), s.table), '}')
		dst = appendIndexes(dst, "GlobalSecondaryIndexes", s, false, counts)
		dst = appendIndexes(dst, "LocalSecondaryIndexes", s, true, counts)
	}

	return append(dst, '}')
}

// appendIndexes appends the units of the local or global indexes, if there are any.
func appendIndexes(dst []byte, name string, s *spent, local bool, counts func([]byte, halfUnits) []byte) []byte {
	first := true
	for _, x := range s.indexes {
		if x.index.Local != local {
			continue
		}

		// The member appears only with its first index.
		if first {
			dst = append(append(append(dst, `,"`...), name...), `":{`...)
		} else {
			dst = append(dst, ',')
		}

		first = false
		dst = append(answer.AppendText(dst, x.index.Name), ':', '{')
		dst = append(counts(dst, x.units), '}')
	}

	if !first {
		dst = append(dst, '}')
	}

	return dst
}

// charge reports the consumption of a call to Config.Consumed.
func (s *Service) charge(table string, read, write halfUnits) {
	if s.cfg.Consumed != nil {
		s.cfg.Consumed(table, float64(read)/2, float64(write)/2)
	}
}

// addConsumedBy adds the ConsumedCapacity of several tables to the answer if the request asks
// for it.
func addConsumedBy(a *answer.Object, want string, sum spendings, kind string) {
	if want != "TOTAL" && want != "INDEXES" {
		return
	}
	a.Name("ConsumedCapacity")

	a.Buf = append(a.Buf, '[')
	for i, name := range slices.Sorted(maps.Keys(sum)) {
		if i > 0 {
			a.Buf = append(a.Buf, ',')
		}
		a.Buf = appendConsumed(a.Buf, want, name, sum[name], kind)
	}
	a.Buf = append(a.Buf, ']')
}
