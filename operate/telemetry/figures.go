package telemetry

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"strings"
	"sync"
	"time"
)

// figuresNamespace is the namespace of the figures in CloudWatch. Their dimension is Prefix.
const figuresNamespace = "Ratchet"

// figuresEvery is the time between two lines of figures: alarms have periods of minutes.
const figuresEvery = time.Minute

// figure is a metric of CloudWatch that an alarm watches. Only the process can measure it. CloudWatch bills each one
// for each prefix, so there are those that an alarm needs, and not the whole catalog. Shares are two counts, which the
// alarm divides: an average of percentages would weigh a process with one request like one with thousands.
type figure struct {
	name, unit string
	// of returns the figure of the time since the figures before, and whether there is one.
	of func(now, before Totals) (float64, bool)
}

var figures = []figure{
	{"StreamLag", "Seconds", func(now, _ Totals) (float64, bool) { return now.most("ratchet_stream_lag_seconds") }},
	counted("StreamGaps", "ratchet_stream_gaps_total", having()),
	counted("APIRequests", "ratchet_http_requests_total", having()),
	counted("APIErrors", "ratchet_http_requests_total", func(labels map[string]string) bool { return strings.HasPrefix(labels["status"], "5") }),
	{"APILatency", "Seconds", func(now, before Totals) (float64, bool) {
		return now.slowest(before, "ratchet_http_request_duration_seconds")
	}},
	counted("PaymentCalls", "ratchet_payment_calls_total", having()),
	counted("PaymentErrors", "ratchet_payment_calls_total", having("result", "error")),
	counted("NotificationsMissed", "ratchet_notification_attempts_total", having("status", "missed")),
}

// counted is a figure that says by how much counters have grown. A process that counted nothing says 0.
func counted(name, metric string, matches labelMatch) figure {
	return figure{name, "Count", func(now, before Totals) (float64, bool) {
		return now.sumOf(metric, matches) - before.sumOf(metric, matches), true
	}}
}

// writtenFigures are the counts of the last line of figures, so that the next line has what came after it, also if
// another call of WriteFigures writes it.
type writtenFigures struct {
	mu     sync.Mutex
	before Totals
}

// WriteFigures writes the figures that alarms watch, once a minute and once more when ctx ends: a line in CloudWatch's
// embedded metric format, of which CloudWatch Logs makes metrics. If w fails, the next line has the counts of both.
func WriteFigures(ctx context.Context, t *Telemetry, w io.Writer, prefix string) {
	every := time.NewTicker(figuresEvery)
	defer every.Stop()

	for {
		select {
		case <-every.C:
			t.writeFigures(w, prefix)
		case <-ctx.Done():
			t.writeFigures(w, prefix)
			return
		}
	}
}

func (t *Telemetry) writeFigures(w io.Writer, prefix string) {
	t.written.mu.Lock()
	defer t.written.mu.Unlock()

	now, err := t.Totals()
	if err != nil {
		return
	}

	if _, err := w.Write(figuresLine(now, t.written.before, prefix, time.Now())); err == nil {
		t.written.before = now
	}
}

// figuresLine returns a line with the figures of the time since before.
// Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func figuresLine(now, before Totals, prefix string, at time.Time) []byte {
	type metric struct{ Name, Unit string }

	var metrics []metric
	line := map[string]any{"Prefix": prefix}

	for _, f := range figures {
		// JSON has no infinite numbers, and CloudWatch refuses them.
		if v, ok := f.of(now, before); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			metrics = append(metrics, metric{f.name, f.unit})
			line[f.name] = v
		}
	}

	line["_aws"] = map[string]any{
		"Timestamp": at.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": figuresNamespace, "Dimensions": [][]string{{"Prefix"}}, "Metrics": metrics,
		}},
	}

	text, err := json.Marshal(line)
	if err != nil {
		// Texts and finite numbers have JSON.
		panic(err)
	}

	return append(text, '\n')
}

// most returns the largest value of a gauge.
func (t Totals) most(name string) (most float64, ok bool) {
	for _, m := range t[name].GetMetric() {
		if v := m.GetGauge().GetValue(); !ok || v > most {
			most, ok = v, true
		}
	}

	return most, ok
}

// slowest returns the time within which 99 of 100 ended: the upper bound of a bucket of the histogram, and for those
// beyond the last bucket, its bound.
func (t Totals) slowest(before Totals, name string) (float64, bool) {
	within, all := t.buckets(name)
	withinBefore, allBefore := before.buckets(name)

	count := all - allBefore
	if count <= 0 {
		return 0, false
	}

	last := durationBuckets[len(durationBuckets)-1]
	for _, bound := range durationBuckets {
		if (within[bound]-withinBefore[bound])*100 >= count*99 {
			return bound, true
		}
	}

	return last, true
}

// buckets returns how many of all ended within each bound.
func (t Totals) buckets(name string) (within map[float64]float64, all float64) {
	within = map[float64]float64{}
	for _, m := range t[name].GetMetric() {
		for _, b := range m.GetHistogram().GetBucket() {
			within[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}

		all += float64(m.GetHistogram().GetSampleCount())
	}

	return within, all
}
