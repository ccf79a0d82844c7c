package activities

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// defaultDeadline is how long after the receipt of its token the answer of a task without
// HeartbeatSeconds counts as due. It decides only the order of answers that wait for turns.
const defaultDeadline = time.Minute

// inFlight is one task from the receipt of its token to its answer.
type inFlight struct {
	worker     *Worker
	poller     *poller // whose slot the task holds
	task       Task
	receivedAt time.Time

	ctx        context.Context // the handler's
	cancel     context.CancelCauseFunc
	turn       *turn        // nil when the task need not wait for Activity.PerSecond
	heartbeats *heartbeater // nil when the state has no HeartbeatSeconds
	progress   atomic.Value // of recorded

	claimed  atomic.Bool // by the goroutine that answers
	disowned atomic.Bool // the service said that the task is no longer this worker's

	// Guarded by the poller's lock.
	returned  bool // the handler has returned
	stranded  bool // the task ended before the handler returned
	keepsSlot bool // the handler, not the end of the task, frees the slot
}

// start runs a task on another goroutine, with the slot that p has taken for it.
func (w *Worker) start(work context.Context, p *poller, task Task) {
	t := &inFlight{worker: w, poller: p, task: task, receivedAt: time.Now()}
	t.ctx, t.cancel = context.WithCancelCause(work)
	t.turn = p.starts.enqueue(t.receivedAt)

	if p.activity.Heartbeat > 0 {
		t.heartbeats = newHeartbeater(t)
		t.heartbeats.start(t.turn != nil)
	}
	w.arrived(t)
	w.run(t)
}

// claim reports whether the caller is to answer the task. Only the first caller is: the goroutine that
// ran the handler, or the call of abandon by a watchdog, after a loss or at the end of a drain.
func (t *inFlight) claim() bool { return t.claimed.CompareAndSwap(false, true) }

// work calls the handler and answers the task. The handler may call runtime.Goexit, so deferred calls
// end the task.
func (t *inFlight) work(calls *timeLimit) {
	defer t.handlerReturned()

	if t.turn != nil {
		_ = t.poller.starts.await(t.ctx, t.turn) // an error means that t.ctx has ended, see below
	}

	// The context ended during the wait, or the poll was answered after DrainTimeout. The failure gives
	// the task back to the state machine.
	if t.ctx.Err() != nil {
		if t.claim() {
			t.finish(nil, context.Cause(t.ctx), calls)
		}

		return
	}

	if f := t.worker.cfg.Events.Started; f != nil {
		f(t.task)
	}
	t.call(calls)
}

// call runs the handler within Activity.Timeout and answers the task.
func (t *inFlight) call(calls *timeLimit) {
	var ctx context.Context = taskContext{t.ctx, t}

	if limit := t.poller.activity.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrDeadline)
		defer cancel()

		// If the handler ignores its context, the watchdog answers the task, so that the state need not
		// wait for its time-out.
		watchdog := time.AfterFunc(limit+t.worker.cfg.drainGrace, func() {
			t.abandon(&Error{own: NameDeadline, Cause: "the handler did not return"})
		})
		defer watchdog.Stop()
	}

	var output any
	err := errGoexit // stays if the handler calls runtime.Goexit

	defer func() {
		if t.claim() {
			t.finish(output, interrupted(ctx, err), calls)
		}
	}()

	err = catchPanic(func() (err error) {
		output, err = t.poller.activity.Handle(ctx, t.task)
		return err
	})
}

// interrupted puts the reason why a handler's context ended in front of the handler's error.
func interrupted(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, ErrDeadline) || errors.Is(cause, ErrShutdown)) {
		return &interruptedError{cause: cause, err: err}
	}

	return err
}

// interruptedError is the error of a handler whose context ended while it ran.
type interruptedError struct{ cause, err error }

func (e *interruptedError) Error() string   { return e.cause.Error() + ": " + e.err.Error() }
func (e *interruptedError) Unwrap() []error { return []error{e.cause, e.err} }

// lose ends the handler's context, because the task is lost. If the handler has not returned after
// drainGrace, abandon ends the task without it.
func (t *inFlight) lose(err error) {
	t.cancel(fmt.Errorf("%w: %w", ErrTaskLost, err))
	time.AfterFunc(t.worker.cfg.drainGrace, func() { t.abandon(context.Cause(t.ctx)) })
}

// abandon ends the task of a handler that has not returned in time. It frees the slot for another task,
// unless more handlers are stuck than there are slots: then the handler keeps its slot, so that the
// number of stuck handlers is bounded.
func (t *inFlight) abandon(err error) {
	if !t.claim() {
		return
	}

	p := t.poller
	p.mu.Lock()
	// A handler that has returned in the meantime is not stuck: its goroutine only came second in claim.
	if !t.returned {
		p.stranded++
		t.stranded = true
		t.keepsSlot = p.stranded > p.activity.Slots
	}
	p.mu.Unlock()

	var calls timeLimit
	defer calls.close()
	t.finish(nil, err, &calls)
}

