package system

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"ratchet/operate/telemetry"
)

// receiver keeps the newest export of metrics.
type receiver struct {
	url string

	mu     sync.Mutex
	newest []*otlp.Metric
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()

	r := &receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || request.URL.Path != "/v1/metrics" {
			return
		}

		var got collector.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Error(err)
			return
		}

		r.mu.Lock()
		defer r.mu.Unlock()

		r.newest = nil

		for _, scope := range got.GetResourceMetrics()[0].GetScopeMetrics() {
			r.newest = append(r.newest, scope.GetMetrics()...)
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL

	return r
}

func (r *receiver) metrics() []*otlp.Metric {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.newest
}

// exportsTheCatalog compares what is exported with the catalog, by the rule of docs/operate/monitoring.md: the
// name with underscores, the unit and the kind is that in Prometheus.
func (s *system) exportsTheCatalog(t *testing.T) {
	s.With(t).Wait("the metrics over OTLP", func() (bool, string, error) {
		var faults []string
		exported := map[string]*otlp.Metric{}

		for _, metric := range s.far.metrics() {
			exported[nameInPrometheus(metric)] = metric
		}

		for _, m := range telemetry.Metrics() {
			if fault := compareExported(m, exported[m.Name]); fault != "" {
				faults = append(faults, fault)
			}
			delete(exported, m.Name)
		}

		for name := range exported {
			faults = append(faults, name+" is not in the catalog")
		}

		return len(faults) == 0, strings.Join(faults, "\n"), nil
	})
}

func nameInPrometheus(m *otlp.Metric) string {
	name := strings.ReplaceAll(m.GetName(), ".", "_")
	if m.GetUnit() == "s" {
		name += "_seconds"
	}

	if m.GetSum().GetIsMonotonic() {
		name += "_total"
	}

	return name
}

// compareExported returns how a metric differs from its description, "" if it does not.
func compareExported(want telemetry.Metric, got *otlp.Metric) string {
	if got == nil {
		return want.Name + " is not exported"
	}

	if got.GetDescription() != want.Meaning {
		return fmt.Sprintf("%s has the text %q, want %q", want.Name, got.GetDescription(), want.Meaning)
	}
	kind, points := telemetry.Gauge, [][]*common.KeyValue{}

	switch data := got.GetData().(type) {
	case *otlp.Metric_Histogram:
		kind = telemetry.Histogram

		for _, p := range data.Histogram.GetDataPoints() {
			points = append(points, p.GetAttributes())
		}
	case *otlp.Metric_Sum: // a level that goes down again is a gauge in Prometheus
		if data.Sum.GetIsMonotonic() {
			kind = telemetry.Counter
		}

		for _, p := range data.Sum.GetDataPoints() {
			points = append(points, p.GetAttributes())
		}
	case *otlp.Metric_Gauge:
		for _, p := range data.Gauge.GetDataPoints() {
			points = append(points, p.GetAttributes())
		}
	}

	if kind != want.Kind || len(points) == 0 {
		return fmt.Sprintf("%s is a %s of %d series, want a %s", want.Name, kind, len(points), want.Kind)
	}

	for _, point := range points {
		var labels []string
		for _, a := range point {
			labels = append(labels, a.GetKey())
		}

		if all := slices.Sorted(slices.Values(want.Labels)); !slices.Equal(slices.Sorted(slices.Values(labels)), all) {
			return fmt.Sprintf("%s has the labels %v, want %v", want.Name, labels, all)
		}
	}

	return ""
}
