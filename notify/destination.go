package notify

import (
	"context"
	"errors"
	"time"
)

// Message is the message that an attempt sends.
type Message struct {
	Notification
	// ID is the same for every attempt and endpoint.
	ID string
	// Body is the notification in the endpoint's format and version. ContentType is its media type.
	Body        []byte
	ContentType string
	// Type is the type of the message, like "order.SHIPPED".
	Type string
	// Attempt counts from 1.
	Attempt int
}

// Answer is the answer of the far side.
type Answer struct {
	// Status is the HTTP status, 0 if the far side has none.
	Status int
	// Text is the beginning of the answer. The stored part is shorter and redacted.
	Text string
}

// Destination sends messages of one endpoint. It must be safe for concurrent use, and honor its
// context. If it is an io.Closer, Close is called after its last use.
type Destination interface {
	// Send sends a message. It may be called again with the same message; the far side should then
	// do nothing. An error may carry ErrGone, ErrRejected, ErrRecipient, ErrSkipped or a pause
	// (RetryAfter).
	Send(ctx context.Context, m Message) (Answer, error)
}

// Errors that a destination wraps, see [Destination].
var (
	// ErrGone means that the endpoint wants no more messages. The endpoint is then disabled.
	ErrGone = errors.New("the endpoint is gone")
	// ErrRejected means that no attempt with this message can succeed.
	ErrRejected = errors.New("the endpoint cannot take the message")
	// ErrRecipient means that the far side refuses the recipient of this message, such as a
	// customer whose mailbox is full. The error does not count as a failure of the endpoint, which
	// may work for other recipients. If it also wraps ErrRejected, no further attempt is made.
	ErrRecipient = errors.New("the recipient is refused")
	// ErrSkipped means that there is nothing to send for this order, for example because its
	// customer has no address. The error does not count as a failure of the endpoint.
	ErrSkipped = errors.New("skipped")
)

// RetryAfter returns err with a pause that the far side asks for. Nothing is sent to the
// endpoint until then.
func RetryAfter(err error, pause time.Duration) error {
	if err == nil || pause <= 0 {
		return err
	}

	return &retryAfterError{err, pause}
}

type retryAfterError struct {
	error
	pause time.Duration
}

func (e *retryAfterError) Unwrap() error { return e.error }

// maxPause bounds the pause that a far side may ask for.
const maxPause = 24 * time.Hour

// pauseOf returns the pause that the error asks for, at most a day.
func pauseOf(err error) time.Duration {
	var after *retryAfterError
	if !errors.As(err, &after) {
		return 0
	}

	return min(after.pause, maxPause)
}
