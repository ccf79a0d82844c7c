package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Worker serves activities. Make it with New; Run it once.
type Worker struct {
	cfg    Config
	desks  []*desk
	budget budget
	// answers is the parent of every answer's context; it ends only when a stop
	// has waited for answers long enough.
	answers context.Context

	mu      sync.Mutex
	running map[*run]struct{}
	idle    chan struct{} // made by who waits for the last run, closed then
}

// New checks cfg and returns a worker that is ready to run.
func New(cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}

	w := &Worker{cfg: cfg, running: map[*run]struct{}{}, budget: budget{perSecond: cfg.BeatsPerSecond}}
	for i := range cfg.Activities {
		w.desks = append(w.desks, newDesk(w, &w.cfg.Activities[i]))
	}

	return w, nil
}

// ErrStuck is what Run returns when handlers did not return after their contexts
// had ended. Their tasks were answered for them.
var ErrStuck = errors.New("activities: handlers did not stop")

// Run serves until ctx ends and every task held is answered, then returns nil.
// After a stop that takes DrainTimeout and twice DrainGrace at most (see
// Config.PollGrace for polls that are still open). It returns ErrStuck when
// handlers ignored the end of their contexts for DrainGrace, and an error, after
// the same drain, when an activity could not be polled for Config.FatalAfter.
func (w *Worker) Run(ctx context.Context) error {
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(ErrShutdown)
	polls, endPolls := context.WithCancel(context.WithoutCancel(ctx))
	defer endPolls()
	answers, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	w.answers = answers

	g, stop := errgroup.WithContext(ctx)
	for _, d := range w.desks {
		for i := range d.act.Pollers {
			g.Go(func() error { return d.poll(stop, polls, work, i) })
		}
	}
	polled := make(chan error, 1)
	go func() { polled <- g.Wait() }()
	<-stop.Done()

	return w.drain(polled, endPolls, cut, giveUp)
}

// drain ends the polls and then the tasks, each with patience first and with
// force later.
func (w *Worker) drain(polled <-chan error, endPolls context.CancelFunc, cut context.CancelCauseFunc, giveUp context.CancelFunc) error {
	began := time.Now()
	var err error
	grace := time.NewTimer(w.cfg.PollGrace)
	defer grace.Stop()
	patience := time.NewTimer(w.cfg.DrainTimeout)
	defer patience.Stop()

	for open := true; open; {
		select {
		case err = <-polled:
			open = false
		case <-grace.C:
			endPolls()
		case <-patience.C:
			cut(ErrShutdown)
		}
	}

	idle := w.whenIdle()
	if left := w.cfg.DrainTimeout - time.Since(began); left > 0 {
		if waitFor(idle, left) {
			return err
		}
	}
	cut(ErrShutdown)

	if waitFor(idle, w.cfg.DrainGrace) {
		return err
	}
	// The last answers have as long again; a service that is out of reach must not
	// keep a worker for ever.
	last := time.AfterFunc(w.cfg.DrainGrace, giveUp)
	defer last.Stop()
	stuck := w.abandon()
	<-idle

	if stuck > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d of them", ErrStuck, stuck))
	}

	return err
}

func waitFor(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// whenIdle returns a channel that is closed when no task is held. No new one may
// come any more.
func (w *Worker) whenIdle() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.idle = make(chan struct{})
	if len(w.running) == 0 {
		close(w.idle)
	}

	return w.idle
}

// abandon answers for every handler that has not returned.
func (w *Worker) abandon() int {
	w.mu.Lock()

	runs := make([]*run, 0, len(w.running))
	for r := range w.running {
		runs = append(runs, r)
	}
	w.mu.Unlock()

	n := 0
	var answers sync.WaitGroup
	for _, r := range runs {
		if !r.claim() {
			continue // being answered right now
		}
		n++
		answers.Go(func() {
			r.finish(nil, &Error{Name: w.cfg.ErrorPrefix + NameShutdown, Cause: "the worker stopped and the handler did not"})
		})
	}
	answers.Wait()

	return n
}

func (w *Worker) enter(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[r] = struct{}{}
}

func (w *Worker) leave(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, r)

	if w.idle != nil && len(w.running) == 0 {
		close(w.idle)
	}
}

// Ready returns nil while every activity has been polled successfully within the
// last 70 s or has all its slots at work, and else says which has not.
func (w *Worker) Ready() error {
	for _, d := range w.desks {
		if err := d.ready(time.Now()); err != nil {
			return err
		}
	}

	return nil
}
