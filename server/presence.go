package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"ratchet/internal/buildinfo"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/operate/telemetry"
	"ratchet/transitions"
)

// The names of the parts in the row of a process, in addition to the names of [WorkerPart].
const (
	partWorker  = "worker"
	partAPI     = "api"
	partCarrier = "sandbox-carrier"
	partEngine  = "engine"
)

// lookEvery: the process looks at the other processes after every third heartbeat.
const lookEvery = 3

func (b *Backend) assembleProcesses() (err error) {
	b.Processes, err = processes.New(processes.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Processes, Log: b.log})
	if err == nil {
		b.presence.watcher = b.Processes.Watcher()
	}

	return err
}

// presence keeps the row of this process in the table of processes while parts of the process run.
type presence struct {
	watcher *processes.Watcher

	life sync.Mutex // held while the first part begins and while the last one ends
	stop context.CancelFunc
	done chan struct{} // closed when the row is marked as ended

	mu      sync.Mutex
	running map[string]int // how often each part runs
	last    []string       // the names of the parts that run; after the end, of the parts that ran last
	name    string         // the worker's name, else the name of another part
	ready   bool           // the readiness in the newest heartbeat
	looked  bool           // the value of ready at the newest look at the other processes
	failure error          // the error of the first part that failed
}

// beginParts notes that parts of the process begin. The first part begins the row of the process. Call
// end when the parts have ended; after the last part it ends the row. If a part ends with an error, the
// row says that the process has failed. If a worker runs, the row has the worker's name.
func (b *Backend) beginParts(ctx context.Context, name string, parts ...string) (end func(error)) {
	p := &b.presence

	p.life.Lock()
	defer p.life.Unlock()

	p.mu.Lock()

	first := len(p.running) == 0
	if first {
		// Parts may begin again after all have ended. Then there is a new row, without the old failure.
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

		// The row must outlive ctx, which is the context of the first part only.
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		done := make(chan struct{})
		p.stop, p.done = stop, done

		go func() {
			defer close(done)

			var figures sync.WaitGroup
			defer figures.Wait()

			if b.Config.Tracing.Figures {
				figures.Go(func() { telemetry.WriteFigures(ctx, b.Telemetry, b.figuresTo(), b.Config.Prefix) })
			}

			b.Processes.Run(ctx, processes.Self{Version: buildinfo.Version(), Report: b.report, Minute: b.pulse.take, Beaten: b.lookAround})
		}()
	}

	return func(err error) { b.endParts(parts, err) }
}

// figuresTo returns what gets the figures of CloudWatch's alarms.
func (b *Backend) figuresTo() io.Writer {
	if to := b.Config.Tracing.FiguresTo; to != nil {
		return to
	}

	return os.Stdout
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
	// When the last parts end, their names stay in the row, so that the row says what has ended.
	if !last {
		p.last = slices.Sorted(maps.Keys(p.running))
	}
	p.failure = cmp.Or(p.failure, err)
	p.mu.Unlock()

	if last {
		p.stop()
		// Wait until the row is written with the backend's clients: the caller may close the backend next.
		<-p.done
	}
}

// report returns the content of this process's row.
func (b *Backend) report(ctx context.Context) processes.Report {
	p := &b.presence

	p.mu.Lock()
	r := processes.Report{Name: p.name, Parts: slices.Clone(p.last), Figures: b.Config.Tracing.Figures}
	running, failure := len(p.running) > 0, p.failure
	p.mu.Unlock()

	// Every part moves orders, also the sandbox carrier, by its reports.
	if len(r.Parts) > 0 {
		r.Versions = append([]int{b.Orders.Definition().Version()}, b.Config.AcceptVersions...)
	}

	if b.Engine != nil {
		r.Parts = append(r.Parts, partEngine)
	}

	if failure != nil {
		r.Failure = failure.Error()
	}

	// Without the lock, because Health calls AWS.
	if running {
		r.Ready, r.Reason = readiness(b.Health(ctx))
	}

	p.mu.Lock()
	p.ready = r.Ready
	p.mu.Unlock()

	r.Polls = b.health.polls.lastGood(time.Now())
	r.Counters = b.counters()

	if age, reads := b.lateness.own(); reads {
		r.Behind = int64(age.Seconds())
	}

	return r
}

// readiness returns whether the process is ready, and the reason of the first failed check with the
// number of the other failed checks.
func readiness(h Health) (ready bool, reason string) {
	// more counts the failed checks after the first one, so it begins below 0.
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

// Names of counters in a process's row that other files use, too. A counter with the name of an AWS
// operation counts the process's calls of it, with their retries.
const (
	countTransitions = "transitions"
	countOrderReads  = "orderReadUnits"
	countOrderWrites = "orderWriteUnits"
)

// counters returns the counters of the row: how much this process has done. A counter that is 0 is left
// out.
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
		countTransitions: totals.Sum("ratchet_transitions_total", "verdict", transitions.Applied.String()),
		"placed":         totals.Sum("ratchet_transitions_total", "verdict", transitions.Applied.String(), "event", string(b.flow.definition.Place())),
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
	for _, verdict := range transitions.Verdicts() {
		if verdict != transitions.Applied { // they are the transitions
			all[verdict.String()] = totals.Sum("ratchet_transitions_total", "verdict", verdict.String())
		}
	}

	for _, operation := range inspect.MeteredCalls() { // no two services have an operation of one name here
		all[operation] = totals.Sum(calls, "operation", operation) + totals.Sum(retries, "operation", operation)
	}

	counters := map[string]int64{}

	for name, value := range all {
		// Capacity units may be halves. The row has whole numbers.
		if value >= 1 {
			counters[name] = int64(value)
		}
	}

	return counters
}

// lookAround updates the figures about all processes. It is called after each heartbeat. It reads the
// rows after every third heartbeat, and after a heartbeat that changes the readiness of this process; after
// each one if the process serves the API and reads no shard.
func (b *Backend) lookAround(ctx context.Context, beat int64) {
	p := &b.presence

	if b.serves() {
		b.pulse.look(ctx, time.Now(), b.Processes.Minutes)
	}

	p.mu.Lock()
	// A change of readiness is shown at once, because the figures also count this process.
	news := p.ready != p.looked
	p.looked = p.ready
	p.mu.Unlock()

	// A process that serves the API and reads no shard hears from the others how far the stream is read.
	if beat%lookEvery != 1 && !news && !b.listens() {
		return
	}

	found, err := b.presence.watcher.Look(ctx)
	if err != nil {
		b.log.Debug("the processes cannot be read", "error", err)
		b.Telemetry.ObserveProcesses(nil)

		return
	}
	b.Telemetry.ObserveProcesses(processStates(found))
	b.lateness.hear(found, time.Now())

	survey, known, err := b.Processes.NewestSurvey(ctx)
	if err != nil {
		b.log.Debug("the survey of stuck orders cannot be read", "error", err)
		// The figures are removed: an alarm must not depend on an old survey.
		b.Telemetry.ObserveStuck(nil, time.Time{})

		return
	}

	if known {
		b.observeSurvey(survey)
	}
}

// listens reports whether the process serves the API and reads no shard of the stream.
func (b *Backend) listens() bool {
	_, reads := b.lateness.own()

	b.presence.mu.Lock()
	defer b.presence.mu.Unlock()

	return !reads && b.presence.running[partAPI] > 0
}

// serves reports whether the process serves the API.
func (b *Backend) serves() bool {
	b.presence.mu.Lock()
	defer b.presence.mu.Unlock()

	return b.presence.running[partAPI] > 0
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
