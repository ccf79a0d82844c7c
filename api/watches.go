package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"ratchet/transitions"
)

// An order that is watched is read by one goroutine, however many watch it: every
// quickest while it moves, ever more rarely up to slowest while it does not.
const (
	quickest = 250 * time.Millisecond
	slowest  = 2 * time.Second
)

// watches are the open streams.
type watches struct {
	get       func(context.Context, transitions.OrderID) (*transitions.Order, bool, error)
	most      int
	perCaller int

	mu     sync.Mutex
	orders map[transitions.OrderID]*watched
	of     map[string]int // caller
	count  int
}

// watched is one order that somebody watches.
type watched struct {
	watching map[*watch]struct{}
	last     *transitions.Order
	stop     context.CancelFunc
}

// watch is one open stream. moved holds the newest state of the order that the stream
// has not taken yet: a slow reader skips states, and finds their transitions in the
// ring of the next.
type watch struct {
	moved chan *transitions.Order
	close func()
}

func newWatches(cfg Config) *watches {
	w := &watches{most: cfg.Watches, perCaller: cfg.WatchesPerCaller, orders: map[transitions.OrderID]*watched{}, of: map[string]int{}}
	if cfg.Orders != nil {
		w.get = cfg.Orders.Get
	}

	return w
}

// open begins a watch with the order as it is known.
func (w *watches) open(id transitions.OrderID, caller string, first *transitions.Order) (*watch, *problem) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.count >= w.most || w.of[caller] >= w.perCaller {
		return nil, newProblem(http.StatusTooManyRequests, "too_many_watches", "Too many streams are open.").later(10)
	}

	o := w.orders[id]
	if o == nil {
		ctx, stop := context.WithCancel(context.Background())
		o = &watched{watching: map[*watch]struct{}{}, last: first, stop: stop}
		w.orders[id] = o
		go w.follow(ctx, id, o)
	}

	if first.TransitionID > o.last.TransitionID {
		o.last = first
	}
	one := &watch{moved: make(chan *transitions.Order, 1)}
	one.moved <- o.last
	one.close = sync.OnceFunc(func() { w.closed(id, caller, o, one) })
	o.watching[one] = struct{}{}
	w.of[caller]++
	w.count++

	return one, nil
}

func (w *watches) closed(id transitions.OrderID, caller string, o *watched, one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(o.watching, one)

	w.count--
	if w.of[caller]--; w.of[caller] == 0 {
		delete(w.of, caller)
	}

	if len(o.watching) == 0 {
		o.stop()
		delete(w.orders, id)
	}
}

// follow reads the order again and again and hands its moves out.
func (w *watches) follow(ctx context.Context, id transitions.OrderID, o *watched) {
	pause := quickest
	timer := time.NewTimer(pause)
	defer timer.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}

		now, found, err := w.get(ctx, id)
		pause = min(pause*3/2, slowest)
		if err == nil && found && w.tell(o, now) {
			pause = quickest
		}
		timer.Reset(pause)
	}
}

// tell replaces what a watch has not taken yet, if the order has moved.
func (w *watches) tell(o *watched, now *transitions.Order) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	if now.TransitionID <= o.last.TransitionID {
		return false
	}

	o.last = now
	for one := range o.watching {
		select {
		case <-one.moved:
		default:
		}
		one.moved <- now
	}

	return true
}
