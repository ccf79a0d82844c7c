package streams

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
)

// lanes runs the handlers of all shards. A lane is the queue of one item for one
// handler; it exists only while it has records and never runs twice at once. At
// most limit lanes run at a time, each on a goroutine that is started on demand
// and ends when nothing is ready.
type lanes struct {
	cfg     *Config
	letters *letterTable
	log     sparse

	mu         sync.Mutex
	ready      *lane // FIFO of lanes that may run
	readyLast  *lane
	running    int
	limit      int
	goroutines sync.WaitGroup
}

// laneKey names a lane within a shard.
type laneKey struct {
	handler int
	key     string
}

type lane struct {
	laneKey
	group      *group
	head, tail *task
	running    bool
	timer      *time.Timer // while the head waits for its next attempt
	next       *lane       // in the ready list
}

// task is one record for one handler.
type task struct {
	entry    *entry
	attempts int
	waits    int   // calls that ended in NotYet
	failed   error // what the last attempt returned; nil before
	giveUp   bool  // store it as a dead letter
	pauses   int   // how often the dead letter could not be stored
	next     *task
}

// group is the lanes of one shard while it is held.
type group struct {
	lanes  *lanes
	work   context.Context // parent of the handlers' contexts
	hold   *hold
	window *window

	// Guarded by lanes.mu.
	open    map[laneKey]*lane
	top     uint64        // the newest record that a handler has been called with
	stopped bool          // nothing newer than top is begun any more
	dropped bool          // nothing is begun any more
	idle    chan struct{} // closed when stopped and no lane is left
}

func (l *lanes) group(work context.Context, h *hold, w *window) *group {
	return &group{lanes: l, work: work, hold: h, window: w, open: map[laneKey]*lane{}, idle: make(chan struct{})}
}

// submit hands over the records of one page, in order.
func (g *group) submit(records []Record) {
	cfg := g.lanes.cfg
	broken := make([]error, len(cfg.Handlers))
	wanted := make([]bool, len(cfg.Handlers))
	for i := range records {
		n := 0
		for j := range cfg.Handlers {
			if wanted[j], broken[j] = matches(&cfg.Handlers[j], records[i]); wanted[j] {
				n++
			}
		}

		if n == 0 {
			g.window.skip(&records[i])
			continue
		}
		e := &entry{rec: records[i], left: n}
		g.window.add(e)
		key := cfg.Key(e.rec)
		g.lanes.mu.Lock()
		for j, ok := range wanted {
			if ok {
				g.push(j, key, &task{entry: e, failed: broken[j], giveUp: broken[j] != nil})
			}
		}
		g.lanes.mu.Unlock()
	}
}

