package telemetry

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var httpMetrics = []Metric{
	{"ratchet_http_requests_total", Counter, []string{"method", "route", "status"}, "Requests of the HTTP API; route is the pattern, as /v1/orders/{orderId}, or none"},
	{"ratchet_http_request_duration_seconds", Histogram, []string{"method", "route"}, "Time from the header of a request to the end of its answer; streams of events are not in"},
}

type httpInstruments struct {
	requests counter
	took     histogram
}

func newHTTPInstruments(m *meter) httpInstruments {
	return httpInstruments{
		requests: m.counter(httpMetrics, "ratchet_http_requests_total"),
		took:     m.histogram(httpMetrics, "ratchet_http_request_duration_seconds"),
	}
}

// eventStream is the type of answers that last for minutes by design.
const eventStream = "text/event-stream"

// Served counts a request of the HTTP API. pattern is the route's pattern, "" or "/" if no route
// matched.
func (t *Telemetry) Served(r *http.Request, pattern string, answer http.Header, status int, took time.Duration) {
	method, route, found := strings.Cut(pattern, " ")
	if !found {
		// The path of a request without a route may be anything, so it is no label.
		method, route = knownMethod(r.Method), "none"
	}

	// A handler that never sets a status sends 200.
	t.http.requests.inc(method, route, strconv.Itoa(cmp.Or(status, http.StatusOK)))

	if !strings.HasPrefix(answer.Get("Content-Type"), eventStream) {
		t.http.took.observe(took, method, route)
	}
}

// knownMethod bounds the methods of requests without a route.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}

	return "other"
}
