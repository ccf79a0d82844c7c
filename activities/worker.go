package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ratchet/internal/worker"
)

// Worker serves activities. Make it with New; call Run once.
type Worker struct {
	cfg    Config
	outbox outbox
	// The budgets of the polls and the heartbeats. The budgets of the answers are in the outbox.
	polls, heartbeats *budget
	// answers is the parent of every answer's context. It ends when Run returns, or when a drain has
	// waited for answers long enough.
	answers context.Context
	// runners are the goroutines that wait for a task to run.
	runners chan *inFlight
	// aborted ends when Abort is called.
	aborted context.Context
	abort   context.CancelFunc

	mu      sync.Mutex
	state   state
	pollers []*poller
	tasks   map[*inFlight]struct{}
	idle    chan struct{} // set by whenIdle; closed when the last task has ended
	forced  int           // tasks that the drain gave back or left without an answer
	allDead func()        // stops the worker when every activity is denied
}

// state is where a Worker stands in its life.
type state int

const (
	fresh state = iota
	serving
	draining
	stopped
)

// life has the contexts and the wait group that the loops of a running worker share.
type life struct {
	stop  context.Context // no more polls, no more loops
	polls context.Context // of open polls; a drain lets them end by themselves first
	work  context.Context // of handlers
	loops sync.WaitGroup
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
		runners:    make(chan *inFlight),
		tasks:      map[*inFlight]struct{}{},
	}
	w.aborted, w.abort = context.WithCancel(context.Background())
	// Emptied here, because add appends each activity with its defaults.
	w.cfg.Activities = nil

	for _, a := range cfg.Activities {
		w.add(a)
	}

	return w, nil
}

// add adds an activity that was checked.
func (w *Worker) add(a Activity) {
	a = a.withDefaults(w.cfg.Middleware)
	w.cfg.Activities = append(w.cfg.Activities, a)
	w.pollers = append(w.pollers, newPoller(w, &a))
}

// register adds an activity before Run.
func (w *Worker) register(a Activity) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.state != fresh {
		return fmt.Errorf("activities: register %s: the worker runs already", a.ARN)
	}

	if faults := a.check(len(w.cfg.Activities), w.cfg.Activities); len(faults) > 0 {
		return errors.Join(faults...)
	}
	w.add(a)

	return nil
}

// Run serves until ctx ends and every task in flight is answered. The drain takes at most
// DrainTimeout and 20 s, and longer only if polls are still open (see Config.PollGrace). Abort cuts it
// short.
//
// Run returns nil after a clean drain: every task was finished and answered. It returns
// ErrForced when tasks were given back unfinished, ErrStuck when handlers ignored the end
// of their contexts for 10 s, and an error for every activity that is denied: whose polls were refused
// for 2 minutes. If all activities are denied, Run ends by itself, after the same drain.
func (w *Worker) Run(ctx context.Context) error {
	// Handlers, polls and answers must not end with ctx: a stop drains first.
	detached := context.WithoutCancel(ctx)

	work, cancelHandlers := context.WithCancelCause(detached)
	defer cancelHandlers(ErrShutdown)

	polls, cancelPolls := context.WithCancel(detached)
	defer cancelPolls()

	answers, cancelAnswers := context.WithCancel(detached)
	defer cancelAnswers()

	stop, cancelStop := context.WithCancel(ctx)
	defer cancelStop()
	defer context.AfterFunc(w.aborted, cancelStop)()

	l := &life{stop: stop, polls: polls, work: work}
	if err := w.begin(answers, l, cancelStop); err != nil {
		return err
	}
	defer w.enter(stopped)

	polled := make(chan error, 1)
	go func() {
		l.loops.Wait()
		polled <- nil
	}()

	<-stop.Done()
	w.enter(draining)
	defer w.reportDrain()()

	w.logWait()

	drain := worker.Drain{
		PollGrace:      w.cfg.PollGrace,
		CancelPolls:    cancelPolls,
		Timeout:        w.cfg.DrainTimeout,
		CancelHandlers: func() { cancelHandlers(ErrShutdown) },
		Grace:          w.cfg.drainGrace,
		Abort:          w.aborted.Done(),
	}

	if drained, _ := drain.Run(polled, w.whenIdle); !drained {
		w.giveBack(cancelAnswers)
	}

	return w.result()
}

// logWait says what the stop waits for, and until when.
func (w *Worker) logWait() {
	open := 0
	for _, p := range w.pollers {
		open += p.openPolls()
	}

	if open > 0 && w.cfg.PollGrace > 0 {
		w.cfg.Log.Info("the stop waits for open polls, which the service ends within 60 s and may still answer with tasks",
			"polls", open, "until", time.Now().Add(w.cfg.PollGrace).Format(time.TimeOnly))
	}
}

