package telemetry

import "slices"

// Kind is the kind of a metric, in the words of Prometheus.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric describes one metric.
type Metric struct {
	// Name is the name in Prometheus. A histogram has it with _bucket, _sum and _count.
	Name string
	Kind Kind
	// Labels are the names of the labels, in the order in which the code gives their values.
	Labels []string
	// Meaning is a sentence without a period.
	Meaning string
}

// Metrics lists every metric that this package defines, by name. The standard metrics of the
// Go runtime and the process (go_..., process_...) are served as well.
func Metrics() []Metric {
	all := slices.Concat(
		activityMetrics,
		awsMetrics,
		fleetMetrics,
		httpMetrics,
		logMetrics,
		metricsExportMetrics,
		notifyMetrics,
		orderMetrics,
		paymentMetrics,
		processMetrics,
		queueMetrics,
		streamMetrics,
		sweepMetrics,
		traceMetrics,
	)
	slices.SortFunc(all, func(a, b Metric) int {
		if a.Name < b.Name {
			return -1
		}

		return 1
	})

	return all
}
