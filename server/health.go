package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ratchet/activities"
	"ratchet/api/auth"
	"ratchet/embedded"
	"ratchet/internal/plural"
	"ratchet/queues"
	"ratchet/streams"
	"ratchet/streams/poller"
)

// HealthStatus is the result of one check.
type HealthStatus string

// The results of checks. A warning does not make a process unready.
const (
	HealthOK      HealthStatus = "ok"
	HealthWarning HealthStatus = "warning"
	HealthFailed  HealthStatus = "failed"
)

// HealthCheck is one check of a process: its result, and how a person should act on it.
type HealthCheck struct {
	Name   string       `json:"name"`
	Status HealthStatus `json:"status"`
	// Reason and Action are empty if the status is ok.
	Reason string `json:"reason,omitempty"`
	Action string `json:"action,omitempty"`
}

// Health says whether a process does its work. It is ready if no check has failed.
type Health struct {
	Ready  bool          `json:"ready"`
	Checks []HealthCheck `json:"checks"`
}

// health is the state of the worker that a Backend runs, if it runs one.
type health struct {
	polls pollHealth
	tasks taskHealth
	// issuer checks the tokens of the API's callers, nil if there is none.
	issuer atomic.Pointer[auth.OIDC]

	mu       sync.Mutex
	expected bool // ExpectWorker was called
	workers  int  // calls of Run that have not returned
	begun    bool // watch was called, and no worker has ended since
	worker   *activities.Worker
	poller   *poller.Poller
	consumer *queues.Consumer
	gaps     []streams.Gap
}

// maxGaps is how many gaps are kept to be shown.
const maxGaps = 10

// ExpectWorker says that this process will call Run. Until that worker has begun, the process is not
// ready. Call ExpectWorker before StartAdmin: a load balancer may ask for the health at once.
func (b *Backend) ExpectWorker() {
	b.health.mu.Lock()
	defer b.health.mu.Unlock()

	b.health.expected = true
}

// begin notes that a worker begins. The process is not ready before the worker calls watch. End notes
// that the worker has ended.
func (h *health) begin() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.workers++

	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()

		// The parts have ended with their worker and must not be asked any more. With several workers in
		// one process, the health then has no parts until one calls watch again.
		h.workers--
		h.begun, h.worker, h.poller, h.consumer = false, nil, nil, nil
	}
}

// watch takes the parts of a worker. A part that the worker does not run is nil. The activities' worker
// is also nil if other programs serve all activities, and the consumer is also nil if there is no
// queue.
func (h *health) watch(w *activities.Worker, p *poller.Poller, c *queues.Consumer) {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.begun, h.worker, h.poller, h.consumer = true, w, p, c
}

// gap notes that records were lost. Only the first maxGaps gaps are kept.
func (h *health) gap(g streams.Gap) {
	h.mu.Lock()
	defer h.mu.Unlock()

	if len(h.gaps) < maxGaps {
		h.gaps = append(h.gaps, g)
	}
}

// tableTimeout bounds the read of the orders' table.
const tableTimeout = 2 * time.Second

// Health checks whether this process works: whether the orders' table answers, and, if a worker runs,
// whether its polls are answered, its tasks end, and the stream is handled in time. A call costs one
// read unit.
func (b *Backend) Health(ctx context.Context) Health {
	checks := []HealthCheck{b.checkTable(ctx)}
	if b.Engine != nil {
		checks = append(checks, checkDisk(b.Engine), checkClock(b.Engine))
	}

	if issuer := b.health.issuer.Load(); issuer != nil {
		checks = append(checks, checkIssuer(issuer))
	}

	// Copied under the lock, and checked without it, because the checks call AWS and the parts.
	b.health.mu.Lock()
	expected := b.health.expected || b.health.workers > 0
	begun, worker, poller, consumer := b.health.begun, b.health.worker, b.health.poller, b.health.consumer
	gaps := slices.Clone(b.health.gaps)
	b.health.mu.Unlock()

	switch {
	case begun:
		if worker != nil {
			checks = append(checks, b.checkActivities(worker)...)
		}
		checks = append(checks, b.health.tasks.check(time.Now()))

		if poller != nil {
			checks = append(checks, b.checkStream(poller), b.checkLag())
		}

		if consumer != nil {
			checks = append(checks, b.checkQueue(consumer))
		}

		if len(gaps) > 0 {
			checks = append(checks, checkGaps(gaps))
		}
	case expected:
		checks = append(checks, failed("worker", "the worker has not begun yet: it creates its activities and looks for its queue and its stream",
			"wait; if it lasts, the log says which call fails"))
	}

	ready := !slices.ContainsFunc(checks, func(c HealthCheck) bool { return c.Status == HealthFailed })

	return Health{Ready: ready, Checks: checks}
}

func ok(name string) HealthCheck { return HealthCheck{Name: name, Status: HealthOK} }

func failed(name, reason, action string) HealthCheck {
	return HealthCheck{Name: name, Status: HealthFailed, Reason: reason, Action: action}
}

