package embedded

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// withRoom lets a service refuse changes while the disk is full, also one that has begun. Reads go on.
func (e *Engine) withRoom(s wire.Service) wire.Service {
	return s.Around(func(operation string, call wire.Operation) wire.Operation {
		if readsOnly(operation) {
			return call
		}

		return func(ctx context.Context, body []byte) (answer any, err error) {
			if err = e.db.HasRoom(); err == nil {
				answer, err = call(ctx, body)
			}

			if errors.Is(err, store.ErrFull) {
				return nil, &wire.Error{Type: s.InternalError, Status: http.StatusInternalServerError, Message: "the embedded engine takes no changes: " + err.Error()}
			}

			return answer, err
		}
	})
}

// insufficientStorage returns what the engine's own operations answer if the disk has too little room, and other
// errors as they are.
func insufficientStorage(err error) error {
	if !errors.Is(err, store.ErrFull) {
		return err
	}

	return &wire.Error{Type: "InsufficientStorage", Status: http.StatusInsufficientStorage, Message: err.Error()}
}

// readsOnly reports whether an operation changes nothing. GetQueueAttributes removes what has expired. Whether a
// PartiQL statement reads is not known before it is parsed.
func readsOnly(operation string) bool {
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
