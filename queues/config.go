package queues

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config says what to consume and how. SQS, QueueURL and Handler are required.
type Config struct {
	// SQS is the SDK's client.
	SQS sqsAPI
	// QueueURL is the queue's URL. A FIFO queue is known by the suffix ".fifo".
	QueueURL string
	// Handler gets the messages.
	Handler Handler
	// Middleware wraps Handler, the first outermost.
	Middleware []Middleware
	// Slots bounds the messages in flight. A slot is taken before a poll is sent, so no
	// message waits for one. One poll is open for every ten slots, at most four. Default
	// 10.
	Slots int
	// WaitTime is how long the service holds a poll open, 1 s to 20 s. Default 20 s.
	WaitTime time.Duration
	// Visibility is the visibility timeout of the messages in flight, 1 s to 12 h in
	// whole seconds. It is extended before a third of it has passed. When a consumer
	// dies, its messages come again after this time. Default 30 s.
	Visibility time.Duration
	// Timeout bounds one call of the handler, at most 12 h, which is how long the service
	// keeps a message in flight. Default 5 min.
	Timeout time.Duration
	// Attempts is how many receives of a message may fail, at most 100: the last failure
	// becomes a rejection. Negative: no limit. Only a retry that the handler answers
	// counts. Receives that ended with InProgress or NotYet, were cut short by a stop, or
	// were returned unread do not. Default 5. A redrive policy of the queue counts all
	// receives, so its maxReceiveCount should be several times higher.
	Attempts int
	// Failures counts the failures. Default: in this process; a message then has its
	// attempts with every consumer, and again after a restart. While the counter fails, no
	// message is given up.
	Failures FailureCounter
	// Backoff is the wait of a Retry that names none.
	Backoff Backoff
	// DeadLetterURL is the queue that rejected messages are sent to. Empty: they return
	// after a wait, until the queue's redrive policy moves them.
	DeadLetterURL string
	// DrainTimeout is how long running handlers may go on after a stop; then their
	// contexts end. Default 30 s.
	DrainTimeout time.Duration
	// DrainGrace is how long handlers have to return after the end of their contexts.
	// Default 10 s.
	DrainGrace time.Duration
	// PollGrace is how long a stop waits for open polls: the service may hand messages to
	// a poll that was canceled, and they come again only when Visibility is over. Default
	// DrainTimeout. Negative cancels polls at once, which is right for an engine in the
	// same process.
	PollGrace time.Duration
	// FatalAfter is how long polls may fail with errors that last until an operator acts
	// (no such queue, access denied) before Run gives up. Default 2 min.
	FatalAfter time.Duration
	// Log gets faults and rejections, never bodies or attributes. Default:
	// slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics.
	Events Events
}

// withDefaults sets every empty field that has a default.
func (c Config) withDefaults() Config {
	c.Slots = cmp.Or(c.Slots, 10)
	c.WaitTime = cmp.Or(c.WaitTime, 20*time.Second)
	c.Visibility = cmp.Or(c.Visibility, 30*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Minute)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.DrainGrace = cmp.Or(c.DrainGrace, 10*time.Second)
	c.PollGrace = cmp.Or(c.PollGrace, c.DrainTimeout)
	c.FatalAfter = cmp.Or(c.FatalAfter, 2*time.Minute)
	c.Log = cmp.Or(c.Log, slog.Default())

	return c
}

// check returns every fault of the configuration with its defaults, as one error.
func (c *Config) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("queues: "+format, args...)) }

	if c.SQS == nil || c.Handler == nil {
		fault("Config.SQS and Config.Handler must be set")
	}

	switch c.QueueURL {
	case "":
		fault("Config.QueueURL is empty")
	// A rejected message would come back to the handler as a new one, without end.
	case c.DeadLetterURL:
		fault("Config.DeadLetterURL is the queue itself")
	}

	if c.Slots < 1 {
		fault("Config.Slots is %d, want at least 1", c.Slots)
	}

	if c.WaitTime < time.Second || c.WaitTime > 20*time.Second {
		fault("Config.WaitTime is %v, want 1s to 20s", c.WaitTime)
	}

	if c.Visibility < time.Second || c.Visibility > maxVisibility || c.Visibility%time.Second != 0 {
		fault("Config.Visibility is %v, want 1s to 12h in whole seconds", c.Visibility)
	}

	if c.Timeout < 0 || c.Timeout > maxVisibility {
		fault("Config.Timeout is %v, want at most 12h", c.Timeout)
	}

	return errors.Join(faults...)
}