// matches runs a handler's filter. A filter that panics makes the record a dead
// letter of its handler: nobody knows whether it was meant for it.
func matches(h *Handler, r Record) (ok bool, err error) {
	if h.Filter == nil {
		return true, nil
	}
	defer func() {
		if v := recover(); v != nil {
			ok, err = true, fmt.Errorf("filter of handler %s: %w", h.Name, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()

	return h.Filter(r), nil
}

// push appends a task to its lane; lanes.mu is held.
func (g *group) push(handler int, key string, t *task) {
	if g.stopped {
		return
	}

	k := laneKey{handler, key}
	if g.lanes.cfg.Handlers[handler].Unordered {
		k.key = key + "\x00" + t.entry.rec.SequenceNumber
	}

	if ln := g.open[k]; ln != nil {
		ln.tail.next, ln.tail = t, t
		return
	}
	ln := &lane{laneKey: k, group: g, head: t, tail: t}
	g.open[k] = ln
	g.lanes.enqueue(ln)
}

// enqueue makes a lane ready and sees to it that somebody runs it; mu is held.
func (l *lanes) enqueue(ln *lane) {
	ln.next = nil
	if l.ready == nil {
		l.ready = ln
	} else {
		l.readyLast.next = ln
	}
	l.readyLast = ln
	l.staff()
}

// staff starts a goroutine if one more is allowed; mu is held.
func (l *lanes) staff() {
	if l.running < l.limit {
		l.running++
		l.goroutines.Add(1)
		go l.serve()
	}
}

// serve runs ready lanes, one record each in turn, until none is ready.
func (l *lanes) serve() {
	orderly := false
	defer func() {
		if !orderly { // a handler called runtime.Goexit
			l.mu.Lock()

			l.running--
			if l.ready != nil {
				l.staff()
			}
			l.mu.Unlock()
		}
		l.goroutines.Done()
	}()

	for {
		ln := l.pick()
		if ln == nil {
			orderly = true
			return
		}
		l.step(ln)
	}
}

// pick takes the next lane to run, or gives the goroutine's place back.
func (l *lanes) pick() *lane {
	l.mu.Lock()
	defer l.mu.Unlock()

	for l.ready != nil {
		ln := l.ready
		l.ready = ln.next
		ln.next = nil
		if g := ln.group; !g.over(ln) {
			ln.running = true
			g.top = max(g.top, ln.head.entry.slot)
			return ln
		}
	}
	l.running--

	return nil
}

// step does the next thing for the lane's first record: call the handler, or
// store the dead letter.
func (l *lanes) step(ln *lane) {
	t, h := ln.head, &l.cfg.Handlers[ln.handler]
	if t.giveUp {
		err := l.bury(ln.group, h, t)
		l.settle(ln, t, err == nil, l.cfg.backoff(t.pauses))
		return
	}
	var err error = &PanicError{} // what stays when the handler calls runtime.Goexit
	defer func() {
		pause := l.judge(ln.group, h, t, err)
		l.settle(ln, t, err == nil, pause)
	}()
	err = l.call(ln.group, h, t)
}

// judge says how long to wait before the next step after err.
func (l *lanes) judge(g *group, h *Handler, t *task, err error) time.Duration {
	switch {
	case err == nil:
		return 0
	case g.work.Err() != nil || errors.Is(err, ErrLeaseLost):
		// Cut short by a stop or a lost lease: no attempt; the next holder repeats it.
		return l.cfg.Retry.Base
	case IsNotYet(err):
		t.attempts--
		t.waits++
		return min(l.cfg.backoff(t.waits), time.Second)
	}

	t.failed = err
	if t.giveUp = IsPermanent(err) || (h.Attempts > 0 && t.attempts >= h.Attempts); t.giveUp {
		return 0
	}

	return l.cfg.backoff(t.attempts)
}

// call runs the handler once and answers for panics.
func (l *lanes) call(g *group, h *Handler, t *task) (err error) {
	began := time.Now()
	if !g.hold.valid(began) {
		return ErrLeaseLost // the keeper is about to notice, too
	}
	t.attempts++
	rec := t.entry.rec
	rec.Handler, rec.Attempt = h.Name, t.attempts
	rec.Epoch = g.hold.epoch.Load()
	ctx, cancel := context.WithTimeoutCause(g.work, h.Timeout, ErrTimeout)
	returned := false
	defer func() {
		if !returned {
			err = &PanicError{Value: recover(), Stack: debug.Stack()}
		}

		if err != nil && errors.Is(context.Cause(ctx), ErrTimeout) {
			err = fmt.Errorf("%w after %v: %w", ErrTimeout, h.Timeout, err)
		}
		cancel()

		if f := l.cfg.Events.Handled; f != nil {
			f(Handled{Record: rec, Took: time.Since(began), Err: err})
		}
	}()
	err = h.Handle(ctx, rec)
	returned = true

	return err
}

// backoff is the pause before attempt n+1.
func (c *Config) backoff(n int) time.Duration {
	d := c.Retry.Max
	if n = max(n, 1); n < 32 {
		if e := c.Retry.Base << (n - 1); e > 0 && e < d {
			d = e
		}
	}

	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter
}

// bury stores the dead letter. Until that has worked the record is not finished,
// so no checkpoint passes it.
func (l *lanes) bury(g *group, h *Handler, t *task) error {
	ctx, cancel := context.WithTimeout(g.work, 10*time.Second)
	defer cancel()

	rec := t.entry.rec
	rec.Handler, rec.Attempt, rec.Epoch = h.Name, t.attempts, g.hold.epoch.Load()
	if err := l.letters.put(ctx, rec, t.failed); err != nil {
		t.pauses++
		l.cfg.fault("PutItem", rec.ShardID, err)

		if l.log.due() {
			l.cfg.Log.Error("storing a dead letter failed; retrying", "handler", h.Name, "shard", rec.ShardID, "err", err)
		}

		return err
	}
	l.cfg.Log.Warn("record became a dead letter", "handler", h.Name, "shard", rec.ShardID,
		"sequence", rec.SequenceNumber, "attempts", t.attempts)

	if f := l.cfg.Events.DeadLetter; f != nil {
		f(rec, t.attempts, t.failed)
	}

	return nil
}

// settle ends a step: the lane goes on with its next record, or waits, or ends.
func (l *lanes) settle(ln *lane, t *task, done bool, pause time.Duration) {
	g := ln.group
	if done {
		g.window.finish(t.entry)
	}
	l.mu.Lock()
	defer l.mu.Unlock()

	ln.running = false
	if done {
		if ln.head = t.next; ln.head == nil {
			g.remove(ln)
			return
		}
	}

	if g.over(ln) {
		g.remove(ln)
		return
	}

	if pause == 0 || done {
		l.enqueue(ln)
		return
	}
	ln.timer = time.AfterFunc(pause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()

		if ln.timer = nil; !g.over(ln) {
			l.enqueue(ln)
		}
	})
}

// over reports whether the lane's next record must not be begun; lanes.mu is held.
func (g *group) over(ln *lane) bool {
	return g.dropped || (g.stopped && ln.head.entry.slot > g.top)
}

// remove takes a lane off that has nothing to do; lanes.mu is held.
func (g *group) remove(ln *lane) {
	delete(g.open, ln.laneKey)

	if g.stopped && len(g.open) == 0 {
		close(g.idle)
	}
}

// stop begins no record that is newer than all those begun so far: the older
// ones must still be handled, or the next holder would have to repeat what came
// after them. The channel is closed when that is done.
func (g *group) stop() <-chan struct{} {
	g.lanes.mu.Lock()
	defer g.lanes.mu.Unlock()

	if !g.stopped {
		g.stopped = true
		g.prune()
	}

	return g.idle
}

// drop begins nothing any more; only running calls are left.
func (g *group) drop() {
	g.lanes.mu.Lock()
	defer g.lanes.mu.Unlock()

	if !g.dropped && len(g.open) > 0 {
		g.dropped = true
		g.prune()
	}
}

// prune takes off the lanes that are over, after a stop; lanes.mu is held.
func (g *group) prune() {
	for _, ln := range g.open {
		if ln.running || !g.over(ln) {
			continue
		}

		if ln.timer != nil {
			ln.timer.Stop()
		}
		delete(g.open, ln.laneKey)
	}

	if len(g.open) == 0 {
		close(g.idle)
	}
}
