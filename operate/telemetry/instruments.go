package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// durationBuckets are the upper bounds of the buckets of durations, in seconds. A call of a
// table takes milliseconds, a poll for tasks a minute.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// meter makes instruments from the descriptions of metrics. It collects the errors.
type meter struct {
	metric.Meter
	err error
}

// instrumentName is the name of the instrument that the exporter translates to the metric's
// name: ratchet.stream.lag of unit s becomes ratchet_stream_lag_seconds.
func instrumentName(m Metric) string {
	// The exporter appends the unit and _total itself.
	name := strings.TrimSuffix(strings.TrimSuffix(m.Name, "_total"), "_seconds")
	return strings.ReplaceAll(name, "_", ".")
}

// describe finds the description of a metric.
func (m *meter) describe(all []Metric, name string, kind Kind) Metric {
	i := slices.IndexFunc(all, func(d Metric) bool { return d.Name == name && d.Kind == kind })
	if i < 0 {
		// All errors are collected, so that New reports every name that is missing.
		m.err = errors.Join(m.err, fmt.Errorf("telemetry: there is no %s %s in the catalog", kind, name))
		return Metric{Name: name, Kind: kind}
	}

	return all[i]
}

func (m *meter) failed(err error) {
	if err != nil {
		m.err = errors.Join(m.err, fmt.Errorf("telemetry: %w", err))
	}
}

// counter is an instrument that only grows.
type counter struct {
	add func(context.Context, float64, ...metric.AddOption)
	*series
}

func (m *meter) counter(all []Metric, name string) counter {
	d := m.describe(all, name, Counter)

	unit := ""
	if strings.HasSuffix(name, "_seconds_total") {
		unit = "s"
	}

	c, err := m.Float64Counter(instrumentName(d), metric.WithDescription(d.Meaning), metric.WithUnit(unit))
	m.failed(err)

	return counter{c.Add, &series{labels: d.Labels}}
}

// inc adds one under the values of the labels.
func (c counter) inc(values ...string) { c.plus(1, values...) }

func (c counter) plus(n float64, values ...string) {
	// Not the caller's context: an event counts also if the caller was canceled.
	c.add(context.Background(), n, c.of(values))
}

// zero makes the counter appear with 0 under each of the values of its only label, or without
// labels. Without the 0, a rate would miss the first increase.
func (c counter) zero(values ...string) {
	if len(c.labels) == 0 {
		c.plus(0)
	}

	for _, value := range values {
		c.plus(0, value)
	}
}

// zeroFor is zero for a counter with two labels. The first label has the value first.
func (c counter) zeroFor(first string, values ...string) {
	for _, value := range values {
		c.plus(0, first, value)
	}
}

// histogram is the distribution of durations.
type histogram struct {
	metric.Float64Histogram
	*series
}

func (m *meter) histogram(all []Metric, name string) histogram {
	d := m.describe(all, name, Histogram)

	h, err := m.Float64Histogram(instrumentName(d), metric.WithDescription(d.Meaning), metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(durationBuckets...))
	m.failed(err)

	return histogram{h, &series{labels: d.Labels}}
}

func (h histogram) observe(took time.Duration, values ...string) {
	h.Record(context.Background(), took.Seconds(), h.of(values))
}

// level is a gauge that goes up and down by one.
type level struct {
	metric.Int64UpDownCounter
	*series
}

func (m *meter) level(all []Metric, name string) level {
	d := m.describe(all, name, Gauge)
	g, err := m.Int64UpDownCounter(instrumentName(d), metric.WithDescription(d.Meaning))
	m.failed(err)

	return level{g, &series{labels: d.Labels}}
}

func (l level) move(by int64, values ...string) {
	l.Add(context.Background(), by, l.of(values))
}

// gauge registers a gauge that is read whenever the figures are asked for. read calls observe
// once for each combination of labels.
func (m *meter) gauge(all []Metric, name string, read func(observe func(value float64, values ...string))) {
	d := m.describe(all, name, Gauge)

	unit := ""
	if strings.HasSuffix(name, "_seconds") {
		unit = "s"
	}

	_, err := m.Float64ObservableGauge(instrumentName(d), metric.WithDescription(d.Meaning), metric.WithUnit(unit),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			read(func(value float64, values ...string) {
				o.Observe(value, metric.WithAttributeSet(attributes(d.Labels, values)))
			})

			return nil
		}))
	m.failed(err)
}

const (
	// mostLabels is how many labels an instrument has at most whose series are kept.
	mostLabels = 4
	// mostSeries is how many series of an instrument are kept. Labels have few values, so that is never reached
	// unless a label without a bound is added.
	mostSeries = 1000
)

// series are the attribute sets of an instrument by the values of its labels. An order counts some two hundred
// events, and to pair, sort and hash the labels of each took 2 % of its processor time.
type series struct {
	labels []string

	mu   sync.RWMutex
	kept map[[mostLabels]string]metric.MeasurementOption
}

// of returns the attribute set of the values.
func (s *series) of(values []string) metric.MeasurementOption {
	if len(values) > mostLabels {
		return metric.WithAttributeSet(attributes(s.labels, values))
	}

	var key [mostLabels]string
	copy(key[:], values)

	s.mu.RLock()
	set, found := s.kept[key]
	s.mu.RUnlock()

	if found {
		return set
	}
	set = metric.WithAttributeSet(attributes(s.labels, values))

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.kept == nil {
		s.kept = map[[mostLabels]string]metric.MeasurementOption{}
	}

	if len(s.kept) < mostSeries {
		s.kept[key] = set
	}

	return set
}

// attributes pairs the names of labels with their values.
func attributes(labels, values []string) attribute.Set {
	pairs := make([]attribute.KeyValue, len(labels))
	for i, label := range labels {
		pairs[i] = attribute.String(label, values[i])
	}

	return attribute.NewSet(pairs...)
}

// outcome is the value of a label for a call that may fail.
func outcome(err error) string {
	if err != nil {
		return "error"
	}

	return "ok"
}

// mostNames is how many different values of a label are shown if they come from outside the
// program.
const mostNames = 50

// names bounds the values of a label. The zero value is ready to use.
type names struct {
	mu    sync.Mutex
	known map[string]bool
}

// of returns the name, or "other" if there are too many names already.
func (n *names) of(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()

	switch {
	case n.known[name]:
		return name
	// The first fifty stay for the life of the process: a series that changes its meaning would be
	// worse than "other".
	case len(n.known) >= mostNames:
		return "other"
	case n.known == nil:
		n.known = map[string]bool{}
	}
	n.known[name] = true

	return name
}
