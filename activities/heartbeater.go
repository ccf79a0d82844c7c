package activities

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/worker"
)

// heartbeater sends the heartbeats of one task. Between two of them it is only a timer,
// so thousands of tasks need no goroutines for it.
type heartbeater struct {
	inFlight *inFlight
	ctx      context.Context // ends with stop
	cancel   context.CancelFunc

	mu       sync.Mutex // held during a call
	stopped  bool
	timer    *time.Timer
	accepted time.Time // start of the last accepted heartbeat; at first, the token's receipt
}

func startHeartbeats(t *inFlight) *heartbeater {
	h := &heartbeater{inFlight: t, accepted: t.receivedAt}

	// Heartbeats go on while the answer is delivered, after the handler's context has
	// ended.
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(t.ctx))

	// The timer may fire before the field is set; beat waits for the lock.
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.interval(), h.beat)

	return h
}

// interval returns the time to the next heartbeat: between a quarter and a third of
// HeartbeatSeconds, so that tasks which began together do not beat together.
func (h *heartbeater) interval() time.Duration {
	third := h.inFlight.poller.activity.Heartbeat / 3
	return third*3/4 + rand.N(third/4+1) //nolint:gosec // jitter, not a secret
}

// fenceAt returns when the task must count as lost if no heartbeat is accepted: a tenth
// of HeartbeatSeconds before the service gives it to another worker.
func (h *heartbeater) fenceAt() time.Time {
	return h.accepted.Add(h.inFlight.poller.activity.Heartbeat * 9 / 10)
}

// beat sends one heartbeat and sets the timer for the next. It cancels the handler when
// the task is lost.
func (h *heartbeater) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.stopped {
		return
	}

	began, err := h.send(h.ctx)
	if h.ctx.Err() != nil {
		return
	}

	next := h.interval()
	switch {
	case err == nil:
		h.accepted = began
	case isLost(err):
		h.inFlight.disowned.Store(true)
		h.inFlight.cancel(fmt.Errorf("%w: %w", ErrTaskLost, err))

		return
	case !time.Now().Before(h.fenceAt()):
		h.inFlight.cancel(fmt.Errorf("%w: no heartbeat was accepted for %v: %w", ErrTaskLost, time.Since(h.accepted).Round(time.Millisecond), err))
		return
	default:
		next = min(next/4, time.Until(h.fenceAt()))
	}
	h.timer.Reset(max(next, 0))
}

// send waits for the worker's rate limit and sends one heartbeat. It returns when the
// call began.
func (h *heartbeater) send(ctx context.Context) (began time.Time, err error) {
	w := h.inFlight.worker

	ctx, cancel := context.WithDeadline(ctx, h.fenceAt())
	defer cancel()

	worker.Wait(ctx, w.heartbeats.Reserve().Delay())
	began = time.Now()

	_, err = w.cfg.SFN.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{
		TaskToken: aws.String(string(h.inFlight.task.Token)),
	}, withoutRetries)

	if f := w.cfg.Events.Heartbeat; f != nil && h.ctx.Err() == nil {
		f(h.inFlight.task, err)
	}

	return began, err
}

// stop ends the heartbeats. It waits for a call that is on its way, so that none arrives
// after the answer.
func (h *heartbeater) stop() {
	h.cancel()
	h.timer.Stop()

	h.mu.Lock()
	defer h.mu.Unlock()

	h.stopped = true
	h.timer.Stop() // a beat that was on its way may have set it
}

// keepAlive is called between two attempts to deliver the answer, after stop. It sends
// a heartbeat if one is due and reports whether the task is still this worker's.
func (h *heartbeater) keepAlive(ctx context.Context) bool {
	if time.Since(h.accepted) < h.inFlight.poller.activity.Heartbeat/3 {
		return true
	}

	began, err := h.send(ctx)
	if err == nil {
		h.accepted = began
	}

	return !isLost(err)
}

// isLost recognizes the errors of the service for a task that is not, or no longer, this
// worker's.
func isLost(err error) bool {
	var timedOut *sfntypes.TaskTimedOut
	var unknown *sfntypes.TaskDoesNotExist
	var invalid *sfntypes.InvalidToken

	return errors.As(err, &timedOut) || errors.As(err, &unknown) || errors.As(err, &invalid)
}
