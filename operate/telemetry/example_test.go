package telemetry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"ratchet/operate/telemetry"
	"ratchet/transitions"
	"ratchet/workflow"
)

// The figures of transitions are served to Prometheus.
func Example() {
	figures, err := telemetry.New(telemetry.ExportConfig{})
	if err != nil {
		panic(err)
	}
	defer figures.Close()

	events := figures.OrderEvents(workflow.Order(), transitions.Events{})
	_ = events // a Config of transitions takes them

	server := httptest.NewRecorder()
	figures.Handler().ServeHTTP(server, httptest.NewRequest(http.MethodGet, "/metrics", nil))

	fmt.Println(server.Code, strings.Contains(server.Body.String(), "# TYPE"))
	// Output: 200 true
}

// Every metric and every kind of span is listed, for documents and dashboards.
func ExampleMetrics() {
	for _, m := range telemetry.Metrics() {
		if m.Name == "ratchet_processes" {
			fmt.Println(m.Name, m.Kind == telemetry.Gauge, m.Labels)
		}
	}

	for _, s := range telemetry.Spans() {
		if s.Name == "apply {event}" {
			fmt.Println(s.Name, s.Kind)
		}
	}
	// Output:
	// ratchet_processes true [state]
	// apply {event} internal
}
