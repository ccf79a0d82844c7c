package queues

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Consumer hands the messages of one queue to a handler. Make it with New; Run it once.
type Consumer struct {
	cfg     Config
	queue   queue
	policy  policy
	slots   chan struct{}
	acks    chan *held
	pardons pardons
	faults  faults
	putOff  sparse
	// calls is the parent of every call that tells what became of a message; it ends
	// when all is told, or when a stop has waited long enough.
	calls context.Context
	lanes sync.WaitGroup

	mu   sync.Mutex
	held map[*held]struct{}
}

// New checks cfg and returns a consumer that is ready to run.
func New(cfg Config) (*Consumer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}

	p, err := newPolicy(cfg.Attempts, cfg.Backoff)
	if err != nil {
		return nil, err
	}

	return &Consumer{
		cfg: cfg, policy: p, queue: queue{api: cfg.SQS, url: cfg.QueueURL, deadLetters: cfg.DeadLetterURL},
		slots: make(chan struct{}, cfg.Slots), acks: make(chan *held, cfg.Slots), held: map[*held]struct{}{},
	}, nil
}

// ErrStuck is what Run returns when handlers did not return after their contexts had
// ended. Their messages come again when their visibility time-outs are over.
var ErrStuck = errors.New("queues: handlers did not stop")

// Run consumes until ctx ends and every message held is done or given back, then
// returns nil. After a stop no handler is begun; what was received and not begun is
// given back at once. It returns ErrStuck when handlers ignored the end of their
// contexts for DrainGrace, and an error, after the same drain, when the queue could not
// be polled for Config.FatalAfter.
func (c *Consumer) Run(ctx context.Context) error {
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(ErrStopped)
	polls, endPolls := context.WithCancel(context.WithoutCancel(ctx))
	defer endPolls()
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	c.calls = calls

	var background sync.WaitGroup
	defer background.Wait()
	defer endCalls()
	background.Go(func() { c.beat(calls) })

	g, stop := errgroup.WithContext(ctx)
	for range c.cfg.Pollers {
		background.Go(func() { c.deleter(calls) })
		g.Go(func() error { return c.poll(stop, polls, work) })
	}
	polled := make(chan error, 1)
	go func() { polled <- g.Wait() }()
	<-stop.Done()

	return c.drain(polled, endPolls, cut, endCalls)
}

// drain ends the polls, then the handlers, then the calls that tell what became of
// their messages, each with patience first and with force later.
func (c *Consumer) drain(polled <-chan error, endPolls context.CancelFunc, cut context.CancelCauseFunc, endCalls context.CancelFunc) error {
	grace := time.NewTimer(c.cfg.PollGrace)
	defer grace.Stop()
	began := time.Now()
	patience := time.NewTimer(c.cfg.DrainTimeout)
	defer patience.Stop()

	var err error
	for open := true; open; {
		select {
		case err = <-polled:
			open = false
		case <-grace.C:
			endPolls()
		case <-patience.C:
			cut(ErrStopped)
		}
	}
	idle := make(chan struct{})
	go func() { // ends with the last handler
		c.lanes.Wait()
		close(idle)
	}()

	for _, step := range []struct {
		after time.Duration
		force func()
	}{
		{c.cfg.DrainTimeout - time.Since(began), func() { cut(ErrStopped) }},
		{c.cfg.DrainGrace, endCalls},
		{time.Second, func() {}}, // for what only had to be told
	} {
		timer := time.NewTimer(step.after)
		select {
		case <-idle:
			timer.Stop()
			return err
		case <-timer.C:
			step.force()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	return errors.Join(err, fmt.Errorf("%w: %d messages of %s", ErrStuck, len(c.held), c.queue.name()))
}

// start handles the messages of one poll, each lane on a goroutine of its own.
func (c *Consumer) start(stop, work context.Context, ms []Message) {
	if len(ms) == 0 {
		return
	}
	now := time.Now()
	batch := make([]*held, len(ms))
	c.mu.Lock()
	for i, m := range ms {
		h := &held{m: m, at: now, extended: now}
		h.ctx, h.cancel = context.WithCancelCause(work)
		c.held[h], batch[i] = struct{}{}, h
	}
	c.mu.Unlock()

	for _, lane := range lanes(batch, func(h *held) string { return h.m.lane() }) {
		c.lanes.Go(func() { c.run(stop, lane) })
	}
}

// run handles the messages of a lane one after the other, each when the one before is
// deleted. Behind one that is not, and after a stop, the rest is given back.
func (c *Consumer) run(stop context.Context, lane []*held) {
	for i, h := range lane {
		if stop.Err() != nil || h.lost() {
			c.giveBack(lane[i:])
			return
		}

		if !c.handle(h) {
			c.giveBack(lane[i+1:])
			return
		}
	}
}

// Ready returns nil while polls are answered or all slots are at work, and else says
// since when not.
func (c *Consumer) Ready() error {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()

	if c.faults.polled.IsZero() && c.faults.since.IsZero() {
		return nil // just begun
	}

	age := time.Since(c.faults.polled)
	if age <= c.cfg.WaitTime+2*callTimeout || len(c.slots) == cap(c.slots) && c.faults.since.IsZero() {
		return nil
	}

	return fmt.Errorf("queues: no poll of %s was answered for %v", c.queue.name(), age.Round(time.Second))
}
