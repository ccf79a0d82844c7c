package streams

import (
	"sync/atomic"
	"time"
)

// sequencer assigns the sequences of one stream. It never goes back, whatever the clock
// does.
type sequencer struct{ last atomic.Uint64 }

// next returns a sequence above all earlier ones and not below now.
func (c *sequencer) next(now time.Time) sequence {
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
func (c *sequencer) raise(s sequence) {
	for {
		last := c.last.Load()
		if last >= uint64(s) || c.last.CompareAndSwap(last, uint64(s)) {
			return
		}
	}
}
