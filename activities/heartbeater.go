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
	fence    *time.Timer // runs while a heartbeat waits for its answer, or after one has failed
	accepted time.Time   // when the newest accepted heartbeat began; before the first, the receipt of the token
	failure  error       // of the newest heartbeat; nil if it was accepted

	// cancel ends the call of a heartbeat, and returned is closed when the call has ended. Both are nil
	// between calls.
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

// start starts the heartbeats. With atOnce, the first heartbeat is sent without a wait: for a task that
// waits for its turn.
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

// heartbeatLimit returns how long one call may take: a sixth of HeartbeatSeconds, from 0.25 to 10 s, so
// that there is time for more calls before the fence if one hangs.
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

	// Not the handler's context: heartbeats go on while the answer is delivered.
	ctx, cancel := context.WithCancel(h.inFlight.worker.answers)
	defer cancel()
	h.cancel, h.returned = cancel, make(chan struct{})
	deadline := h.fenceAt()

	// The fence has its own timer, which fires even if the call below does not return.
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

// send waits for a turn of the worker's budget and sends one heartbeat. It returns the time at which
// the call began.
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

// sent handles the answer to a heartbeat and sets the timer for the next one. If the task is lost, it
// ends the handler's context.
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
		// Counted from the start of the call, because the service may have received the heartbeat right
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
		// A failed heartbeat is repeated sooner, so that several attempts fit before the fence.
		next /= 4
	}
	h.timer.Reset(next)
}

// fenced gives the task up: no heartbeat was accepted for so long that the service is about to give
// the task to another worker.
func (h *heartbeater) fenced() {
	h.mu.Lock()
	defer h.mu.Unlock()

	// The timer may have fired just before a heartbeat was accepted, or just before the handler
	// returned.
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

// deadline returns the time at which the task counts as lost if the service gets neither a heartbeat
// nor an answer.
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

// answer is called when the handler has returned, before its answer is sent. Heartbeats go on, because
// the delivery may take long. From now on a failed heartbeat no longer ends the task. When answer
// returns, no call of a heartbeat is open.
func (h *heartbeater) answer() { h.enter(answering) }

// stop ends the heartbeats.
func (h *heartbeater) stop() { h.enter(over) }

// enter begins a phase and ends the open call. It waits until the call has returned, but for a second
// at most: a client may ignore its context.
func (h *heartbeater) enter(phase heartbeatPhase) {
	h.mu.Lock()
	// A phase never goes back: it is already over if the task was lost while its handler returned.
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
