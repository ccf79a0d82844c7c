package telemetry

import (
	"sync"
	"time"

	"ratchet/streams"
)

var streamMetrics = []Metric{
	{"ratchet_stream_records_total", Counter, nil, "Records that were read from the orders' stream"},
	{"ratchet_stream_handled_total", Counter, []string{"handler", "result"}, "Calls of handlers; result is ok or error"},
	{"ratchet_stream_handler_duration_seconds", Histogram, []string{"handler"}, "Time that a call of a handler took"},
	{"ratchet_stream_retries_total", Counter, []string{"handler", "place"}, "Failed calls that are repeated; place is memory, or queue for records that wait in the table"},
	{"ratchet_stream_dead_letters_total", Counter, []string{"handler"}, "Records that a handler gave up on"},
	{"ratchet_stream_gaps_total", Counter, []string{"reason"}, "Times that records were lost before they were read"},
	{"ratchet_stream_lease_changes_total", Counter, []string{"change"}, "Changes of leases; change is taken, lost, released, finished or wanted"},
	{"ratchet_stream_faults_total", Counter, []string{"operation"}, "Failed calls of the poller to AWS"},
	{"ratchet_stream_shards", Gauge, nil, "Shards that this process reads"},
	{"ratchet_stream_lag_seconds", Gauge, nil, "Age of the oldest record that is read and not finished, over the shards that this process reads"},
	{"ratchet_stream_pending_records", Gauge, nil, "Records that are read and not finished"},
	{"ratchet_stream_loss_in_seconds", Gauge, nil, "Time until the oldest unfinished record is lost; 24 hours if all are finished"},
}

type streamInstruments struct {
	records, handled, retries, deadLetters, gaps, leases, faults counter
	took                                                         histogram

	mu   sync.Mutex
	lags func() []streams.Lag // nil while there is no poller
}

func (s *streamInstruments) register(m *meter) {
	s.records = m.counter(streamMetrics, "ratchet_stream_records_total")
	s.handled = m.counter(streamMetrics, "ratchet_stream_handled_total")
	s.retries = m.counter(streamMetrics, "ratchet_stream_retries_total")
	s.deadLetters = m.counter(streamMetrics, "ratchet_stream_dead_letters_total")
	s.gaps = m.counter(streamMetrics, "ratchet_stream_gaps_total")
	s.leases = m.counter(streamMetrics, "ratchet_stream_lease_changes_total")
	s.faults = m.counter(streamMetrics, "ratchet_stream_faults_total")
	s.took = m.histogram(streamMetrics, "ratchet_stream_handler_duration_seconds")

	// Reasons and changes are known, so their series begin with 0; handlers are not known here.
	s.records.zero()
	s.gaps.zero(string(streams.GapTrimmed), string(streams.GapUnread), string(streams.GapGone), string(streams.GapParent), string(streams.GapReplaced),
		string(streams.GapQueue))
	s.leases.zero(string(streams.LeaseTaken), string(streams.LeaseLost), string(streams.LeaseReleased), string(streams.LeaseFinished), string(streams.LeaseRequested))
	s.faults.zero("GetRecords")

	s.gauge(m, "ratchet_stream_shards", func(l StreamLag) (float64, bool) { return float64(l.Shards), true })
	// A process without shards reads nothing. A lag of 0 would look like health.
	s.gauge(m, "ratchet_stream_lag_seconds", func(l StreamLag) (float64, bool) { return l.Age.Seconds(), l.Shards > 0 })
	s.gauge(m, "ratchet_stream_pending_records", func(l StreamLag) (float64, bool) { return float64(l.Pending), true })
	s.gauge(m, "ratchet_stream_loss_in_seconds", func(l StreamLag) (float64, bool) { return l.ToHorizon.Seconds(), l.Shards > 0 })
}

