package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"ratchet/internal/buildinfo"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
)

// The parts that a process may run, as its row names them.
const (
	partWorker  = "worker"
	partAPI     = "api"
	partCarrier = "sandbox-carrier"
	partEngine  = "engine"
)

// lookEvery is how many heartbeats there are for one look at the other processes.
const lookEvery = 3

func (b *Backend) assembleProcesses() (err error) {
	b.Processes, err = processes.New(processes.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Processes, Log: b.log})
	if err == nil {
		b.presence.watcher = b.Processes.Watcher()
	}

	return err
}

// presence keeps the row of this process in the table of the processes, while a part of it runs.
type presence struct {
	watcher *processes.Watcher

	life sync.Mutex // held while the first part begins and while the last one ends
	stop context.CancelFunc
	done chan struct{} // closed when the row is marked as ended

	mu      sync.Mutex
	running map[string]int // parts that run
	last    []string       // their names; at the end, the names of the last ones
	name    string         // the worker's name, if there is one
	ready   bool           // as the newest heartbeat says
	looked  bool           // the value of ready at the newest look at the other processes
	failure error          // of the first part that failed
}

// beginParts notes that parts of the process begin. The first part begins the row; end ends the row if it
// ends the last part. A part that ends with an error makes the process a failed one. If a worker runs, the
// row has the worker's name.
func (b *Backend) beginParts(ctx context.Context, name string, parts ...string) (end func(error)) {
	p := &b.presence

	p.life.Lock()
	defer p.life.Unlock()

	p.mu.Lock()

	first := len(p.running) == 0
	if first {
		// Parts may run again after all have ended. That is a new row, without the old failure.
		p.running, p.failure, p.name = map[string]int{}, nil, ""
	}

	for _, part := range parts {
		p.running[part]++

		if part != partAPI && part != partCarrier || p.name == "" {
			p.name = name
		}
	}
	p.last = slices.Sorted(maps.Keys(p.running))
	p.mu.Unlock()

	if first {
		b.Telemetry.ExportMetrics()

		// The row is ended after the last part, not with the context of the first.
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		p.stop, p.done = stop, done

		go func() {
			defer close(done)
			b.Processes.Run(ctx, processes.Self{Version: buildinfo.Version(), Report: b.report, Beaten: b.lookAround})
		}()
	}

	return func(err error) { b.endParts(parts, err) }
}

func (b *Backend) endParts(parts []string, err error) {
	p := &b.presence

	p.life.Lock()
	defer p.life.Unlock()

	p.mu.Lock()
	for _, part := range parts {
		if p.running[part]--; p.running[part] == 0 {
			delete(p.running, part)
		}
	}

	last := len(p.running) == 0
	// After the last part its name stays in the row, which says what has ended.
	if !last {
		p.last = slices.Sorted(maps.Keys(p.running))
	}
	p.failure = cmp.Or(p.failure, err)
	p.mu.Unlock()

	if last {
		p.stop()
		// The caller may close the backend next, and the row needs its clients.
		<-p.done
	}
}

// report says what this process does, for its row.
func (b *Backend) report(ctx context.Context) processes.Report {
	p := &b.presence

	p.mu.Lock()
	r := processes.Report{Name: p.name, Parts: slices.Clone(p.last)}
	running, failure := len(p.running) > 0, p.failure
	p.mu.Unlock()

	if b.Engine != nil {
		r.Parts = append(r.Parts, partEngine)
	}

	if failure != nil {
		r.Failure = failure.Error()
	}

	// Not under mu: Health calls AWS.
	if running {
		r.Ready, r.Reason = readiness(b.Health(ctx))
	}

	p.mu.Lock()
	p.ready = r.Ready
	p.mu.Unlock()

	r.Polls = b.health.polls.lastGood(time.Now())
	r.Counters = b.counters()

	return r
}

