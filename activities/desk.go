package activities

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"
)

// Pauses after failed polls.
const (
	pollPause    = 200 * time.Millisecond
	quotaPause   = time.Second
	pollPauseMax = 10 * time.Second
)

// desk is where the tasks of one activity are taken in.
type desk struct {
	w     *Worker
	act   *Activity
	slots chan struct{}

	polled  atomic.Int64 // last answered poll, Unix ns
	allowed atomic.Int32 // pollers that may be open; quota errors halve it

	mu      sync.Mutex
	faults  int       // polls failed in a row
	failing time.Time // since when no poll has been answered
	logged  time.Time
	calm    int // polls answered since the last quota error
}

func newDesk(w *Worker, a *Activity) *desk {
	d := &desk{w: w, act: a, slots: make(chan struct{}, a.Slots)}
	d.allowed.Store(int32(a.Pollers))
	return d
}

// poll is poller number i: it takes a slot, then asks for a task. It ends with
// nil after stop, and with an error when polling has failed for too long.
func (d *desk) poll(stop, polls, work context.Context, i int) error {
	d.polled.CompareAndSwap(0, time.Now().UnixNano())

	for {
		select {
		case <-stop.Done():
			return nil
		case d.slots <- struct{}{}:
		}

		if stop.Err() != nil {
			<-d.slots
			return nil
		}

		if i >= int(d.allowed.Load()) {
			<-d.slots
			pause(stop, quotaPause)
			continue
		}

		task, err := d.ask(polls)
		if task.Token != "" {
			d.w.start(work, d, task)
			continue
		}
		<-d.slots

		if err == nil || polls.Err() != nil {
			continue
		}

		wait, fatal := d.failed(err, i)
		if fatal != nil {
			return fatal
		}
		pause(stop, wait)
	}
}

// ask sends one poll; an answer without a token means that there is no task.
func (d *desk) ask(polls context.Context) (Task, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(polls, d.w.cfg.PollTimeout)
	defer cancel()

	out, err := d.w.cfg.SFN.GetActivityTask(ctx, &sfn.GetActivityTaskInput{
		ActivityArn: &d.act.ARN, WorkerName: &d.w.cfg.WorkerName,
	}, unretried)
	if err != nil {
		if ctx.Err() != nil && polls.Err() == nil {
			err = fmt.Errorf("activities: poll of %s was not answered within %v: %w", d.act.Name, d.w.cfg.PollTimeout, err)
		}
		return Task{}, err
	}
	d.answered(time.Now())

	task := Task{Activity: d.act.Name, Worker: d.w.cfg.WorkerName}
	if out.TaskToken != nil {
		task.Token = Token(*out.TaskToken)
	}

	if out.Input != nil {
		task.Input = []byte(*out.Input)
	}

	if f := d.w.cfg.Events.Polled; f != nil {
		f(d.act.Name, task.Token != "", time.Since(began))
	}

	return task, nil
}

// answered notes a poll that went well, and lets pollers come back one by one
// after a quota error.
func (d *desk) answered(now time.Time) {
	d.polled.Store(now.UnixNano())
	d.mu.Lock()
	defer d.mu.Unlock()

	d.faults, d.failing = 0, time.Time{}
	if n := int(d.allowed.Load()); n < d.act.Pollers {
		if d.calm++; d.calm >= 10 {
			d.calm = 0
			d.allowed.Store(int32(n + 1))
		}
	}
}

// failed sorts the error of a poll: how long to wait, or why to give up.
func (d *desk) failed(err error, i int) (wait time.Duration, fatal error) {
	now := time.Now()

	if f := d.w.cfg.Events.PollFailed; f != nil {
		f(d.act.Name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()

	d.faults++
	if d.failing.IsZero() {
		d.failing = now
	}

	if now.Sub(d.logged) >= time.Minute {
		d.logged = now
		d.w.cfg.Log.Warn("polling an activity failed; retrying", "activity", d.act.Name, "err", err)
	}

	base := pollPause
	switch {
	case exceedsQuota(err):
		base, d.calm = quotaPause, 0
		if n := d.allowed.Load(); n > 1 && i < int(n) {
			d.allowed.Store((n + 1) / 2)
		}
		d.failing = time.Time{} // the service answers, if only to say no
	case incurable(err) && now.Sub(d.failing) >= d.w.cfg.FatalAfter:
		return 0, fmt.Errorf("activities: poll %s: failing for %v: %w", d.act.ARN, now.Sub(d.failing).Round(time.Second), err)
	}
	wait = min(base<<min(d.faults-1, 8), pollPauseMax)

	return wait/2 + rand.N(wait/2+1) + base/2, nil //nolint:gosec // jitter
}

// ready returns nil while the activity is being polled.
func (d *desk) ready(now time.Time) error {
	age := now.Sub(time.Unix(0, d.polled.Load()))
	if age <= d.w.cfg.PollTimeout || len(d.slots) == cap(d.slots) && d.w.busy(d) {
		return nil
	}

	return fmt.Errorf("activities: no poll of %s was answered for %v", d.act.Name, age.Round(time.Second))
}

// busy reports whether every slot of the desk has a task.
func (w *Worker) busy(d *desk) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	n := 0
	for r := range w.running {
		if r.desk == d {
			n++
		}
	}

	return n == d.act.Slots
}

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// exceedsQuota recognises refusals that ask for fewer calls.
func exceedsQuota(err error) bool {
	var limit *sfntypes.ActivityWorkerLimitExceeded
	return errors.As(err, &limit) || throttles.IsErrorThrottle(err) == aws.TrueTernary
}

// incurable recognises errors that go away only when somebody acts.
func incurable(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}

	switch api.ErrorCode() {
	case "ActivityDoesNotExist", "InvalidArn", "AccessDeniedException", "UnrecognizedClientException",
		"InvalidSignatureException", "MissingAuthenticationTokenException", "ValidationException",
		"KmsAccessDeniedException", "KmsInvalidStateException":
		return true
	}

	return false
}

// unretried switches the SDK's retries off: every call here is retried by rules
// of its own.
func unretried(o *sfn.Options) { o.Retryer = aws.NopRetryer{} }

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