// gauge registers a gauge over the shards of the poller, if there is one.
func (s *streamInstruments) gauge(m *meter, name string, value func(StreamLag) (v float64, shown bool)) {
	m.gauge(streamMetrics, name, func(observe func(float64, ...string)) {
		lag, polls := s.lag()
		// A gauge that is not observed has no value: better than a wrong 0.
		if v, shown := value(lag); polls && shown {
			observe(v)
		}
	})
}

// StreamLag says how far this process is behind in the shards that it reads.
type StreamLag struct {
	Shards  int
	Pending int
	// Age is the greatest of the shards' ages, ToHorizon the least of their times to the loss.
	Age, ToHorizon time.Duration
}

// StreamLag returns how far the process is behind in the shards that it reads, and whether it polls
// the stream at all.
func (t *Telemetry) StreamLag() (lag StreamLag, polls bool) { return t.streams.lag() }

func (s *streamInstruments) lag() (lag StreamLag, polls bool) {
	s.mu.Lock()
	lags := s.lags
	s.mu.Unlock()

	if lags == nil {
		return StreamLag{}, false
	}

	// Called outside the lock: the poller has locks of its own.
	for _, l := range lags() {
		lag.Shards++
		lag.Pending += l.Pending
		lag.Age = max(lag.Age, l.Age)

		// The zero value is no time to a loss, so the first shard sets it.
		if lag.Shards == 1 || l.ToHorizon < lag.ToHorizon {
			lag.ToHorizon = l.ToHorizon
		}
	}

	return lag, true
}

// ObserveStream shows the lag of a poller until the function that it returns is called. lags is
// [streams.Poller.Lags].
func (t *Telemetry) ObserveStream(lags func() []streams.Lag) (end func()) {
	t.streams.observe(lags)
	// The poller has ended; its last lag would be shown for the life of the process.
	return func() { t.streams.observe(nil) }
}

func (s *streamInstruments) observe(lags func() []streams.Lag) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.lags = lags
}

// ExpectHandler shows the figures of a handler of the stream as 0 before anything is counted.
func (t *Telemetry) ExpectHandler(handler string) {
	t.streams.handled.zeroFor(handler, "ok", "error")
	t.streams.retries.zeroFor(handler, "memory", "queue")
	t.streams.deadLetters.zero(handler)
}

// StreamEvents returns hooks that count and then call next.
func (t *Telemetry) StreamEvents(next streams.Events) streams.Events {
	in, events := &t.streams, next

	events.Page = func(p streams.Page) {
		in.records.plus(float64(p.Records))

		if next.Page != nil {
			next.Page(p)
		}
	}
	events.Gap = func(g streams.Gap) {
		in.gaps.inc(string(g.Reason))

		if next.Gap != nil {
			next.Gap(g)
		}
	}
	events.Lease = func(l streams.LeaseEvent) {
		in.leases.inc(string(l.Change))

		if next.Lease != nil {
			next.Lease(l)
		}
	}
	events.Fault = func(op, shard string, err error) {
		in.faults.inc(op)

		if next.Fault != nil {
			next.Fault(op, shard, err)
		}
	}
	in.measureHandlers(&events, next)

	return events
}

// measureHandlers sets the hooks about single records.
func (s *streamInstruments) measureHandlers(events *streams.Events, next streams.Events) {
	events.Handled = func(h streams.Handled) {
		s.handled.inc(h.Record.Handler, outcome(h.Err))
		s.took.observe(h.Took, h.Record.Handler)

		if next.Handled != nil {
			next.Handled(h)
		}
	}
	events.Retrying = func(r streams.Retrying) {
		place := "memory"
		if r.Parked {
			place = "queue"
		}
		s.retries.inc(r.Record.Handler, place)

		if next.Retrying != nil {
			next.Retrying(r)
		}
	}
	events.DeadLetter = func(r streams.Record, attempts int, err error) {
		s.deadLetters.inc(r.Handler)

		if next.DeadLetter != nil {
			next.DeadLetter(r, attempts, err)
		}
	}
}
