package queues

import (
	"context"
	"errors"
	"sync"
	"time"
)

// inFlight is one message from its receive to its end.
type inFlight struct {
	message    Message
	receivedAt time.Time
	ctx        context.Context // the handler's
	cancel     context.CancelCauseFunc

	// mu is held during a call that extends the visibility, so that no extension arrives after the
	// call that makes the message visible.
	mu         sync.Mutex
	extendedAt time.Time // when the last accepted extension began; receivedAt before the first one
	released   bool      // no longer extended

	deleted        chan error // the result of the deletion
	deleteBy       time.Time
	deleteFailures int
}

// isLost reports whether another receiver may have the message.
func (f *inFlight) isLost() bool { return errors.Is(context.Cause(f.ctx), ErrMessageLost) }

// release ends the extensions. When it returns, no call that extends runs.
func (f *inFlight) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = true
}
