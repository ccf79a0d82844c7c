package embedded

import (
	"context"
	"net/http"
	"strings"

	"ratchet/embedded/internal/wire"
)

// withRoom lets a service refuse changes while the disk is full. Reads go on.
func (e *Engine) withRoom(s wire.Service) wire.Service {
	return s.Around(func(operation string, call wire.Operation) wire.Operation {
		if readsOnly(operation) {
			return call
		}

		return func(ctx context.Context, body []byte) (any, error) {
			if err := e.db.HasRoom(); err != nil {
				return nil, &wire.Error{Type: s.InternalError, Status: http.StatusInternalServerError, Message: "the embedded engine takes no changes: " + err.Error()}
			}

			return call(ctx, body)
		}
	})
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