// handlerReturned takes note of the end of the handler's goroutine.
func (t *inFlight) handlerReturned() {
	p := t.poller
	p.mu.Lock()
	defer p.mu.Unlock()

	t.returned = true
	if t.stranded {
		p.stranded--
	}

	if t.keepsSlot {
		<-p.slots
	}
}

// strandedHandlers returns how many handlers still run although their tasks have ended.
func (p *poller) strandedHandlers() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.stranded
}

// freeSlot frees the task's slot, unless a stuck handler keeps it.
func (t *inFlight) freeSlot() {
	p := t.poller
	p.mu.Lock()
	defer p.mu.Unlock()

	if !t.keepsSlot {
		<-p.slots
	}
}

// finish answers the task and frees its slot. Only the goroutine whose claim succeeded may call it. No
// other goroutine may use the same timeLimit.
func (t *inFlight) finish(output any, err error, calls *timeLimit) {
	done := Done{Task: t.task, Err: err, Ran: time.Since(t.receivedAt)}
	forced := errors.Is(err, ErrShutdown)

	switch {
	case errors.Is(err, ErrParked):
		t.stopHeartbeats()
		done.Outcome, done.Err = Parked, nil
	case t.isLost(err):
		t.stopHeartbeats()
		done.Outcome = Lost
	default:
		t.answer(&done, output, err, calls)
		// If the drain has ended the delivery, the task ends by its heartbeat time-out.
		forced = forced || done.Outcome == Unanswered && t.worker.answers.Err() != nil
	}

	t.cancel(context.Canceled)
	// Before left: Run may return after the last call of left, and every hook must have run by then.
	t.report(done)
	t.freeSlot()
	t.worker.left(t, forced)
}

// answer composes the answer and delivers it. Heartbeats go on, because it may take long to store a
// large output and to deliver the answer.
func (t *inFlight) answer(done *Done, output any, err error, calls *timeLimit) {
	ctx, out := t.worker.answers, &t.worker.outbox
	answer := out.compose(ctx, t.task, output, err)

	if t.heartbeats != nil {
		t.heartbeats.answer()
	}

	d := out.deliver(ctx, t.task.Token, answer, calls, answerLimit(t.poller.activity.Heartbeat), t.deadline())
	t.stopHeartbeats()

	done.Outcome, done.ErrorName = d.outcome, d.answer.name
	// The handler succeeded, but its output could not be sent.
	if d.answer.failure && err == nil {
		done.Err = d.answer.err
	}

	if d.err != nil {
		done.Err = errors.Join(done.Err, d.err)
	}

	if done.Outcome == Unknown {
		t.resolve(done)
	}
}

// resolve asks Config.Resolve whether an answer was accepted.
func (t *inFlight) resolve(done *Done) {
	cfg := &t.worker.cfg
	if cfg.Resolve != nil {
		ctx, cancel := context.WithTimeout(t.worker.answers, cfg.answerTimeout)
		defer cancel()

		err := call(func() (err error) {
			done.Outcome, err = cfg.Resolve(ctx, *done)
			return err
		})

		switch {
		case err != nil:
			done.Outcome, done.Err = Unknown, errors.Join(done.Err, fmt.Errorf("resolve: %w", err))
		case done.Outcome == Succeeded:
			done.Err = nil
		}
	}

	if f := cfg.Events.Unresolved; f != nil && done.Outcome == Unknown {
		f(*done)
	}
}

// deadline returns when the task counts as lost if the service gets neither a heartbeat nor an answer.
func (t *inFlight) deadline() time.Time {
	if t.heartbeats != nil {
		return t.heartbeats.deadline()
	}

	return t.receivedAt.Add(defaultDeadline)
}

// isLost reports whether the task must not be answered: the service has said that it is no longer this
// worker's, or heartbeats have failed and the handler has returned an error. An output is sent all the
// same, because the service may still accept it.
func (t *inFlight) isLost(err error) bool {
	return t.disowned.Load() || (err != nil && errors.Is(context.Cause(t.ctx), ErrTaskLost))
}

func (t *inFlight) stopHeartbeats() {
	if t.heartbeats != nil {
		t.heartbeats.stop()
	}
}

// report logs the end of the task and calls the hook.
func (t *inFlight) report(done Done) {
	done.Took = time.Since(t.receivedAt)
	done.Progress = t.recorded()

	switch log := t.worker.cfg.Log; done.Outcome {
	case Lost:
		// The state machine retries the task or ends it. No operator is needed.
		log.Info("task lost before it was answered", "task", t.task, "ran", done.Ran)
	case Unknown:
		log.Info("an answer was lost, and its repeat came too late; the first may have counted", "task", t.task, "ran", done.Ran)
	case Unanswered:
		log.Error("task could not be answered", "task", t.task, "err", done.Err)
	case Failed:
		log.Debug("task failed", "task", t.task, "error", done.ErrorName)
	}

	if f := t.worker.cfg.Events.Done; f != nil {
		f(done)
	}
}
