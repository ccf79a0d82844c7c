package dynamodb

import (
	"strconv"

	"ratchet/embedded/internal/wire"
)

// checkCapacity validates ReturnConsumedCapacity.
func checkCapacity(value string) error {
	return wire.OneOf(value, "returnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
}

// Units are counted in halves, so that they stay whole numbers.
type halves int

// readUnits is what reading so many bytes in one go costs: 4 KB a unit, half of
// it when eventually consistent; what is not there still costs one step.
func readUnits(bytes int, consistent bool) halves {
	steps := max(1, (bytes+4095)/4096)
	if consistent {
		return halves(2 * steps)
	}

	return halves(steps)
}

// writeUnits is what a change costs: 1 KB a unit, of the larger of the two items, and
// twice that in a transaction.
func (c *change) writeUnits() halves { return c.unitsOf(max(c.oldSize, c.newSize)) }

// refusedUnits is what a failed condition costs: by the item that is there, or one
// unit when there is none. The answer does not tell it, the bill does.
// Rule: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.ConditionalUpdate
func (c *change) refusedUnits() halves { return c.unitsOf(c.oldSize) }

func (c *change) unitsOf(bytes int) halves {
	units := halves(2 * max(1, (bytes+1023)/1024))
	if c.transacted {
		return 2 * units
	}

	return units
}

func appendUnits(dst []byte, h halves) []byte {
	return strconv.AppendFloat(dst, float64(h)/2, 'f', 1, 64)
}

// consumed adds the ConsumedCapacity of one table to the answer, if asked for.
func (a *answer) consumed(want, table string, units halves) {
	if want == "TOTAL" || want == "INDEXES" {
		a.name("ConsumedCapacity").buf = appendConsumed(a.buf, want, table, units, "")
	}
}

// appendConsumed appends one ConsumedCapacity. A transaction also tells the
// units by their kind, "ReadCapacityUnits" or "WriteCapacityUnits".
func appendConsumed(dst []byte, want, table string, units halves, kind string) []byte {
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

// charge tells Config.Consumed what a call consumed, whether or not the answer does.
func (s *Service) charge(table string, read, write halves) {
	if s.cfg.Consumed != nil {
		s.cfg.Consumed(table, float64(read)/2, float64(write)/2)
	}
}
