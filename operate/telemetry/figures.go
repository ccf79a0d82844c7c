package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// FiguresNamespace is the namespace of the figures in CloudWatch. Their dimension is Prefix.
const FiguresNamespace = "Ratchet"

// figuresEvery is the time between two lines of figures: alarms have periods of minutes.
const figuresEvery = time.Minute

// figure is what an alarm of CloudWatch watches. Only the process can measure it. Each figure and each prefix is a
// metric that CloudWatch bills, so there is one for each alarm and not one for each metric of the catalog.
type figure struct {
	name, unit string
	// of returns the figure of the time since the figures before, and whether there is one.
	of func(now, before families) (float64, bool)
}

var figures = []figure{
	{"StreamLag", "Seconds", func(now, _ families) (float64, bool) { return now.most("ratchet_stream_lag_seconds") }},
	{"StreamGaps", "Count", func(now, before families) (float64, bool) {
		return now.since(before, "ratchet_stream_gaps_total", nil), true
	}},
	{"APIErrors", "Percent", func(now, before families) (float64, bool) {
		return now.share(before, "ratchet_http_requests_total", func(labels map[string]string) bool { return strings.HasPrefix(labels["status"], "5") })
	}},
	{"APILatency", "Seconds", func(now, before families) (float64, bool) {
		return now.slowest(before, "ratchet_http_request_duration_seconds")
	}},
	{"PaymentErrors", "Percent", func(now, before families) (float64, bool) {
		return now.share(before, "ratchet_payment_calls_total", func(labels map[string]string) bool { return labels["result"] == "error" })
	}},
	{"NotificationsMissed", "Count", func(now, before families) (float64, bool) {
		return now.since(before, "ratchet_notification_attempts_total", func(labels map[string]string) bool { return labels["status"] == "missed" }), true
	}},
}

// FigureNames returns the names of the figures.
func FigureNames() (names []string) {
	for _, f := range figures {
		names = append(names, f.name)
	}

	return names
}

// WriteFigures writes the figures that alarms watch, once a minute and once more when ctx ends: a line in CloudWatch's
// embedded metric format, of which CloudWatch Logs makes metrics. A writer that fails gets the next line all the same.
func (t *Telemetry) WriteFigures(ctx context.Context, w io.Writer, prefix string) {
	before := families{}

	every := time.NewTicker(figuresEvery)
	defer every.Stop()

	for ended := false; !ended; {
		select {
		case <-every.C:
		case <-ctx.Done():
			ended = true
		}

		now, err := t.gather()
		if err != nil {
			continue
		}

		if line := figuresLine(now, before, prefix, time.Now()); line != nil {
			_, _ = w.Write(line)
		}

		before = now
	}
}

// figuresLine returns a line with the figures of the time since before, nil if there is none.
// Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func figuresLine(now, before families, prefix string, at time.Time) []byte {
	type metric struct{ Name, Unit string }

	var metrics []metric
	line := map[string]any{"Prefix": prefix}

	for _, f := range figures {
		if v, ok := f.of(now, before); ok {
			metrics = append(metrics, metric{f.name, f.unit})
			line[f.name] = v
		}
	}

	if metrics == nil {
		return nil
	}

	line["_aws"] = map[string]any{
		"Timestamp": at.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": FiguresNamespace, "Dimensions": [][]string{{"Prefix"}}, "Metrics": metrics,
		}},
	}

	text, err := json.Marshal(line)
	if err != nil { // not for numbers that are finite
		return nil
	}

	return append(text, '\n')
}

// families are the series of all metrics at one time, by the metric's name.
type families map[string][]*dto.Metric

func (t *Telemetry) gather() (families, error) {
	all, err := t.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("telemetry: figures: %w", err)
	}

	out := families{}
	for _, family := range all {
		out[family.GetName()] = family.GetMetric()
	}

	return out, nil
}

// most returns the largest value of a gauge.
func (f families) most(name string) (most float64, ok bool) {
	for _, m := range f[name] {
		if v := m.GetGauge().GetValue(); !ok || v > most {
			most, ok = v, true
		}
	}

	return most, ok
}

// sum adds the counters that count matches.
func (f families) sum(name string, matches func(labels map[string]string) bool) (sum float64) {
	for _, m := range f[name] {
		labels := map[string]string{}
		for _, pair := range m.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}

		if matches == nil || matches(labels) {
			sum += m.GetCounter().GetValue()
		}
	}

	return sum
}

// since returns how much counters have grown.
func (f families) since(before families, name string, matches func(labels map[string]string) bool) float64 {
	return f.sum(name, matches) - before.sum(name, matches)
}

// share returns how many percent of what was counted matches.
func (f families) share(before families, name string, matches func(labels map[string]string) bool) (float64, bool) {
	all := f.since(before, name, nil)
	if all <= 0 {
		return 0, false
	}

	return 100 * f.since(before, name, matches) / all, true
}

// slowest returns the time within which 99 of 100 ended: the upper bound of a bucket of the histogram, and for those
// beyond the last bucket, its bound.
func (f families) slowest(before families, name string) (float64, bool) {
	within, all := f.buckets(name)
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
func (f families) buckets(name string) (within map[float64]float64, all float64) {
	within = map[float64]float64{}
	for _, m := range f[name] {
		for _, b := range m.GetHistogram().GetBucket() {
			within[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}

		all += float64(m.GetHistogram().GetSampleCount())
	}

	return within, all
}
