package lineage

import (
	"errors"
	"time"
)

const (
	// ConfirmingAnswers is how many answers in a row must say that something is gone before the
	// poller acts on them.
	ConfirmingAnswers = 3
	// maxConfirmOver is the largest value of Config.confirmOver: the time that must pass from the
	// first of these answers to the last.
	maxConfirmOver = 30 * time.Second
)

// ErrUnconfirmed reports that the service said that something is gone, but not often enough yet to
// act on it.
var ErrUnconfirmed = errors.New("streams: not confirmed yet")

// Confirmation counts the answers that say that something is gone: a shard, a stream, or records.
// One answer may be wrong, and acting on it cannot be undone. The zero value has no answers. Set it
// to the zero value after an answer that says the opposite.
type Confirmation struct {
	answers int
	since   time.Time // of the first answer
}

// Confirmed counts an answer that came at now. It reports whether there are ConfirmingAnswers, over at
// least the given time.
func (d *Confirmation) Confirmed(now time.Time, over time.Duration) bool {
	return d.confirmedBy(ConfirmingAnswers, now, over)
}

// confirmedBy is Confirmed with another number of answers.
func (d *Confirmation) confirmedBy(answers int, now time.Time, over time.Duration) bool {
	if d.answers == 0 {
		d.since = now
	}
	d.answers++

	return d.answers >= answers && now.Sub(d.since) >= over
}
