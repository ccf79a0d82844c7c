package mapruns

import (
	"context"
	"sync"

	"ratchet/embedded/internal/stepfunctions/keys"
)

// work is the list of Map Runs that may have something to do. It is an index in
// memory: New adds all Map Runs that are running, and each change of a Map Run adds it
// again. The list holds a Map Run at most once.
type work struct {
	mu     sync.Mutex
	listed map[keys.Run]bool
	order  []keys.Run
	signal chan struct{} // receives a value when the list is not empty
}

func newWork() work {
	return work{listed: map[keys.Run]bool{}, signal: make(chan struct{}, 1)}
}

// wake adds a Map Run to the end of the list unless it is there.
func (w *work) wake(k keys.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.listed[k] {
		return
	}

	w.listed[k] = true
	w.order = append(w.order, k)
	w.announce()
}

// announce lets take look at the list. The caller holds w.mu.
func (w *work) announce() {
	select {
	// A full channel already tells take to look.
	case w.signal <- struct{}{}:
	default:
	}
}

// pop removes and returns the first Map Run of the list.
func (w *work) pop() (k keys.Run, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if len(w.order) == 0 {
		// This frees the array, through which the slice has moved.
		w.order = nil
		return keys.Run{}, false
	}

	k = w.order[0]
	w.order = w.order[1:]
	delete(w.listed, k)

	return k, true
}

// take waits for a Map Run until ctx ends; ok is false then.
func (w *work) take(ctx context.Context) (k keys.Run, ok bool) {
	for ctx.Err() == nil {
		if k, ok := w.pop(); ok {
			return k, true
		}

		select {
		case <-ctx.Done():
		case <-w.signal:
		}
	}

	return keys.Run{}, false
}
