package dynamodb

import (
	"maps"
	"slices"
	"strconv"

	"ratchet/embedded/internal/wire"
)

// checkCapacity validates ReturnConsumedCapacity.
func checkCapacity(value string) error {
	return wire.OneOf(value, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}

// halfUnits counts capacity in halves of units: an eventually consistent read costs half a
// unit.
type halfUnits int

// readUnits returns the cost of reading so many bytes in one call: a unit for each 4 KB, half
// of that if eventually consistent. A missing item costs as much as a small one.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
func readUnits(bytes int, consistent bool) halfUnits {
	steps := max(1, (bytes+4095)/4096)
	if consistent {
		return halfUnits(2 * steps)
	}

	return halfUnits(steps)
}

// writeUnits returns the cost of a change: a unit for each 1 KB of the larger of the item
// before and the item after, double that in a transaction.
func (c *change) writeUnits() halfUnits { return c.unitsOf(max(c.oldSize, c.newSize)) }

// refusedUnits returns the cost of a failed condition: that of the existing item, one unit
// if there is none. The answer does not report it, but AWS bills it.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.ConditionalUpdate
func (c *change) refusedUnits() halfUnits { return c.unitsOf(c.oldSize) }

func (c *change) unitsOf(bytes int) halfUnits {
	units := halfUnits(2 * max(1, (bytes+1023)/1024))
	if c.transacted {
		return 2 * units
	}

	return units
}

func appendUnits(dst []byte, h halfUnits) []byte {
	return strconv.AppendFloat(dst, float64(h)/2, 'f', 1, 64)
}

// consumed adds the ConsumedCapacity of one table to the answer if the request asks for it.
func (a *answer) consumed(want, table string, units halfUnits) {
	if want == "TOTAL" || want == "INDEXES" {
		a.name("ConsumedCapacity").buf = appendConsumed(a.buf, want, table, units, "")
	}
}

// appendConsumed appends one ConsumedCapacity. A transaction also reports the units under
// their kind, "ReadCapacityUnits" or "WriteCapacityUnits"; kind is empty for others.
func appendConsumed(dst []byte, want, table string, units halfUnits, kind string) []byte {
	counts := func(dst []byte) []byte {
		dst = appendUnits(append(dst, `"CapacityUnits":`...), units)
		if kind != "" {
			dst = append(dst, `,"`+kind+`":`...)
			dst = appendUnits(dst, units)
		}

		return dst
	}
	dst = appendText(append(dst, `{"TableName":`...), table)
	dst = counts(append(dst, ','))
	if want == "INDEXES" {
		dst = append(counts(append(dst, `,"Table":{`...)), '}')
	}

	return append(dst, '}')
}

// charge reports to Config.Consumed what a call consumed.
func (s *Service) charge(table string, read, write halfUnits) {
	if s.cfg.Consumed != nil {
		s.cfg.Consumed(table, float64(read)/2, float64(write)/2)
	}
}

// consumedBy adds the ConsumedCapacity of several tables to the answer if the request asks
// for it.
func (a *answer) consumedBy(want string, sum map[string]halfUnits, kind string) {
	if want != "TOTAL" && want != "INDEXES" {
		return
	}
	a.name("ConsumedCapacity")

	a.buf = append(a.buf, '[')
	for i, name := range slices.Sorted(maps.Keys(sum)) {
		if i > 0 {
			a.buf = append(a.buf, ',')
		}
		a.buf = appendConsumed(a.buf, want, name, sum[name], kind)
	}
	a.buf = append(a.buf, ']')
}