// readiness returns the reason of the first failed check, and how many others there are.
func readiness(h Health) (ready bool, reason string) {
	// more counts the failed checks behind the first.
	more := -1

	for _, check := range h.Checks {
		if check.Status != HealthFailed {
			continue
		}

		if more++; more == 0 {
			reason = check.Name + ": " + check.Reason
		}
	}

	if more > 0 {
		reason = fmt.Sprintf("(and %d more) %s", more, reason)
	}

	return h.Ready, reason
}

// The counters of a process's row that are called like quotas of Step Functions or streams are its
// calls, with their retries.
const (
	countTransitions = "transitions"
	countOrderReads  = "orderReadUnits"
	countOrderWrites = "orderWriteUnits"
)

// counters returns the counters of the row: how much this process has done. Counters that are 0 are left out.
func (b *Backend) counters() map[string]int64 {
	totals, err := b.Telemetry.Totals()
	if err != nil {
		b.log.Debug("the figures of this process cannot be read", "error", err)
		return nil
	}

	const (
		calls, retries = "ratchet_aws_calls_total", "ratchet_aws_retries_total"
		units          = "ratchet_dynamodb_capacity_units_total"
	)

	all := map[string]float64{
		countTransitions: totals.Sum("ratchet_transitions_total", "verdict", "Applied"),
		"records":        totals.Sum("ratchet_stream_handled_total", "result", "ok"),
		"deadLetters":    totals.Sum("ratchet_stream_dead_letters_total"),
		"deliveries":     totals.Sum("ratchet_notification_attempts_total", "status", "delivered"),
		"requests":       totals.Sum("ratchet_http_requests_total"),
		"throttled":      totals.Sum("ratchet_aws_throttles_total"),
		"readUnits":      totals.Sum(units, "kind", "read"),
		"writeUnits":     totals.Sum(units, "kind", "write"),
		countOrderReads:  totals.Sum(units, "kind", "read", "table", b.Tables.Orders),
		countOrderWrites: totals.Sum(units, "kind", "write", "table", b.Tables.Orders),
	}
	for _, operation := range inspect.MeteredCalls() { // each is one of a single service
		all[operation] = totals.Sum(calls, "operation", operation) + totals.Sum(retries, "operation", operation)
	}

	counters := map[string]int64{}

	for name, value := range all {
		// Capacity units come in halves; a row has whole numbers.
		if value >= 1 {
			counters[name] = int64(value)
		}
	}

	return counters
}

// lookAround updates the figures about all processes. It is called after each heartbeat. It looks
// after every third heartbeat, and after a heartbeat that reports another readiness.
func (b *Backend) lookAround(ctx context.Context, beat int64) {
	p := &b.presence

	p.mu.Lock()
	// At once when readiness changes: the figures of all processes count this process, too.
	news := p.ready != p.looked
	p.looked = p.ready
	p.mu.Unlock()

	if beat%lookEvery != 1 && !news {
		return
	}

	found, err := b.presence.watcher.Look(ctx)
	if err != nil {
		b.log.Debug("the processes cannot be read", "error", err)
		b.Telemetry.ObserveProcesses(nil)

		return
	}
	b.Telemetry.ObserveProcesses(processStates(found))

	survey, known, err := b.Processes.NewestSurvey(ctx)
	if err != nil {
		b.log.Debug("the survey of stuck orders cannot be read", "error", err)
		// No figures are better than old ones: an alarm must not rest on a survey that cannot be read.
		b.Telemetry.ObserveStuck(nil, time.Time{})

		return
	}

	if known {
		b.observeSurvey(survey)
	}
}

// processStates counts the processes by the labels of ratchet_processes.
func processStates(found []processes.Process) map[string]int {
	states := map[string]int{"ready": 0, "not_ready": 0, "missing": 0, "failed": 0}

	for _, p := range found {
		switch {
		case p.State == processes.Live && p.Ready:
			states["ready"]++
		case p.State == processes.Live:
			states["not_ready"]++
		case p.State == processes.Missing, p.State == processes.Failed:
			states[string(p.State)]++
		}
	}

	return states
}
