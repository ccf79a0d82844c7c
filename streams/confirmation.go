package streams

import (
	"errors"
	"time"
)

const (
	// confirmingAnswers is how many answers in a row must say that something is gone
	// before that is believed.
	confirmingAnswers = 3
	// maxConfirmOver is the longest time over which they must have come.
	maxConfirmOver = 30 * time.Second
)

// errUnconfirmed reports that an answer of the service would be acted on only if it
// came again.
var errUnconfirmed = errors.New("streams: not confirmed yet")

// confirmation counts the answers that say that something is gone: a shard, a stream, or
// records. One answer may be wrong, and acting on it cannot be undone. The
// zero value is without answers; reset it after an answer that says the opposite.
type confirmation struct {
	answers int
	since   time.Time // of the first answer
}

// confirmed counts an answer that came at now. It reports whether it has been
// confirmed often enough, over at least the given time.
func (d *confirmation) confirmed(now time.Time, over time.Duration) bool {
	if d.answers == 0 {
		d.since = now
	}
	d.answers++

	return d.answers >= confirmingAnswers && now.Sub(d.since) >= over
}
