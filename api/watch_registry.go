package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"ratchet/transitions"
)

const (
	// One goroutine reads each watched order, however many streams watch it: every
	// minPollInterval while the order moves, up to every maxPollInterval while it does not.
	minPollInterval = 250 * time.Millisecond
	maxPollInterval = 2 * time.Second

	// maxUnread is how long an order may be unreadable before its streams are interrupted.
	maxUnread = 10 * time.Second

	// maxWatches is the largest number of open streams of all callers, and maxTenantWatches of the callers of one
	// tenant.
	maxWatches       = 1000
	maxTenantWatches = 750
)

// watchRegistry holds the open event streams.
type watchRegistry struct {
	get       func(context.Context, transitions.OrderID) (*transitions.Order, bool, error)
	log       *slog.Logger
	perCaller int

	mu     sync.Mutex
	orders map[transitions.OrderID]*watchedOrder
	inUse  usage
}

// watchedOrder is an order with at least one open stream.
type watchedOrder struct {
	watches map[*watch]struct{}
	last    *transitions.Order
	stop    context.CancelFunc // ends its poller
}

// watch is one open stream. The channel holds the newest state of the order that the stream
// has not received yet. A slow reader misses states, and finds their transitions in the
// ring of the next state, or in the journal.
type watch struct {
	moved  chan *transitions.Order
	broken chan struct{} // closed when the order can be read no longer
	code   string        // why; set before broken is closed
	close  func()
}

func newWatchRegistry(cfg Config) *watchRegistry {
	w := &watchRegistry{
		log:       cfg.Log,
		perCaller: cfg.Watches,
		orders:    map[transitions.OrderID]*watchedOrder{},
		inUse:     newUsage(),
	}

	// There are no orders when only the OpenAPI document is made.
	if cfg.Orders != nil {
		w.get = cfg.Orders.Get
	}

	return w
}

// open opens a watch of the order, beginning with its current state. It returns a problem
// if too many streams are open.
func (w *watchRegistry) open(id transitions.OrderID, by party, current *transitions.Order) (*watch, *problem) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if p := w.full(by); p != nil {
		return nil, p
	}

	order := w.orders[id]
	if order == nil {
		// The poller may outlive the request that starts it: other streams use it, too.
		ctx, stop := context.WithCancel(context.Background())
		order = &watchedOrder{watches: map[*watch]struct{}{}, last: current, stop: stop}
		w.orders[id] = order

		go w.poll(ctx, id, order)
	}

	// The request has read the order after the poller did.
	if current.TransitionID > order.last.TransitionID {
		order.last = current
	}

	opened := &watch{moved: make(chan *transitions.Order, 1), broken: make(chan struct{})}
	// The channel is new and has room for one.
	opened.moved <- order.last
	opened.close = sync.OnceFunc(func() { w.remove(id, by, order, opened) })

	order.watches[opened] = struct{}{}
	w.inUse.add(by)

	return opened, nil
}

// full returns the problem of a caller that may open no further stream, with the limit that it has reached.
func (w *watchRegistry) full(by party) *problem {
	var detail string

	switch {
	case w.inUse.total >= maxWatches:
		detail = fmt.Sprintf("All %d streams of this server are open.", maxWatches)
	case w.inUse.tenants[by.tenant] >= maxTenantWatches:
		detail = fmt.Sprintf("The tenant has %d of the %d streams of this server open, which is its share.", maxTenantWatches, maxWatches)
	case w.inUse.each[by.caller] >= w.perCaller:
		detail = fmt.Sprintf("The caller has %d streams open, which is its limit.", w.perCaller)
	default:
		return nil
	}

	return newProblem(http.StatusTooManyRequests, "too_many_watches", detail).retryAfter(10)
}

// remove removes a closed watch. The last one of an order ends the order's poller.
func (w *watchRegistry) remove(id transitions.OrderID, by party, order *watchedOrder, closed *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()

	delete(order.watches, closed)

	w.inUse.remove(by)

	if len(order.watches) == 0 {
		w.forget(id, order)
	}
}

// forget ends the poller of the order. The next watch of the order begins another one.
func (w *watchRegistry) forget(id transitions.OrderID, order *watchedOrder) {
	order.stop()

	if w.orders[id] == order {
		delete(w.orders, id)
	}
}

// interrupt breaks all watches of the order, with the code of the reason.
func (w *watchRegistry) interrupt(id transitions.OrderID, order *watchedOrder, code string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for watch := range order.watches {
		watch.code = code
		close(watch.broken)
	}
	w.forget(id, order)
}

// poll reads the order until ctx ends and publishes its new states. It repeats a failed read,
// and interrupts the watches when the order was not read for maxUnread, or is gone.
func (w *watchRegistry) poll(ctx context.Context, id transitions.OrderID, order *watchedOrder) {
	interval, lastRead, failing := minPollInterval, time.Now(), false
	// No ticker: the interval grows while the order does not move.
	timer := time.NewTimer(interval)
	defer timer.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}

		current, found, err := w.read(ctx, id)
		interval = min(interval*3/2, maxPollInterval)

		switch {
		// The context is checked before the error, which may only mean that the last watch was
		// closed.
		case ctx.Err() != nil:
			return
		case err == nil && !found:
			w.interrupt(id, order, "order_not_found")
			return
		case err == nil:
			lastRead, failing = time.Now(), false

			if w.publish(order, current) {
				interval = minPollInterval
			}
		case time.Since(lastRead) >= maxUnread:
			w.log.ErrorContext(ctx, "event streams interrupted: the order cannot be read", "order", id, "error", err)
			w.interrupt(id, order, "unavailable")

			return
		case !failing:
			failing = true
			w.log.WarnContext(ctx, "an order with event streams cannot be read", "order", id, "error", err)
		}

		timer.Reset(interval)
	}
}

// read reads the order within maxUnread.
func (w *watchRegistry) read(ctx context.Context, id transitions.OrderID) (*transitions.Order, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxUnread)
	defer cancel()

	return w.get(ctx, id)
}

// publish gives the current state to all watches of the order. It replaces a state that a watch
// has not received yet. It reports whether the order has moved.
func (w *watchRegistry) publish(order *watchedOrder, current *transitions.Order) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	if current.TransitionID <= order.last.TransitionID {
		return false
	}

	order.last = current
	for watch := range order.watches {
		// Sends happen under the lock only, so the channel is empty after this.
		select {
		case <-watch.moved:
		default:
		}
		watch.moved <- current
	}

	return true
}
