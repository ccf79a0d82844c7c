package streams

import (
	"sync"
	"time"

	"ratchet/internal/worker"
)

// laneScheduler runs the handlers of all shards that this worker holds.
//
// A lane is the queue of one item's records for one handler. It exists only while
// it has records, and runs one record at a time. Up to limit lanes run at once,
// each step on a goroutine of the scheduler; goroutines are started on demand and
// end when no lane is ready.
type laneScheduler struct {
	cfg         *Config
	deadLetters *deadLetterTable
	retries     *retryTable
	waiting     *waitingItems
	queues      *retryQueues
	circuits    []*circuit // by handler
	log         worker.LogThrottle
	limit       int // Config.Concurrency

	mu         sync.Mutex
	readyFirst *lane // FIFO of the lanes that may run, linked by lane.nextReady
	readyLast  *lane
	running    int // goroutines
	goroutines sync.WaitGroup
}

// laneKey identifies a lane within a shard.
type laneKey struct {
	handler int // index in Config.Handlers
	key     string
}

// lane is guarded by laneScheduler.mu.
type lane struct {
	laneKey
	shard     *shardLanes
	head      *delivery // the record that runs or runs next
	tail      *delivery
	running   bool
	timer     *time.Timer // while the head waits for its next attempt
	nextReady *lane
}

// enqueue makes a lane ready and makes sure that a goroutine runs it. The caller
// holds mu.
func (s *laneScheduler) enqueue(l *lane) {
	l.nextReady = nil
	if s.readyFirst == nil {
		s.readyFirst = l
	} else {
		s.readyLast.nextReady = l
	}
	s.readyLast = l

	if s.running < s.limit {
		s.running++
		s.goroutines.Go(s.runReadyLanes)
	}
}

// runReadyLanes runs one step of each ready lane in turn, until none is ready.
func (s *laneScheduler) runReadyLanes() {
	for {
		l := s.nextLane()
		if l == nil {
			return
		}
		s.runStep(l)
	}
}

// nextLane removes the first ready lane from the queue. If none is ready, it gives
// up the goroutine's place and returns nil.
func (s *laneScheduler) nextLane() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()

	for s.readyFirst != nil {
		l := s.readyFirst
		s.readyFirst = l.nextReady
		l.nextReady = nil

		// The shard may have been stopped while the lane was in the queue. It then
		// has removed the lane already.
		if l.shard.ended(l) {
			continue
		}

		l.running = true
		l.shard.newestBegun = max(l.shard.newestBegun, l.head.record.slot)

		return l
	}
	s.running--

	return nil
}

// finishStep ends a step. If the record is done, the lane continues with its next
// record or ends; otherwise it runs again after the pause.
func (s *laneScheduler) finishStep(l *lane, d *delivery, done bool, pause time.Duration) {
	// The window has a lock of its own, and may move the checkpoint and wake the reader.
	if done && d.queued == nil {
		l.shard.window.finish(d.record)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	l.running = false
	if done {
		l.head = d.next
	}

	switch {
	case l.head == nil || l.shard.ended(l):
		l.shard.remove(l)
	case done || pause == 0:
		// To the end of the queue, so that a long lane does not hold up the others.
		s.enqueue(l)
	default:
		l.timer = time.AfterFunc(pause, func() { s.resume(l) })
	}
}

// resume makes a lane ready again after its pause.
func (s *laneScheduler) resume(l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()

	l.timer = nil
	if !l.shard.ended(l) {
		s.enqueue(l)
	}
}
