package lanes

import (
	"container/list"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/retryqueue"
)

// Scheduler runs the handlers of all shards that this worker holds.
//
// A lane is the queue of one item's records for one handler. It exists only while it has records,
// and runs one record at a time. Up to limit lanes run at once. A goroutine runs one step of a
// lane, then a step of the next ready lane, and ends when no lane may run.
//
// Handlers share the limit, but each handler has some reserved places, so that a handler whose
// calls take long leaves room for the others.
type Scheduler struct {
	Cfg      *Config
	Waiting  *Waiting
	queues   queues
	Circuits []*Circuit    // by handler
	Paused   []atomic.Bool // by handler
	MarkedAt atomic.Int64  // when a Rebuild last moved marks, Unix ms; 0: never
	log      worker.LogThrottle
	reserved int // places of Config.Concurrency that are reserved for each handler

	mu         sync.Mutex
	handlers   []handlerLanes // by handler
	turns      uint64         // the newest turn that was given
	running    int            // goroutines
	Goroutines sync.WaitGroup
}

// handlerLanes is the lanes of one handler that may run.
type handlerLanes struct {
	ready   readyLanes
	running int      // calls
	parking int      // parking places in use: records on their way to the retry queue
	behind  []*Shard // shards for which the handler is left behind
}

// laneKey identifies a lane within a shard.
type laneKey struct {
	handler int // index in Config.Handlers
	key     string
}

// lane is guarded by Scheduler.mu.
type lane struct {
	laneKey
	shard   *Shard
	head    *delivery // the record that runs or runs next
	tail    *delivery
	running bool
	parking bool        // it runs in a parking place
	timer   *time.Timer // while the head waits for its next attempt

	// While the lane is ready: its place in inOrder or in earlier of readyLanes, and in the list of its shard.
	inOrder *list.Element
	at      int
	ofShard *list.Element
}

// Config says how the lanes run the handlers. All fields must be set.
type Config struct {
	Handlers    []streams.Handler // with their defaults
	Concurrency int
	Owner       string
	Group       string
	Events      streams.Events
	Log         *slog.Logger
	DeadLetters *deadletters.Table
	Retries     *retryqueue.Table
	Clock       *dynamo.Clock
	Calls       *Gate
	MaxPending  int
	ParkAfter   time.Duration
	HoldBack    time.Duration
	LateAfter   time.Duration
}

// queues are the retry queues that take the records which the lanes park.
type queues interface {
	// Note adds an item whose row was just stored.
	Note(item Item, due time.Time)
	// TryAll makes all items of the handler due.
	TryAll(handler int)
}

// NewScheduler returns a scheduler without records.
func NewScheduler(cfg *Config) *Scheduler {
	s := &Scheduler{
		Cfg:      cfg,
		Waiting:  &Waiting{table: cfg.Retries, handlers: cfg.Handlers, items: map[Item]uint64{}, loading: worker.NewCallLock()},
		Paused:   make([]atomic.Bool, len(cfg.Handlers)),
		reserved: reservedPlaces(cfg.Concurrency, len(cfg.Handlers)),
		handlers: make([]handlerLanes, len(cfg.Handlers)),
	}
	cfg.Calls.expect(longestCall(cfg.Handlers))

	for i := range cfg.Handlers {
		// One circuit for all shards: an outage of the far side affects the handler in all of them.
		s.Circuits = append(s.Circuits, newCircuit(&cfg.Handlers[i]))
	}

	return s
}

// SetQueues names the retry queues. It comes before the first record.
func (s *Scheduler) SetQueues(q queues) { s.queues = q }

// reservedPlaces returns how many of limit places are reserved for each of n handlers. Together
// these are half of the places, but each handler has at least one if there are enough.
func reservedPlaces(limit, n int) int {
	if limit < n {
		return 0
	}

	return max(limit/(2*n), 1)
}

// startReady starts goroutines for the handler's lanes that may run. The caller holds mu.
func (s *Scheduler) startReady(handler int) {
	for l := s.nextOf(handler); l != nil; l = s.nextOf(handler) {
		s.Goroutines.Go(func() { s.runReadyLanes(l) })
	}
}

// start notes that a step for the lane's first record begins. The caller holds scheduler.mu.
func (l *lane) start(parking bool) {
	l.running, l.parking = true, parking
	l.shard.newestBegun = max(l.shard.newestBegun, l.head.record.slot)
}

// runReadyLanes runs one step of the lane and then of others, until none may run.
func (s *Scheduler) runReadyLanes(l *lane) {
	for l != nil {
		parking := l.parking
		s.runStep(l)
		l = s.nextAfter(l.handler, parking)
	}
}

// nextAfter ends a step of the handler and returns a lane to run in its place, nil if
// none may run. Handlers take turns.
func (s *Scheduler) nextAfter(handler int, parking bool) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()

	if parking {
		s.handlers[handler].parking--
	} else {
		s.handlers[handler].running--
		s.running--
	}

	var next *lane
	for i := range s.handlers {
		h := (handler + 1 + i) % len(s.handlers)
		if next == nil {
			next = s.nextOf(h)
		}

		// The next lane has taken a parking place, so the place of the ended call is free for
		// another lane.
		if next != nil && next.parking {
			s.startReady(h)
		}
	}

	return next
}

// nextOf removes a ready lane of the handler and takes a place for it: a parking place if the
// handler has a surplus, else a place for a call. The surplus comes first, because otherwise a few
// items with many records would always find places for calls. nextOf returns nil if no lane is
// ready or the handler has no place. The caller holds mu.
func (s *Scheduler) nextOf(handler int) *lane {
	if l := s.nextToPark(handler); l != nil {
		return l
	}

	l := s.firstReady(handler)
	if l == nil || !s.hasPlace(handler) {
		return nil
	}
	s.dequeue(l)
	l.start(false)
	s.handlers[handler].running++
	s.running++

	return l
}

// hasPlace reports whether another call of the handler may run: in a place that is
// reserved for it, or in a place that is reserved for no handler. The caller holds mu.
func (s *Scheduler) hasPlace(handler int) bool {
	own := &s.handlers[handler]
	if own.running >= s.Cfg.Handlers[handler].Concurrency || s.running >= s.Cfg.Concurrency {
		return false
	}

	if own.running < s.reserved {
		return true
	}

	// Places that are reserved for others and not used yet stay free.
	free := s.Cfg.Concurrency - s.running
	for i := range s.handlers {
		free -= max(s.reserved-s.handlers[i].running, 0)
	}

	return free > 0
}

// finishStep ends a step. If the record is done, the lane continues with its next
// record or ends; otherwise it runs again after the pause.
func (s *Scheduler) finishStep(l *lane, d *delivery, done bool, pause time.Duration) {
	// Before mu is locked: finish locks the window, moves the checkpoint and wakes the reader.
	if done && d.queued == nil {
		l.shard.Window.finish(d.record)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	l.running = false
	if l.parking {
		l.shard.pace[l.handler].parking--
	}

	if done {
		l.head = d.next
		l.shard.pace[l.handler].pending--
	}

	switch {
	case l.head == nil || l.shard.ended(l):
		l.shard.remove(l)
	case done:
		s.enqueue(l)
	case pause == 0:
		s.enqueueAgain(l)
	default:
		l.timer = time.AfterFunc(pause, func() { s.resume(l) })
	}
}

// resume makes a lane ready again after its pause.
func (s *Scheduler) resume(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()

	l.timer = nil
	if !l.shard.ended(l) {
		s.enqueueAgain(l)
	}
}
