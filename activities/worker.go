package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/worker"
)

// Worker serves activities. Make it with New; call Run once.
type Worker struct {
	cfg     Config
	pollers []*poller
	outbox  outbox
	// The budgets of the two operations that the outbox does not need.
	polls, heartbeats *budget
	// answers is the parent of every answer's context. It ends with Run, or when a drain
	// has waited for answers long enough.
	answers context.Context

	mu    sync.Mutex
	tasks map[*inFlight]struct{}
	idle  chan struct{} // set by whenIdle; closed when the last task has ended
}

// New returns a worker that is ready to run, or an error that names every fault of cfg.
func New(cfg Config) (*Worker, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()

	w := &Worker{
		cfg:        cfg,
		outbox:     newOutbox(cfg),
		polls:      newBudget(cfg.Rates.GetActivityTask, burstSeconds),
		heartbeats: newBudget(cfg.Rates.SendTaskHeartbeat, 0),
		tasks:      map[*inFlight]struct{}{},
	}
	for i := range cfg.Activities {
		w.pollers = append(w.pollers, newPoller(w, &w.cfg.Activities[i]))
	}

	return w, nil
}

// ErrStuck is what Run returns when handlers did not return after their contexts had
// ended. Their tasks were answered with WorkerShutdown.
var ErrStuck = errors.New("activities: handlers did not stop")

// Run serves until ctx ends and every task in flight is answered, then returns nil. The
// drain takes DrainTimeout and twice DrainGrace at most, and longer only for polls that
// are still open (see Config.PollGrace).
//
// Run returns ErrStuck when handlers ignored the end of their contexts for DrainGrace,
// and another error, after the same drain, when an activity could not be polled for
// Config.FatalAfter.
func (w *Worker) Run(ctx context.Context) error {
	// None of these may end with ctx: a stop drains first.
	detached := context.WithoutCancel(ctx)

	work, cancelHandlers := context.WithCancelCause(detached)
	defer cancelHandlers(ErrShutdown)

	polls, cancelPolls := context.WithCancel(detached)
	defer cancelPolls()

	answers, cancelAnswers := context.WithCancel(detached)
	defer cancelAnswers()
	w.answers = answers

	// The group's context ends with ctx or when a poller gives up.
	group, stop := errgroup.WithContext(ctx)
	for _, p := range w.pollers {
		for i := range p.activity.Pollers {
			group.Go(func() error { return p.run(stop, polls, work, i) })
		}
	}

	polled := make(chan error, 1)
	go func() { polled <- group.Wait() }()

	<-stop.Done()

	drain := worker.Drain{
		PollGrace:      w.cfg.PollGrace,
		CancelPolls:    cancelPolls,
		Timeout:        w.cfg.DrainTimeout,
		CancelHandlers: func() { cancelHandlers(ErrShutdown) },
		Grace:          w.cfg.DrainGrace,
	}

	drained, err := drain.Run(polled, w.whenIdle)
	if drained {
		return err
	}

	// The last answers get DrainGrace, too: a service that cannot be reached must not
	// keep the worker from ending.
	last := time.AfterFunc(w.cfg.DrainGrace, cancelAnswers)
	defer last.Stop()

	stuck := w.abandon()
	<-w.idle

	if stuck > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d of them", ErrStuck, stuck))
	}

	return err
}

// whenIdle returns a channel that is closed when no task is in flight. It is called once,
// when no new task can arrive.
func (w *Worker) whenIdle() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.idle = make(chan struct{})
	if len(w.tasks) == 0 {
		close(w.idle)
	}

	return w.idle
}

// abandon answers the tasks of the handlers that have not returned, and returns their
// number.
func (w *Worker) abandon() (stuck int) {
	w.mu.Lock()

	tasks := make([]*inFlight, 0, len(w.tasks))
	for t := range w.tasks {
		tasks = append(tasks, t)
	}
	w.mu.Unlock()

	var answers sync.WaitGroup
	for _, t := range tasks {
		if !t.claim() {
			continue // its answer is on the way
		}

		stuck++
		answers.Go(func() {
			t.finish(nil, &Error{Name: w.cfg.ErrorPrefix + NameShutdown, Cause: "the worker stopped and the handler did not"})
		})
	}
	answers.Wait()

	return stuck
}

func (w *Worker) enter(t *inFlight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks[t] = struct{}{}
}

func (w *Worker) leave(t *inFlight) {
	w.mu.Lock()
	defer w.mu.Unlock()

	delete(w.tasks, t)

	if w.idle != nil && len(w.tasks) == 0 {
		close(w.idle)
	}
}

// tasksOf returns how many tasks of one activity are in flight.
func (w *Worker) tasksOf(p *poller) int {
	w.mu.Lock()
	defer w.mu.Unlock()

	n := 0
	for t := range w.tasks {
		if t.poller == p {
			n++
		}
	}

	return n
}

// Ready returns nil while every activity was polled successfully within the last
// Config.PollTimeout or has all its slots at work. Its error names the first activity of
// which neither is true.
func (w *Worker) Ready() error {
	for _, p := range w.pollers {
		if err := p.ready(time.Now()); err != nil {
			return err
		}
	}

	return nil
}
