package streams

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// sequence orders the records of a stream. The upper 44 bits are milliseconds
// since 1970, the lower 20 a counter: the number itself tells when its record
// was written, and a clock that steps back is outrun by the counter.
type sequence uint64

const counterBits = 20

// sequenceAt is the smallest sequence of a moment's millisecond.
func sequenceAt(t time.Time) sequence {
	return sequence(max(t.UnixMilli(), 0)) << counterBits
}

func (s sequence) time() time.Time { return time.UnixMilli(int64(s >> counterBits)) }

// String is the number as callers see it: always 21 digits, no leading zero, so
// that comparing texts and comparing numbers agree.
func (s sequence) String() string { return fmt.Sprintf("1%020d", uint64(s)) }

func parseSequence(text string) (sequence, error) {
	if len(text) != 21 || text[0] != '1' {
		return 0, errors.New("not a sequence number of this engine")
	}
	n, err := strconv.ParseUint(text[1:], 10, 64)

	return sequence(n), err
}

// clock allots the sequences of one stream.
type clock struct{ last atomic.Uint64 }

// next returns a sequence above all earlier ones, not below the moment's.
func (c *clock) next(now time.Time) sequence {
	floor := uint64(sequenceAt(now))
	for {
		last := c.last.Load()
		n := max(last+1, floor)
		if c.last.CompareAndSwap(last, n) {
			return sequence(n)
		}
	}
}

// raise makes every later sequence larger than s.
func (c *clock) raise(s sequence) {
	for {
		last := c.last.Load()
		if last >= uint64(s) || c.last.CompareAndSwap(last, uint64(s)) {
			return
		}
	}
}