func (b *Backend) checkTable(ctx context.Context) HealthCheck {
	const name = "table"

	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()

	if err := b.checkReady(ctx); err != nil {
		return failed(name, fmt.Sprintf("table %s cannot be read: %v", b.Tables.Orders, err),
			"check endpoint, credentials and the permission dynamodb:GetItem; `ratchet init` creates missing tables")
	}

	return ok(name)
}

// checkDisk looks for room on the disk of the embedded engine.
func checkDisk(engine *embedded.Engine) HealthCheck {
	const name = "disk"

	if err := engine.HasRoom(); err != nil {
		return failed(name, "changes are refused and reads go on: "+err.Error(), "free some space; changes go on within a second")
	}

	return ok(name)
}

// checkClock warns while the machine's clock has made a step that the embedded engine does not make.
func checkClock(engine *embedded.Engine) HealthCheck {
	const name = "clock"

	step, since := engine.HeldStep()
	if step == 0 {
		return ok(name)
	}

	how := "forward"
	if step < 0 {
		how = "back"
	}

	return HealthCheck{
		Name:   name,
		Status: HealthWarning,
		Reason: fmt.Sprintf("the machine's clock was set %s by %s at %s: the engine's time goes on without the step",
			how, step.Abs().Round(time.Second), since.UTC().Format(time.RFC3339)),
		Action: "set the clock right, or restart the process to take the machine's time",
	}
}

// checkIssuer warns while tokens cannot be checked. API keys work, and so does a worker in the same process.
func checkIssuer(issuer *auth.OIDC) HealthCheck {
	const name = "issuer"

	if err := issuer.Ready(); err != nil {
		return HealthCheck{
			Name:   name,
			Status: HealthWarning,
			Reason: "tokens are answered with 503, API keys work: " + err.Error(),
			Action: "check the setting auth-issuer and the network; the process asks again every few seconds",
		}
	}

	return ok(name)
}

// checkActivities returns a failed check for each activity whose polls fail. If there is none, it
// returns one check of the worker.
func (b *Backend) checkActivities(w *activities.Worker) []HealthCheck {
	checks := b.health.polls.checks(time.Now(), "activity ", "states:GetActivityTask")
	if len(checks) > 0 {
		return checks
	}

	err, failing := w.Ready(), b.health.polls.causes("activity ")
	if errors.Is(err, activities.ErrNotPolled) {
		// A first poll without a task takes a minute. A refused poll fails at once.
		if failing == "" {
			return []HealthCheck{ok("activities")}
		}
		err = fmt.Errorf("%w; %s", err, failing)
	}

	if err != nil {
		return []HealthCheck{failed("activities", err.Error(), "check the network to Step Functions and the permission states:GetActivityTask")}
	}

	return []HealthCheck{ok("activities")}
}

func (b *Backend) checkStream(p *poller.Poller) HealthCheck {
	const name = "stream"

	if err := p.Health(); err != nil {
		return failed(name, err.Error(),
			"check that table "+b.Tables.Orders+" has a stream with both images, and the permissions dynamodb:DescribeStream, GetShardIterator, GetRecords and those on table "+b.Tables.Leases)
	}

	return ok(name)
}

// checkLag compares the age of the oldest unfinished record with the setting ready-lag.
func (b *Backend) checkLag() HealthCheck {
	const name = "stream lag"

	lag, _ := b.Telemetry.StreamLag()
	if lag.Age <= b.Config.ReadyLag {
		return ok(name)
	}

	reason := fmt.Sprintf("the orders' stream is %s behind (%s read and not finished), more than ready-lag %s",
		lag.Age.Round(time.Second), plural.Of(lag.Pending, "record"), b.Config.ReadyLag)
	if cause := b.health.polls.causes(streamPoller); cause != "" {
		reason += "; " + cause
	}

	return failed(name, reason, "`ratchet streams status` shows shards, retries and errors; records are lost 24 hours after they were written")
}

func (b *Backend) checkQueue(c *queues.Consumer) HealthCheck {
	const name = "requests queue"

	checks := b.health.polls.checks(time.Now(), queuePoller, "sqs:ReceiveMessage")
	if len(checks) > 0 {
		return checks[0]
	}

	if err := c.Ready(); err != nil {
		return failed(name, err.Error(), "check the queue, the network and the permission sqs:ReceiveMessage")
	}

	return ok(name)
}

// checkGaps warns of lost records. The worker goes on after a gap.
func checkGaps(gaps []streams.Gap) HealthCheck {
	first := gaps[0]

	return HealthCheck{
		Name:   "gaps",
		Status: HealthWarning,
		Reason: fmt.Sprintf("records of the orders' stream were lost %s since the start of this process; first: %s, shard %q, between %s and %s",
			plural.Of(len(gaps), "time"), first.Reason, first.Shard, first.Since.UTC().Format(time.RFC3339), first.Until.UTC().Format(time.RFC3339)),
		Action: "`ratchet streams rebuild` hands the orders to the handlers again, as they are now",
	}
}
