package activities

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// defaultDeadline orders the answers of tasks without HeartbeatSeconds among the others.
const defaultDeadline = time.Minute

// inFlight is one task from the receipt of its token to its answer.
type inFlight struct {
	worker     *Worker
	poller     *poller // whose slot the task holds
	task       Task
	receivedAt time.Time

	ctx        context.Context // the handler's
	cancel     context.CancelCauseFunc
	heartbeats *heartbeater // nil when the state has no HeartbeatSeconds

	claimed  atomic.Bool // by the goroutine that answers
	disowned atomic.Bool // the service said that the task is not this worker's
}

// start runs a task on a goroutine of its own, with the slot that p has taken for it.
func (w *Worker) start(work context.Context, p *poller, task Task) {
	t := &inFlight{worker: w, poller: p, task: task, receivedAt: time.Now()}
	t.ctx, t.cancel = context.WithCancelCause(work)
	w.enter(t)

	if p.activity.Heartbeat > 0 {
		t.heartbeats = startHeartbeats(t, false)
	}

	go t.work()
}

// claim reports whether the caller is the one who answers the task. Three compete: the
// goroutine that ran the handler, its watchdog, and the end of a drain.
func (t *inFlight) claim() bool { return t.claimed.CompareAndSwap(false, true) }

// work calls the handler and answers the task.
func (t *inFlight) work() {
	// The token may have come with a poll that was answered after the drain's timeout.
	// The failure gives the task back to the state machine.
	if errors.Is(context.Cause(t.ctx), ErrShutdown) {
		if t.claim() {
			t.finish(nil, ErrShutdown)
		}

		return
	}

	if f := t.worker.cfg.Events.Started; f != nil {
		f(t.task)
	}

	output, err := t.call()
	if t.claim() {
		t.finish(output, err)
	}
}

// call runs the handler within Activity.Timeout.
func (t *inFlight) call() (output any, err error) {
	ctx := t.ctx

	if limit := t.poller.activity.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrDeadline)
		defer cancel()

		// A handler that ignores its deadline must not keep the slot: the task is
		// answered without it.
		watchdog := time.AfterFunc(limit+t.worker.cfg.DrainGrace, func() {
			if t.claim() {
				t.finish(nil, &Error{Name: t.worker.cfg.ErrorPrefix + NameDeadline, Cause: "the handler did not return"})
			}
		})
		defer watchdog.Stop()
	}

	err = call(func() (err error) {
		output, err = t.poller.activity.Handle(ctx, t.task)
		return err
	})
	if err == nil {
		return output, nil
	}

	if cause := context.Cause(ctx); errors.Is(cause, ErrDeadline) || errors.Is(cause, ErrShutdown) {
		err = &interruptedError{cause: cause, err: err}
	}

	return nil, err
}

// interruptedError is the error of a handler whose context ended while it ran.
type interruptedError struct{ cause, err error }

func (e *interruptedError) Error() string   { return e.cause.Error() + ": " + e.err.Error() }
func (e *interruptedError) Unwrap() []error { return []error{e.cause, e.err} }

// finish answers the task and frees its slot. Only the goroutine whose claim succeeded
// may call it.
func (t *inFlight) finish(output any, err error) {
	done := Done{Task: t.task, Err: err, Ran: time.Since(t.receivedAt)}

	switch {
	case errors.Is(err, ErrParked):
		t.stopHeartbeats()
		done.Outcome, done.Err = Parked, nil
	case t.isLost(err):
		t.stopHeartbeats()
		done.Outcome = Lost
	default:
		t.answer(&done, output, err)
	}

	t.cancel(context.Canceled)
	t.report(done)
	<-t.poller.slots
	t.worker.leave(t)
}

// answer composes the answer and delivers it. Storing a large output and a delivery may
// take a while, so heartbeats go on.
func (t *inFlight) answer(done *Done, output any, err error) {
	out := &t.worker.outbox
	answer := out.compose(t.worker.answers, t.task, output, err)

	if t.heartbeats != nil {
		t.heartbeats.answer()
	}

	d := out.deliver(t.worker.answers, t.task.Token, answer, answerLimit(t.poller.activity.Heartbeat), t.deadline())
	t.stopHeartbeats()

	done.Outcome, done.ErrorName = d.outcome, d.answer.name
	if d.answer.failure && err == nil {
		err = d.answer.err
	}

	done.Err = err
	if d.err != nil {
		done.Err = errors.Join(err, d.err)
	}
}

// deadline returns when the task is lost unless the service hears of it.
func (t *inFlight) deadline() time.Time {
	if t.heartbeats != nil {
		return t.heartbeats.deadline()
	}

	return t.receivedAt.Add(defaultDeadline)
}

// lose ends the handler: the task is not this worker's any more.
func (t *inFlight) lose(err error) { t.cancel(fmt.Errorf("%w: %w", ErrTaskLost, err)) }

// isLost reports whether the task must not be answered: the service has said that it is
// not this worker's, or heartbeats have failed and there is no output to offer.
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

	switch log := t.worker.cfg.Log; done.Outcome {
	case Lost:
		// Another worker has answered, or a repeated answer came after the success that it
		// repeats. Neither needs an operator.
		log.Info("task lost before it was answered", "task", t.task, "ran", done.Ran)
	case Unanswered:
		log.Error("task could not be answered", "task", t.task, "err", done.Err)
	case Failed:
		log.Debug("task failed", "task", t.task, "error", done.ErrorName)
	}

	if f := t.worker.cfg.Events.Done; f != nil {
		f(done)
	}
}
