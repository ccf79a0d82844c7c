package queues

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config says what to consume and how. SQS, QueueURL and Handler must be set.
type Config struct {
	// SQS is the SDK's client.
	SQS sqsAPI
	// QueueURL is the queue's. A FIFO queue is known by the suffix ".fifo".
	QueueURL string
	// Handler gets the messages; Middleware wraps it, the first outermost.
	Handler    Handler
	Middleware []Middleware
	// Slots bounds the messages held at once. A slot is taken before a poll is sent, so
	// no message waits for one. Default 10.
	Slots int
	// Pollers bounds the polls open at once. Default: one for every ten slots, at most 4.
	Pollers int
	// WaitTime is how long the service holds a poll open, 1 s to 20 s. Default 20 s.
	WaitTime time.Duration
	// Visibility is the visibility time-out that messages are received with and that is
	// renewed every third of it, 1 s to 12 h in whole seconds: how soon another consumer
	// gets the messages of one that has died. Default 30 s.
	Visibility time.Duration
	// Timeout bounds one call of the handler. Default 5 min; the service keeps a
	// message in flight for 12 h at most.
	Timeout time.Duration
	// Attempts is after how many receives a retry becomes a rejection; negative: never.
	// Receives that this consumer knows to have been nobody's fault (in progress, given
	// back unread) do not count. Default 5. A redrive policy of the queue counts them
	// all, so its maxReceiveCount should be some times higher.
	Attempts int
	// Backoff is the pause of a Retry that names none.
	Backoff Backoff
	// DeadLetterURL is the queue that rejected messages are sent to. Empty: they are
	// returned with a pause, until the queue's redrive policy takes them.
	DeadLetterURL string
	// DrainTimeout is how long running handlers may go on after a stop; then their
	// contexts end and they have DrainGrace to return. Defaults 30 s and 10 s.
	DrainTimeout, DrainGrace time.Duration
	// PollGrace is how long a stop waits for polls that are open: the service may hand
	// messages to a poll that was cut off, and these come again only when Visibility is
	// over. Default DrainTimeout; negative cuts polls off at once, which is right for an
	// engine in the same process.
	PollGrace time.Duration
	// FatalAfter is how long polls may fail with errors that no retry cures (no such
	// queue, access denied) before Run gives up. Default 2 min.
	FatalAfter time.Duration
	// Log gets faults and rejections, never bodies or attributes. Default: slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics.
	Events Events
}

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.SQS == nil || c.Handler == nil:
		return c, errors.New("queues: Config.SQS and Config.Handler must be set")
	case c.QueueURL == "":
		return c, errors.New("queues: Config.QueueURL is empty")
	case c.QueueURL == c.DeadLetterURL:
		return c, errors.New("queues: Config.DeadLetterURL is the queue itself")
	}
	or(&c.Slots, 10)
	or(&c.Pollers, max(1, min(4, c.Slots/maxBatch)))
	or(&c.WaitTime, 20*time.Second)
	or(&c.Visibility, 30*time.Second)
	or(&c.Timeout, 5*time.Minute)
	or(&c.DrainTimeout, 30*time.Second)
	or(&c.DrainGrace, 10*time.Second)
	or(&c.PollGrace, c.DrainTimeout)
	or(&c.FatalAfter, 2*time.Minute)

	if c.Log == nil {
		c.Log = slog.Default()
	}

	switch {
	case c.Slots < 1 || c.Pollers < 1:
		return c, fmt.Errorf("queues: %d slots and %d pollers, want at least 1", c.Slots, c.Pollers)
	case c.WaitTime < time.Second || c.WaitTime > 20*time.Second:
		return c, fmt.Errorf("queues: Config.WaitTime is %v, want 1s to 20s", c.WaitTime)
	case c.Visibility < time.Second || c.Visibility > maxVisibility || c.Visibility%time.Second != 0:
		return c, fmt.Errorf("queues: Config.Visibility is %v, want 1s to 12h in whole seconds", c.Visibility)
	case c.Timeout < 0 || c.Timeout > maxVisibility:
		return c, fmt.Errorf("queues: Config.Timeout is %v, want at most 12h", c.Timeout)
	}
	c.Handler = wrap(c.Handler, c.Middleware)

	return c, nil
}
