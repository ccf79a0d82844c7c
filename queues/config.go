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
	// Middleware wraps Handler, the first outermost. Default none.
	Middleware []Middleware
	// Slots bounds the messages in flight. A poll takes its slots before it is sent, so no received
	// message waits for a slot. For every ten slots one poll is open, at most four. Default 10.
	Slots int
	// Visibility is the visibility timeout of the messages in flight, 1 s to 12 h in
	// whole seconds. It is extended before a third of it has passed. When a consumer
	// dies, its messages come again after this time. Default 30 s.
	Visibility time.Duration
	// Timeout bounds one call of the handler. At most 12 h, because the service keeps a message in
	// flight no longer. Default 5 min.
	Timeout time.Duration
	// Attempts is how many failures of a message there may be, at most 100: the last failure
	// becomes a rejection. Negative means no limit. A failure is a receive that the handler answers
	// with Retry. Receives that end with InProgress or NotYet, are cut short by a stop, or are
	// returned unread do not count. Default 5. A redrive policy of the queue counts all receives,
	// so its maxReceiveCount should be several times higher.
	Attempts int
	// Failures counts the failures. By default they are counted in this process: then each consumer
	// makes all attempts, and again after a restart. While the counter returns errors, no message
	// is rejected for its attempts.
	Failures FailureCounter
	// Backoff is the wait of a Retry that names none. Default 1 s to 5 min.
	Backoff Backoff
	// DeadLetterURL is the queue to which rejected messages are sent. If it is empty, rejected
	// messages come again after a wait, until the queue's redrive policy moves them.
	DeadLetterURL string
	// DrainTimeout is how long running handlers may go on after a stop. After that their contexts
	// end. Default 30 s.
	DrainTimeout time.Duration
	// PollGrace is how long a stop waits for open polls before it cancels them. The service may
	// hand messages to a canceled poll, and these messages come again only after Visibility.
	// Default DrainTimeout. A negative value cancels polls at once, which is safe with an engine in
	// the same process.
	PollGrace time.Duration
	// Log gets faults and rejections, never bodies or attributes. Default:
	// slog.Default().
	Log *slog.Logger
	// Events are hooks for metrics. Default none.
	Events Events

	// waitTime is how long the service holds a poll open, 1 s to 20 s. Default 20 s.
	waitTime time.Duration
	// drainGrace is how long handlers have to return after the end of their contexts.
	// Default 10 s.
	drainGrace time.Duration
	// fatalAfter is how long polls may fail before Run returns an error, if only an operator can
	// end the failures (no such queue, access denied). Default 2 min.
	fatalAfter time.Duration
}

// withDefaults sets every empty field that has a default.
func (c Config) withDefaults() Config {
	c.Slots = cmp.Or(c.Slots, 10)
	c.waitTime = cmp.Or(c.waitTime, 20*time.Second)
	c.Visibility = cmp.Or(c.Visibility, 30*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Minute)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.drainGrace = cmp.Or(c.drainGrace, 10*time.Second)
	c.PollGrace = cmp.Or(c.PollGrace, c.DrainTimeout)
	c.fatalAfter = cmp.Or(c.fatalAfter, 2*time.Minute)
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
	// Each rejected message would come to the handler again as a new message, without end.
	case c.DeadLetterURL:
		fault("Config.DeadLetterURL is the queue itself")
	}

	if c.Slots < 1 {
		fault("Config.Slots is %d, want at least 1", c.Slots)
	}

	if c.Visibility < time.Second || c.Visibility > maxVisibility || c.Visibility%time.Second != 0 {
		fault("Config.Visibility is %v, want 1s to 12h in whole seconds", c.Visibility)
	}

	if c.Timeout < 0 || c.Timeout > maxVisibility {
		fault("Config.Timeout is %v, want at most 12h", c.Timeout)
	}

	if c.DrainTimeout < 0 {
		fault("Config.DrainTimeout is %v, want at least 0", c.DrainTimeout)
	}

	return errors.Join(faults...)
}