// begin starts the loops of every activity.
func (w *Worker) begin(answers context.Context, l *life, stop func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.state != fresh {
		return errors.New("activities: Run was called twice")
	}

	if len(w.pollers) == 0 {
		return errors.New("activities: the worker has no activities")
	}

	w.state, w.answers, w.allDead = serving, answers, stop
	w.logStart()

	for _, p := range w.pollers {
		p.begin(l)
	}

	return nil
}

func (w *Worker) enter(s state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
}

// Abort ends a worker at once, for example at a second signal: polls and the contexts of handlers
// end, and the tasks in flight are given back within a second. If there were any, Run returns
// ErrForced. Abort may be called at any time, also before Run and more than once. It does not wait.
func (w *Worker) Abort() { w.abort() }

// abortGrace is how long Abort waits for handlers to return, and then again for the last answers to
// be delivered.
const abortGrace = 500 * time.Millisecond

// giveBack answers the tasks whose handlers have not returned, and waits until no task is in flight.
// The last answers have drainGrace: the worker must end even if the service cannot be reached.
func (w *Worker) giveBack(cancelAnswers func()) {
	// An abort skips the grace of the drain, so handlers get a moment here to return by themselves.
	if w.aborted.Err() != nil && worker.WaitClosed(w.idle, abortGrace) {
		return
	}

	last := time.AfterFunc(w.cfg.drainGrace, cancelAnswers)
	defer last.Stop()

	defer context.AfterFunc(w.aborted, func() { last.Reset(min(abortGrace, w.cfg.drainGrace)) })()

	w.mu.Lock()
	tasks := make([]*inFlight, 0, len(w.tasks))

	for t := range w.tasks {
		tasks = append(tasks, t)
	}
	w.mu.Unlock()

	var answers sync.WaitGroup
	for _, t := range tasks {
		answers.Go(func() {
			t.abandon(&Error{own: NameShutdown, Cause: "the worker stopped and the handler did not", Err: ErrShutdown})
		})
	}
	answers.Wait()

	// The other tasks are answered by the goroutines that claimed them. The end of w.answers ends these
	// answers, too.
	<-w.idle
}

// result makes the error that Run returns after a drain.
func (w *Worker) result() error {
	w.mu.Lock()
	defer w.mu.Unlock()

	var faults []error
	if w.forced > 0 {
		faults = append(faults, fmt.Errorf("%w: %d of them", ErrForced, w.forced))
	}

	stuck := 0

	for _, p := range w.pollers {
		stuck += p.strandedHandlers()

		if err := p.denial(); err != nil {
			faults = append(faults, err)
		}
	}

	if stuck > 0 {
		faults = append(faults, fmt.Errorf("%w: %d of them", ErrStuck, stuck))
	}

	return errors.Join(faults...)
}

// stopIfDenied stops the worker if every activity is denied.
func (w *Worker) stopIfDenied() {
	w.mu.Lock()
	defer w.mu.Unlock()

	// The worker's lock is taken before a poller's lock, here and in begin.
	if !slices.ContainsFunc(w.pollers, func(p *poller) bool { return p.denial() == nil }) {
		w.allDead()
	}
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

func (w *Worker) arrived(t *inFlight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks[t] = struct{}{}
}

// left takes note of the end of a task, and of whether the drain ended it.
func (w *Worker) left(t *inFlight, forced bool) {
	w.mu.Lock()
	defer w.mu.Unlock()

	delete(w.tasks, t)

	if forced {
		w.forced++
	}

	if w.idle != nil && len(w.tasks) == 0 {
		close(w.idle)
	}
}

// working returns how many tasks of one activity are in flight and not lost.
func (w *Worker) working(p *poller) int {
	w.mu.Lock()
	defer w.mu.Unlock()

	n := 0
	for t := range w.tasks {
		if t.poller == p && t.ctx.Err() == nil {
			n++
		}
	}

	return n
}

// Ready returns nil if the worker serves and each activity is polled: its newest answer to a poll is
// at most 70 s old, or all its slots are at work. The error names the first activity that is not. A
// worker is not ready before a poll of each activity was answered; the first answer takes a minute if
// there is no task. It is not ready while it drains.
func (w *Worker) Ready() error {
	w.mu.Lock()
	state, pollers := w.state, w.pollers
	w.mu.Unlock()

	switch state {
	case fresh:
		return errors.New("activities: the worker does not run yet")
	case draining, stopped:
		return errors.New("activities: the worker stops")
	case serving:
	}

	for _, p := range pollers {
		if err := p.ready(time.Now()); err != nil {
			return err
		}
	}

	return nil
}
