package embedded

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// withRoom refuses the changes of a service while the disk is full, even in a call that has begun.
// Reads go on.
func (e *Engine) withRoom(s wire.Service) wire.Service {
	return s.Around(func(operation string, call wire.Operation) wire.Operation {
		if readsOnly(operation) {
			return call
		}

		return func(ctx context.Context, body []byte) (answer any, err error) {
			if err := e.db.HasRoom(); err != nil {
				return nil, noRoom(err)
			}

			answer, err = call(ctx, body)
			if !errors.Is(err, store.ErrFull) {
				return answer, err
			}

			// Some parts of a batch may have been stored.
			if strings.Contains(operation, "Batch") {
				return nil, &wire.Error{Type: s.InternalError, Status: http.StatusInternalServerError, Message: noRoom(err).Message}
			}

			return nil, noRoom(err)
		}
	})
}

// noRoom is the answer to a change that was not made, because the disk is full. AWS has no such answer. SDKs do not send the
// call again, and a caller knows for certain that it had no effect.
func noRoom(err error) *wire.Error {
	return &wire.Error{Type: "InsufficientStorage", Status: http.StatusInsufficientStorage, Message: "the embedded engine takes no changes: " + err.Error()}
}

// ErrFull says that the disk has too little room for changes. Reads go on.
var ErrFull = store.ErrFull

// HasRoom returns ErrFull, with the room that is there and that is needed, while the disk has too little of it for calls
// that change something.
func (e *Engine) HasRoom() error {
	defer e.gate.leave()

	if !e.gate.enter() {
		return ErrClosed
	}

	return e.db.HasRoom()
}

// insufficientStorage returns the answer of the engine's own operations if the disk has too little
// room, and any other error unchanged.
func insufficientStorage(err error) error {
	if !errors.Is(err, store.ErrFull) {
		return err
	}

	return &wire.Error{Type: "InsufficientStorage", Status: http.StatusInsufficientStorage, Message: err.Error()}
}

// readsOnly reports whether an operation changes nothing. A PartiQL statement counts as a change,
// because it is not parsed yet.
func readsOnly(operation string) bool {
	// GetActivityTask starts a task, and GetQueueAttributes removes expired messages.
	if operation == "GetActivityTask" || operation == "GetQueueAttributes" {
		return false
	}

	for _, prefix := range []string{"Get", "BatchGet", "TransactGet", "Query", "Scan", "Describe", "List", "Validate"} {
		if strings.HasPrefix(operation, prefix) {
			return true
		}
	}

	return false
}
