package activities

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/internal/worker"
)

// heartbeater sends the heartbeats of one task. Between two heartbeats it is only a timer, so
// thousands of tasks need no goroutines for their heartbeats.
type heartbeater struct {
	inFlight *inFlight
	period   time.Duration // HeartbeatSeconds

	mu       sync.Mutex
	phase    heartbeatPhase
	timer    *time.Timer // of the next heartbeat
	fence    *time.Timer // runs while a heartbeat is on its way or has failed
	accepted time.Time   // start of the last accepted heartbeat; at first, the token's receipt
	failure  error       // of the last heartbeat; nil when it was accepted

	// cancel ends the call that is on its way, and returned is closed when it has ended.
	// Both are nil between calls.
	cancel   context.CancelFunc
	returned chan struct{}
}

// heartbeatPhase says what a heartbeat's failure means.
type heartbeatPhase int

const (
	working   heartbeatPhase = iota // the handler ends when the task is lost
	answering                       // the handler has returned; the answer itself shows whether the task is lost
	over                            // no more heartbeats
)

func newHeartbeater(t *inFlight) *heartbeater {
	return &heartbeater{inFlight: t, period: t.poller.activity.Heartbeat, accepted: t.receivedAt}
}

// start starts the heartbeats. The first is sent at once when the task has to wait for
// its turn.
func (h *heartbeater) start(atOnce bool) {
	first := h.interval()
	if atOnce {
		first = 0
	}

	// The timer may fire before the field is set; beat waits for the lock.
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(first, h.beat)
}

// interval returns the time to the next heartbeat: between a quarter and a third of
// HeartbeatSeconds, so that tasks which began together do not beat together.
func (h *heartbeater) interval() time.Duration {
	third := h.period / 3
	return third*3/4 + rand.N(third/4+1) //nolint:gosec // jitter, not a secret
}

// heartbeatLimit bounds one call: a sixth of HeartbeatSeconds, so that a call that hangs
// leaves time for a second and a third before the fence.
func heartbeatLimit(period time.Duration) time.Duration {
	return min(max(period/6, 250*time.Millisecond), 10*time.Second)
}

// fenceAt returns when the task must count as lost if no heartbeat is accepted: a tenth
// of HeartbeatSeconds before the service gives it to another worker.
func (h *heartbeater) fenceAt() time.Time { return h.accepted.Add(h.period * 9 / 10) }

// beat sends one heartbeat and sets the timer for the next.
func (h *heartbeater) beat() {
	h.mu.Lock()
	if h.phase == over {
		h.mu.Unlock()
		return
	}

	// Heartbeats go on while the answer is delivered, after the end of the handler's
	// context.
	ctx, cancel := context.WithCancel(h.inFlight.worker.answers)
	defer cancel()
	h.cancel, h.returned = cancel, make(chan struct{})
	deadline := h.fenceAt()

	// The fence has a timer of its own: it holds even when the call below does not return.
	if h.phase == working && h.fence == nil {
		h.fence = time.AfterFunc(time.Until(deadline), h.fenced)
	}
	h.mu.Unlock()

	began, err := h.send(ctx, deadline)

	if f := h.inFlight.worker.cfg.Events.Heartbeat; f != nil && ctx.Err() == nil {
		f(h.inFlight.task, err)
	}
	h.sent(began, err)
}

// send waits for the worker's budget and sends one heartbeat. It returns when the call
// began.
func (h *heartbeater) send(ctx context.Context, deadline time.Time) (began time.Time, err error) {
	w := h.inFlight.worker

	if err := w.heartbeats.take(ctx, deadline); err != nil {
		return time.Time{}, err
	}

	var limit timeLimit
	defer limit.close()
	ctx = limit.begin(ctx, heartbeatLimit(h.period))

	began = time.Now()
	_, err = w.cfg.SFN.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{
		TaskToken: aws.String(string(h.inFlight.task.Token)),
	}, withoutRetries)

	return began, err
}

// sent decides what follows from a heartbeat. It cancels the handler when the task is
// lost.
func (h *heartbeater) sent(began time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	close(h.returned)
	h.cancel, h.returned = nil, nil

	if h.phase == over {
		return
	}

	h.failure = err
	next := h.interval()

	switch {
	case err == nil:
		// Counted from the start of the call: the service may have applied it at any moment since
		// then.
		h.accepted = began
		h.stopFence()
	case isLost(err):
		h.stopFence()

		if h.phase == working {
			h.inFlight.disowned.Store(true)
			h.inFlight.lose(err)
		}
		h.phase = over

		return
	default:
		// Sooner than after an accepted heartbeat, so that several attempts fit before the fence.
		next /= 4
	}
	h.timer.Reset(next)
}

// fenced gives the task up: no heartbeat was accepted for so long that the service is
// about to give it to another worker.
func (h *heartbeater) fenced() {
	h.mu.Lock()
	defer h.mu.Unlock()

	// The timer may have fired just before a heartbeat was accepted, or the handler returned.
	if h.phase != working || time.Now().Before(h.fenceAt()) {
		return
	}
	h.phase = over

	if h.cancel != nil {
		h.cancel()
	}

	err := fmt.Errorf("no heartbeat was accepted for %v", time.Since(h.accepted).Round(time.Millisecond))
	if h.failure != nil {
		err = fmt.Errorf("%w: %w", err, h.failure)
	}
	h.inFlight.lose(err)
}

// deadline returns the fence, by which the service must hear of the task.
func (h *heartbeater) deadline() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.fenceAt()
}

func (h *heartbeater) stopFence() {
	if h.fence != nil {
		h.fence.Stop()
		h.fence = nil
	}
}

// answer is called when the handler has returned, before its answer is sent. Heartbeats go on,
// because the delivery may take long, but none is on its way when answer returns, and a failed
// heartbeat no longer ends the task.
func (h *heartbeater) answer() { h.enter(answering) }

// stop ends the heartbeats.
func (h *heartbeater) stop() { h.enter(over) }

// enter begins a phase and ends the call that is on its way. enter waits until the call has returned,
// but for a second at most: a client may ignore its context.
func (h *heartbeater) enter(phase heartbeatPhase) {
	h.mu.Lock()
	// A phase never goes back: the task may have been lost while its handler returned.
	h.phase = max(h.phase, phase)
	h.stopFence()

	if h.phase == over {
		h.timer.Stop()
	}

	returned := h.returned
	if returned != nil {
		h.cancel()
	}
	h.mu.Unlock()

	if returned != nil {
		worker.WaitClosed(returned, time.Second)
	}
}
