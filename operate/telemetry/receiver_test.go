package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver takes traces, metrics and logs. It answers when let is closed, or at once if let is nil.
type receiver struct {
	url string
	let chan struct{}
	// gone gets the paths of requests that the exporter has canceled.
	gone chan string

	mu      sync.Mutex
	asked   []string // the paths of the requests
	spans   []*otlp.Span
	metrics []*metrics.Metric
	lines   []*logs.LogRecord
}

func startReceiver(t *testing.T, let chan struct{}) *receiver {
	t.Helper()

	r := &receiver{let: let, gone: make(chan string, 10)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the exporter has gone
		}

		if r.let != nil {
			select {
			case <-r.let:
			case <-request.Context().Done():
				r.gone <- request.URL.Path
				return
			}
		}

		if err := r.take(request.URL.Path, body); err != nil {
			t.Errorf("%s: %v", request.URL.Path, err)
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL

	return r
}

func (r *receiver) take(path string, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.asked = append(r.asked, path)

	switch path {
	case "/v1/traces":
		var got coltrace.ExportTraceServiceRequest
		err := proto.Unmarshal(body, &got)

		for _, resource := range got.GetResourceSpans() {
			r.spans = append(r.spans, resource.GetScopeSpans()[0].GetSpans()...)
		}

		return err
	case "/v1/metrics":
		var got colmetrics.ExportMetricsServiceRequest
		err := proto.Unmarshal(body, &got)

		for _, resource := range got.GetResourceMetrics() {
			r.metrics = append(r.metrics, resource.GetScopeMetrics()[0].GetMetrics()...)
		}

		return err
	case "/v1/logs":
		var got collogs.ExportLogsServiceRequest
		err := proto.Unmarshal(body, &got)

		for _, resource := range got.GetResourceLogs() {
			r.lines = append(r.lines, resource.GetScopeLogs()[0].GetLogRecords()...)
		}

		return err
	}

	return nil
}

// paths returns the different paths of the requests, sorted.
func (r *receiver) paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return slices.Compact(slices.Sorted(slices.Values(r.asked)))
}

// named returns the spans of a name in the order in which they have ended.
func (r *receiver) named(name string) (found []*otlp.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for _, s := range r.spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}

	return found
}
