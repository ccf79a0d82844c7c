package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/worker"
)

// The waits after failed polls. After a quota error they begin higher, because a retry
// counts against the same quota.
var (
	pollBackoff  = worker.Backoff{Base: 200 * time.Millisecond, Max: 10 * time.Second}
	quotaBackoff = worker.Backoff{Base: time.Second, Max: 10 * time.Second}
)

// recoverAfter is how many answered polls let one more poll be open after quota errors
// had reduced their number.
const recoverAfter = 10

// poller asks the service for the tasks of one activity, with several polls open at a
// time.
type poller struct {
	worker   *Worker
	activity *Activity
	slots    chan struct{} // holds one element per slot in use: by a poll or by a task

	answeredAt atomic.Int64 // the last answered poll, Unix ns
	allowed    atomic.Int32 // polls that may be open; quota errors halve it
	log        worker.LogThrottle

	mu       sync.Mutex
	failures int       // polls that failed in a row
	failing  time.Time // the first of them; zero while polls are answered
	answers  int       // polls answered since the last quota error
}

func newPoller(w *Worker, a *Activity) *poller {
	p := &poller{worker: w, activity: a, slots: make(chan struct{}, a.Slots)}
	p.allowed.Store(int32(a.Pollers))

	return p
}

// run is the loop of poll number i: it takes a slot, asks for a task and starts it. It
// returns nil after stop, and an error when polls have failed for Config.FatalAfter.
// Polls are sent on the context polls; handlers run on work.
func (p *poller) run(stop, polls, work context.Context, i int) error {
	p.answeredAt.CompareAndSwap(0, time.Now().UnixNano())

	for {
		select {
		case <-stop.Done():
			return nil
		case p.slots <- struct{}{}:
		}

		// Both cases may have been ready, and select chooses at random.
		if stop.Err() != nil {
			<-p.slots
			return nil
		}

		if i >= int(p.allowed.Load()) {
			<-p.slots
			worker.Wait(stop, quotaBackoff.Base)

			continue
		}

		task, err := p.poll(polls)
		if task.Token != "" {
			p.worker.start(work, p, task) // the slot is the task's now
			continue
		}
		<-p.slots

		if err == nil || polls.Err() != nil {
			continue
		}

		wait, fatal := p.failed(err, i)
		if fatal != nil {
			return fatal
		}
		worker.Wait(stop, wait)
	}
}

// poll sends one poll. A task without a token means that there is none: the service
// answers an empty poll with a token that is absent, null or empty.
func (p *poller) poll(polls context.Context) (Task, error) {
	cfg := &p.worker.cfg
	began := time.Now()

	ctx, cancel := context.WithTimeout(polls, cfg.PollTimeout)
	defer cancel()

	out, err := cfg.SFN.GetActivityTask(ctx, &sfn.GetActivityTaskInput{
		ActivityArn: &p.activity.ARN,
		WorkerName:  &cfg.WorkerName,
	}, withoutRetries)
	if err != nil {
		if ctx.Err() != nil && polls.Err() == nil {
			err = fmt.Errorf("activities: poll of %s was not answered within %v: %w", p.activity.Name, cfg.PollTimeout, err)
		}

		return Task{}, err
	}
	p.answered(time.Now())

	task := Task{
		Token:    Token(aws.ToString(out.TaskToken)),
		Activity: p.activity.Name,
		Worker:   cfg.WorkerName,
	}
	if out.Input != nil {
		task.Input = []byte(*out.Input)
	}

	if f := cfg.Events.Polled; f != nil {
		f(p.activity.Name, task.Token != "", time.Since(began))
	}

	return task, nil
}

// answered ends a series of failures. After quota errors it lets polls come back one by
// one.
func (p *poller) answered(now time.Time) {
	p.answeredAt.Store(now.UnixNano())

	p.mu.Lock()
	defer p.mu.Unlock()

	p.failures, p.failing = 0, time.Time{}

	allowed := int(p.allowed.Load())
	if allowed == p.activity.Pollers {
		return
	}

	if p.answers++; p.answers >= recoverAfter {
		p.answers = 0
		p.allowed.Store(int32(allowed + 1))
	}
}

// failed takes note of the failure of poll number i. It returns how long to wait before
// the next one, or the error with which to give up.
func (p *poller) failed(err error, i int) (wait time.Duration, fatal error) {
	cfg := &p.worker.cfg
	now := time.Now()

	if f := cfg.Events.PollFailed; f != nil {
		f(p.activity.Name, err)
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	p.failures++
	if p.failing.IsZero() {
		p.failing = now
	}

	if p.log.Allow() {
		cfg.Log.Warn("polling an activity failed; retrying", "activity", p.activity.Name, "err", err)
	}

	backoff := pollBackoff
	switch {
	case exceedsQuota(err):
		backoff, p.answers = quotaBackoff, 0

		// One halving per round of failures: a poll beyond the number allowed was sent
		// before the last halving.
		if n := p.allowed.Load(); n > 1 && i < int(n) {
			p.allowed.Store((n + 1) / 2)
		}

		// The service is there, so this is no outage that could become fatal.
		p.failing = time.Time{}
	case isFatal(err) && now.Sub(p.failing) >= cfg.FatalAfter:
		return 0, fmt.Errorf("activities: poll %s: failing for %v: %w", p.activity.ARN, now.Sub(p.failing).Round(time.Second), err)
	}

	return backoff.Delay(p.failures) + backoff.Base/2, nil
}

// ready returns nil while the activity is being polled or has all its slots at work.
func (p *poller) ready(now time.Time) error {
	age := now.Sub(time.Unix(0, p.answeredAt.Load()))
	if age <= p.worker.cfg.PollTimeout {
		return nil
	}

	// A slot may also be held by a poll that fails, so tasks are counted, too.
	if len(p.slots) == cap(p.slots) && p.worker.tasksOf(p) == p.activity.Slots {
		return nil
	}

	return fmt.Errorf("activities: no poll of %s was answered for %v", p.activity.Name, age.Round(time.Second))
}

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// exceedsQuota recognizes the answers that ask for fewer calls.
func exceedsQuota(err error) bool {
	var limit *sfntypes.ActivityWorkerLimitExceeded
	return errors.As(err, &limit) || throttles.IsErrorThrottle(err) == aws.TrueTernary
}

// isFatal recognizes the errors of GetActivityTask that last until an operator acts:
// its API reference, "Errors".
func isFatal(err error) bool {
	return worker.IsRefusal(err, "ActivityDoesNotExist", "InvalidArn", "ValidationException",
		"KmsAccessDeniedException", "KmsInvalidStateException")
}
