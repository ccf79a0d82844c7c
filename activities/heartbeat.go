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
)

// beats sends the heartbeats of one task. Between beats it is only a timer.
type beats struct {
	r   *run
	ctx context.Context // ends when no more beats are wanted
	end context.CancelFunc

	mu      sync.Mutex // held while a beat is on its way
	stopped bool
	timer   *time.Timer
	lastOK  time.Time // start of the last accepted beat; first, the token's receipt
}

func newBeats(r *run) *beats {
	b := &beats{r: r, lastOK: r.at}
	b.ctx, b.end = context.WithCancel(context.WithoutCancel(r.ctx))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(b.interval(), b.beat)

	return b
}

// interval is the time to the next beat: a third of HeartbeatSeconds at most,
// spread so that tasks that began together do not beat together.
func (b *beats) interval() time.Duration {
	third := b.r.desk.act.Heartbeat / 3
	return third*3/4 + rand.N(third/4+1) //nolint:gosec // jitter
}

// fenceAt is when the task must be taken for lost if no beat gets through: some
// time before the service says so and gives it to another worker.
func (b *beats) fenceAt() time.Time {
	return b.lastOK.Add(b.r.desk.act.Heartbeat * 9 / 10)
}

// beat sends one heartbeat and arranges for the next.
func (b *beats) beat() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.stopped {
		return
	}

	began, err := b.send(b.ctx)
	if b.ctx.Err() != nil {
		return
	}

	next := b.interval()
	switch {
	case err == nil:
		b.lastOK = began
	case isLost(err):
		b.r.gone.Store(true)
		b.r.cancel(fmt.Errorf("%w: %w", ErrTaskLost, err))
		return
	case !time.Now().Before(b.fenceAt()):
		b.r.cancel(fmt.Errorf("%w: no heartbeat was accepted for %v: %w", ErrTaskLost, time.Since(b.lastOK).Round(time.Millisecond), err))
		return
	default:
		next = min(next/4, time.Until(b.fenceAt()))
	}
	b.timer.Reset(max(next, 0))
}

// send waits for its turn in the worker's budget and sends one heartbeat.
func (b *beats) send(ctx context.Context) (began time.Time, err error) {
	ctx, cancel := context.WithDeadline(ctx, b.fenceAt())
	defer cancel()
	pause(ctx, b.r.w.budget.turn(time.Now()))
	began = time.Now()

	_, err = b.r.w.cfg.SFN.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: aws.String(string(b.r.task.Token))}, unretried)
	if f := b.r.w.cfg.Events.Beat; f != nil && b.ctx.Err() == nil {
		f(b.r.task, err)
	}

	return began, err
}

// stop ends the beats and waits for the one that is on its way: none arrives
// after the answer.
func (b *beats) stop() {
	b.end()
	b.timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	b.timer.Stop()
}

// between keeps the task alive while its answer cannot be delivered: it beats if
// a beat is due and reports whether the task is still ours.
func (b *beats) between(ctx context.Context) bool {
	if time.Since(b.lastOK) < b.r.desk.act.Heartbeat/3 {
		return true
	}

	began, err := b.send(ctx)
	if err == nil {
		b.lastOK = began
	}

	return !isLost(err)
}

// isLost recognises the service's words for "not your task".
func isLost(err error) bool {
	var timedOut *sfntypes.TaskTimedOut
	var unknown *sfntypes.TaskDoesNotExist
	var invalid *sfntypes.InvalidToken
	return errors.As(err, &timedOut) || errors.As(err, &unknown) || errors.As(err, &invalid)
}

// budget spaces the heartbeats of all tasks: each gets a turn, turns are
// 1/perSecond apart.
type budget struct {
	perSecond int
	mu        sync.Mutex
	next      time.Time
}

// turn is how long the next one in line has to wait.
func (b *budget) turn(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.next.Before(now) {
		b.next = now
	}
	wait := b.next.Sub(now)
	b.next = b.next.Add(time.Second / time.Duration(b.perSecond))

	return wait
}
