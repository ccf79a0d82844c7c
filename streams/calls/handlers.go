package calls

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ratchet/streams"
	"ratchet/streams/store"
)

const (
	DefaultLateAfter      = time.Minute
	DefaultHandlerTimeout = 30 * time.Second
)

// Check returns every fault of the handlers. owner is the type that has them in its field
// Handlers.
func Check(owner string, handlers []streams.Handler) []error {
	if len(handlers) == 0 {
		return []error{fmt.Errorf("streams: %s.Handlers is empty", owner)}
	}

	var faults []error
	seen := make(map[string]bool, len(handlers))
	for i, h := range handlers {
		if h.Name == "" || (h.Handle == nil) == (h.Batch == nil || h.Batch.Handle == nil) {
			faults = append(faults, fmt.Errorf("streams: handler %d needs a Name and either a Handle or a Batch with one", i))
		}

		if b := h.Batch; b != nil && (b.Size < 0 || b.Parallel < 0 || b.Window < 0) {
			faults = append(faults, fmt.Errorf("streams: handler %d: Batch.Size, Parallel and Window must not be negative", i))
		}

		if h.Concurrency < 0 {
			faults = append(faults, fmt.Errorf("streams: handler %d: Concurrency is %d, want at least 1", i, h.Concurrency))
		}

		for _, field := range []struct {
			name  string
			value time.Duration
		}{
			{"Timeout", h.Timeout},
			{"MaxAge", h.MaxAge},
			{"Retry.Base", h.Retry.Base},
			{"Retry.Max", h.Retry.Max},
			{"Retry.For", h.Retry.For},
		} {
			if field.value < 0 {
				faults = append(faults, fmt.Errorf("streams: handler %d: %s is %v, want more than 0", i, field.name, field.value))
			}
		}

		// A group's dead letters are stored under names with this prefix.
		if strings.HasPrefix(h.Name, store.GroupPrefix) {
			faults = append(faults, fmt.Errorf("streams: handler %d: a Name must not begin with %q", i, store.GroupPrefix))
		}

		if h.Name != "" && seen[h.Name] {
			faults = append(faults, fmt.Errorf("streams: two handlers are named %q", h.Name))
		}
		seen[h.Name] = true
	}

	return faults
}

// WithDefaults returns the handlers with the defaults of what they leave out.
func WithDefaults(handlers []streams.Handler, retry streams.Retry, timeout time.Duration) []streams.Handler {
	out := make([]streams.Handler, len(handlers))
	for i, h := range handlers {
		h.Retry.Attempts = cmp.Or(h.Attempts, h.Retry.Attempts)
		h.Retry = Merge(h.Retry, retry)
		h.Attempts = h.Retry.Attempts
		h.Timeout = cmp.Or(h.Timeout, timeout)

		if h.Handle == nil {
			h.Handle = newBatcher(*h.Batch).handle
		}
		out[i] = h
	}

	return out
}
