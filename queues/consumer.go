package queues

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
)

// Consumer hands the messages of one queue to a handler. Make it with New; call Run
// once.
type Consumer struct {
	cfg       Config
	queue     queue
	policy    policy
	slots     chan struct{}  // has one element for each slot that a poll or a message uses
	deletions chan *inFlight // messages to delete
	outage    outage
	pollLog   worker.LogThrottle
	putOffLog worker.LogThrottle
	countLog  worker.LogThrottle
	handlers  sync.WaitGroup

	// calls is the context of the calls that dispose of messages. It ends with Run, or when the
	// drain is over.
	calls context.Context

	mu       sync.Mutex
	inFlight map[*inFlight]struct{}
}

// New returns a consumer that is ready to run, or an error that names every fault of cfg.
func New(cfg Config) (*Consumer, error) {
	cfg = cfg.withDefaults()
	policy := newPolicy(cfg.Attempts, cfg.Backoff, cfg.Failures)

	if err := errors.Join(cfg.check(), policy.check()); err != nil {
		return nil, err
	}
	cfg.Handler = wrap(cfg.Handler, cfg.Middleware)

	return &Consumer{
		cfg:       cfg,
		queue:     queue{api: cfg.SQS, url: cfg.QueueURL, deadLetters: cfg.DeadLetterURL},
		policy:    policy,
		slots:     make(chan struct{}, cfg.Slots),
		deletions: make(chan *inFlight, cfg.Slots),
		inFlight:  map[*inFlight]struct{}{},
	}, nil
}

// ErrStuck means that handlers did not return after their contexts had ended. Their messages come
// again when their visibility timeouts are over.
var ErrStuck = errors.New("queues: handlers did not stop")

// lastCalls is how long drain waits for the messages in flight after it has canceled the calls to
// the queue.
const lastCalls = time.Second

// Run consumes until ctx ends and no message is in flight, then returns nil. After a
// stop no handler is started; messages whose handlers were not called are returned at
// once.
//
// Run returns ErrStuck when handlers ignored the end of their contexts for 10 s,
// and another error, after the same drain, when the queue could not be polled for
// two minutes.
func (c *Consumer) Run(ctx context.Context) error {
	// These contexts do not end with ctx, because a stop drains first.
	detached := context.WithoutCancel(ctx)

	work, cancelHandlers := context.WithCancelCause(detached)
	defer cancelHandlers(ErrStopped)

	polls, cancelPolls := context.WithCancel(detached)
	defer cancelPolls()

	calls, cancelCalls := context.WithCancel(detached)
	c.calls = calls

	// Deferred calls run in reverse order: first the calls are canceled, then background is waited
	// for.
	var background sync.WaitGroup
	defer background.Wait()
	defer cancelCalls()

	background.Go(func() { c.keepInvisible(calls) })

	// The group's context ends with ctx or when a poller gives up.
	group, stop := errgroup.WithContext(ctx)
	for range max(1, min(maxPollers, c.cfg.Slots/maxBatch)) {
		background.Go(func() { c.deleteInBatches(calls) })
		group.Go(func() error { return c.poll(stop, polls, work) })
	}

	polled := make(chan error, 1)
	go func() { polled <- group.Wait() }()

	<-stop.Done()

	return c.drain(polled, cancelCalls, worker.Drain{
		PollGrace:      c.cfg.PollGrace,
		CancelPolls:    cancelPolls,
		Timeout:        c.cfg.DrainTimeout,
		CancelHandlers: func() { cancelHandlers(ErrStopped) },
		Grace:          c.cfg.drainGrace,
	})
}

// drain ends the polls, then the handlers, then the calls that dispose of their messages.
func (c *Consumer) drain(polled <-chan error, cancelCalls context.CancelFunc, drain worker.Drain) error {
	idle := make(chan struct{})

	drained, err := drain.Run(polled, func() <-chan struct{} {
		go func() { // ends with the last handler
			c.handlers.Wait()
			close(idle)
		}()

		return idle
	})
	if drained {
		return err
	}

	// The messages may be in flight because of a call to the queue and not because of a handler.
	cancelCalls()

	if worker.WaitClosed(idle, lastCalls) {
		return err
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	return errors.Join(err, fmt.Errorf("%w: %d messages of %s", ErrStuck, len(c.inFlight), c.queue.name()))
}

// start handles the messages of one poll. Each sequence of byGroup has a goroutine of its own.
func (c *Consumer) start(stop, work context.Context, received []Message) {
	if len(received) == 0 {
		return
	}

	// All messages are registered before the first handler runs, so that a message that waits for
	// others of its group is kept invisible, too.
	now := time.Now()
	batch := make([]*inFlight, len(received))
	c.mu.Lock()

	for i, m := range received {
		f := &inFlight{message: m, receivedAt: now, extendedAt: now}
		f.ctx, f.cancel = context.WithCancelCause(work)
		c.inFlight[f], batch[i] = struct{}{}, f
	}
	c.mu.Unlock()

	for _, sequence := range byGroup(batch, func(f *inFlight) string { return f.message.orderedBy() }) {
		c.handlers.Go(func() { c.handleInOrder(stop, sequence) })
	}
}

// handleInOrder handles messages one after the other. After a stop, or after a message that was not
// deleted, the remaining messages are returned unread.
func (c *Consumer) handleInOrder(stop context.Context, sequence []*inFlight) {
	for i, f := range sequence {
		if stop.Err() != nil || f.isLost() {
			c.returnUnread(sequence[i:])
			return
		}

		if !c.handle(f) {
			c.returnUnread(sequence[i+1:])
			return
		}
	}
}

// Ready returns nil while polls are answered or messages use all slots. Otherwise the error says
// for how long no poll was answered; before the first answer that duration has no meaning.
func (c *Consumer) Ready() error {
	answeredAt, failingSince := c.outage.state()
	if answeredAt.IsZero() && failingSince.IsZero() {
		return nil // the first poll is open
	}

	// If no poll was ever answered, answeredAt is zero and age is the longest duration.
	age := time.Since(answeredAt)
	if age <= c.cfg.waitTime+2*callTimeout {
		return nil
	}

	// While polls fail, some slots may be taken by polls and not by messages.
	if len(c.slots) == cap(c.slots) && failingSince.IsZero() {
		return nil
	}

	return fmt.Errorf("queues: no poll of %s was answered for %v", c.queue.name(), age.Round(time.Second))
}
