package system

import (
	"fmt"
	"strings"
	"testing"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// payload decodes the receiver's data of a signal, and returns its bytes.
func payload(t *testing.T, receiver, signal string, into proto.Message) []byte {
	t.Helper()

	raw := get(t, receiver+"/payload/"+signal)
	if err := proto.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}

	return raw
}

// spans decodes the traces that the receiver has.
func spans(t *testing.T, receiver string) (all []*otlp.Span, raw []byte) {
	t.Helper()

	var request coltrace.ExportTraceServiceRequest
	raw = payload(t, receiver, "traces", &request)

	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			all = append(all, scope.GetSpans()...)
		}
	}

	return all, raw
}

// lines decodes the logs that the receiver has.
func lines(t *testing.T, receiver string) (all []*logs.LogRecord, raw []byte) {
	t.Helper()

	var request collogs.ExportLogsServiceRequest
	raw = payload(t, receiver, "logs", &request)

	for _, resource := range request.GetResourceLogs() {
		if name := attributeText(resource.GetResource().GetAttributes(), "service.name"); name != "ratchet" {
			t.Errorf("logs of %q", name)
		}

		for _, scope := range resource.GetScopeLogs() {
			all = append(all, scope.GetLogRecords()...)
		}
	}

	return all, raw
}

// figure returns the sum of a counter over the processes, each with its newest export, and whether one
// has exported it.
func figure(t *testing.T, receiver, name string, labels ...string) (sum float64, exported bool) {
	t.Helper()

	var request colmetrics.ExportMetricsServiceRequest
	payload(t, receiver, "metrics", &request)

	newest := map[string]float64{} // by process
	for _, resource := range request.GetResourceMetrics() {
		process := attributeText(resource.GetResource().GetAttributes(), "service.instance.id")

		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				if metric.GetName() != name {
					continue
				}

				if s := metric.GetSum(); !s.GetIsMonotonic() || s.GetAggregationTemporality() != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
					t.Errorf("%s is %v, want a cumulative counter", name, s)
				}

				for _, point := range metric.GetSum().GetDataPoints() {
					if hasAll(point.GetAttributes(), labels) {
						newest[process], exported = point.GetAsDouble(), true
					}
				}
			}
		}
	}

	for _, value := range newest {
		sum += value
	}

	return sum, exported
}

// hasAll reports whether the attributes have these names and values.
func hasAll(attributes []*common.KeyValue, pairs []string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if attributeText(attributes, pairs[i]) != pairs[i+1] {
			return false
		}
	}

	return true
}

// attributeText returns an attribute as text, "" if there is none.
func attributeText(attributes []*common.KeyValue, name string) string {
	for _, a := range attributes {
		if a.GetKey() != name {
			continue
		}

		if list := a.GetValue().GetArrayValue(); list != nil {
			return list.GetValues()[0].GetStringValue()
		}

		if text := a.GetValue().GetStringValue(); text != "" {
			return text
		}

		return fmt.Sprint(a.GetValue().GetIntValue())
	}

	return ""
}

// checkLogs looks for the line about the cancellation of o-2, in the trace of its request.
func (f *forest) checkLogs(receiver string) {
	all, raw := lines(f.T, receiver)
	apply := f.child(f.root(clerk, caller, "POST /v1/orders/{orderId}/transitions"), "apply cancel")
	found := false

	for _, line := range all {
		about := line.GetAttributes()
		if line.GetBody().GetStringValue() != "transition" || !hasAll(about, []string{"order", "o-2", "transition", "2", "event", "cancel", "verdict", "Applied"}) {
			continue
		}
		found = true

		if string(line.GetTraceId()) != string(apply.GetTraceId()) || string(line.GetSpanId()) != string(apply.GetSpanId()) {
			f.Errorf("the line is of %x %x, want %x %x", line.GetTraceId(), line.GetSpanId(), apply.GetTraceId(), apply.GetSpanId())
		}
	}

	if !found {
		f.Errorf("no line about the transition among %d", len(all))
	}
	f.holdsNothingPersonal("the log", raw)
}

// checkMetrics compares counters with what has happened.
func (f *forest) checkMetrics(receiver string) {
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"ratchet.transitions", []string{"event", "place", "verdict", "Applied"}, 2},
		{"ratchet.transitions", []string{"event", "cancel", "verdict", "Applied"}, 1},
		{"ratchet.transitions", []string{"event", "cancel", "verdict", "Illegal"}, 0},
		{"ratchet.http.requests", []string{"method", "POST", "route", "/v1/orders/{orderId}/transitions", "status", "200"}, 1},
	} {
		if got, exported := figure(f.T, receiver, c.name, c.labels...); !exported || got != c.want {
			f.Errorf("%s%v is %v (exported: %t), want %v", c.name, c.labels, got, exported, c.want)
		}
	}

	f.holdsNothingPersonal("the metrics", payload(f.T, receiver, "metrics", &colmetrics.ExportMetricsServiceRequest{}))
}

func (f *forest) holdsNothingPersonal(what string, raw []byte) {
	for _, personal := range personal {
		if strings.Contains(string(raw), personal) {
			f.Errorf("%s: the payload holds %q", what, personal)
		}
	}
}
