package activities

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet/internal/worker"
)

// poller asks the service for the tasks of one activity. Each of its loops has one poll
// open at a time.
type poller struct {
	worker   *Worker
	activity *Activity
	slots    chan struct{} // holds one element per slot in use: by a poll or by a task
	starts   *budget       // of Activity.PerSecond
	log      worker.LogThrottle

	mu       sync.Mutex
	pace     pace
	open     int // polls that wait for their answers
	health   health
	stranded int // handlers that still run although their tasks have ended
}

func newPoller(w *Worker, a *Activity) *poller {
	starts := &budget{}
	if a.PerSecond > 0 {
		starts = newBudget(a.PerSecond, 0)
	}

	return &poller{
		worker:   w,
		activity: a,
		slots:    make(chan struct{}, a.Slots),
		starts:   starts,
		pace:     newPace(a.Pollers),
	}
}

// begin starts the first loops.
func (p *poller) begin(l *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.startLoops(l)
}

// startLoops starts as many loops as the pace allows. The caller holds the lock.
func (p *poller) startLoops(l *life) {
	for range p.pace.missing() {
		l.loops.Go(func() { p.loop(l) })
	}
}

// loop polls until the worker stops or there are more loops than the pace allows. It takes a slot
// before it sends a poll, so that a task that arrives has one.
func (p *poller) loop(l *life) {
	var limit timeLimit
	defer limit.close()

	for p.acquire(l.stop) {
		began := time.Now()

		task, err := p.poll(l.polls, &limit)
		if err == nil && p.answered(l, task.Token != "", time.Since(began)) {
			p.worker.cfg.Log.Info("polls of an activity are answered again", "activity", p.activity.Name)
			p.reportDenied(nil)
		}

		if task.Token != "" {
			p.worker.start(l.work, p, task) // the slot is the task's now
			runtime.Gosched()               // the task begins before the next poll is sent

			continue
		}
		<-p.slots

		// A poll that fails after a stop is neither repeated nor reported: most often the stop has
		// canceled it.
		if l.stop.Err() != nil {
			return
		}

		var wait time.Duration
		if err != nil {
			wait = p.failed(began, err)
		}

		if p.leaves() {
			return
		}
		worker.Wait(l.stop, wait)
	}
}

// acquire waits until a poll may be sent: for a slot, until Activity.PerSecond allows a task to begin,
// and for a turn of the polls' budget. It reports false after stop.
func (p *poller) acquire(stop context.Context) bool {
	select {
	case <-stop.Done():
		return false
	case p.slots <- struct{}{}:
	}

	if stop.Err() == nil && p.starts.ready(stop) && p.worker.polls.take(stop, time.Now()) == nil {
		return true
	}
	<-p.slots

	return false
}

// poll sends one poll. It returns a task without a token if there was no task: the service then
// answers with a token that is absent, null or empty.
func (p *poller) poll(polls context.Context, limit *timeLimit) (Task, error) {
	cfg := &p.worker.cfg
	began := time.Now()

	ctx := limit.begin(polls, cfg.pollTimeout)
	defer limit.end()

	p.count(1)
	defer p.count(-1)

	out, err := cfg.SFN.GetActivityTask(ctx, &sfn.GetActivityTaskInput{
		ActivityArn: &p.activity.ARN,
		WorkerName:  &cfg.WorkerName,
	}, withoutRetries)
	if err != nil {
		// The call was ended by its time limit and not by a stop. The SDK's error would only say that it
		// was canceled.
		if ctx.Err() != nil && polls.Err() == nil {
			err = fmt.Errorf("activities: poll of %s was not answered within %v: %w", p.activity.Name, cfg.pollTimeout, context.Cause(ctx))
		}

		return Task{}, err
	}

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

func (p *poller) count(polls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += polls
}

// openPolls returns how many polls wait for their answers.
func (p *poller) openPolls() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.open
}

// answered takes note of an answered poll. It reports whether the activity counted as denied until
// now.
func (p *poller) answered(l *life, got bool, took time.Duration) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.pace.answered(got, took)

	// A loop that began after a stop would send no poll.
	if l.stop.Err() == nil {
		p.startLoops(l)
	}

	return p.health.answered(time.Now())
}

// failed takes note of a failed poll and returns how long to wait before the next.
func (p *poller) failed(began time.Time, err error) (wait time.Duration) {
	if f := p.worker.cfg.Events.PollFailed; f != nil {
		f(p.activity.Name, err)
	}

	wait, denied := p.judge(began, err)
	if denied != nil {
		p.reportDenied(denied)
		p.worker.stopIfDenied()
	}

	return wait
}

// judge decides how long to wait after a failed poll. Its second result is not nil when
// the activity counts as denied from now on.
func (p *poller) judge(began time.Time, err error) (wait time.Duration, denied error) {
	cfg := &p.worker.cfg

	p.mu.Lock()
	defer p.mu.Unlock()

	if p.log.Allow() {
		cfg.Log.Warn("polling an activity failed; retrying", "activity", p.activity.Name, "err", err)
	}

	if exceedsQuota(err) {
		p.pace.exceeded(began)
	}

	wait, lasting := p.health.failed(time.Now(), err, cfg.fatalAfter)
	if !lasting {
		return wait, nil
	}

	// A denied activity is polled only to find out whether the permission is back.
	p.pace.allowed = min(p.pace.allowed, fewestPolls)
	p.health.denied = fmt.Errorf("activities: polls of %s have been refused for %v: %w", p.activity.ARN, cfg.fatalAfter, err)
	cfg.Log.Error("an activity cannot be polled; trying it now and then", "activity", p.activity.Name, "err", err)

	return wait, p.health.denied
}

func (p *poller) reportDenied(err error) {
	if f := p.worker.cfg.Events.Denied; f != nil {
		f(p.activity.Name, err)
	}
}

// leaves reports whether the calling loop must end because there are too many.
func (p *poller) leaves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.pace.leave()
}

// ready returns nil while the activity is being polled or has all its slots at work.
func (p *poller) ready(now time.Time) error {
	p.mu.Lock()
	health := p.health
	p.mu.Unlock()

	// Without the poller's lock: working takes the worker's lock, which must be taken first.
	switch age := now.Sub(health.answeredAt); {
	case health.denied != nil:
		return health.denied
	case health.answeredAt.IsZero():
		return fmt.Errorf("%w: %s", ErrNotPolled, p.activity.Name)
	case age > p.worker.cfg.pollTimeout && p.worker.working(p) < p.activity.Slots:
		return fmt.Errorf("activities: no poll of %s was answered for %v", p.activity.Name, age.Round(time.Second))
	}

	return nil
}

// denial returns the error of an activity that counts as denied, else nil.
func (p *poller) denial() error {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.health.denied
}
