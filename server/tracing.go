package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"ratchet/notify/destination"
	"ratchet/operate/telemetry"
	"ratchet/shipping/httpcarrier"
)

// TracingConfig says where the traces, the metrics and the log of a process go. The environment
// variables of OpenTelemetry (OTEL_SERVICE_NAME, OTEL_METRICS_EXPORTER, OTEL_TRACES_SAMPLER and others)
// apply, too.
type TracingConfig struct {
	// Endpoint is the URL of a receiver of OTLP over HTTP, like http://127.0.0.1:4318, or "off".
	// Traces, metrics and the log go there. Default: the environment variable
	// OTEL_EXPORTER_OTLP_ENDPOINT, or a variable for one kind of data, like
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT; without them "off".
	Endpoint string `koanf:"otlp-endpoint"`
	// Propagation says to whom the traceparent goes: "all" (the carrier's URL, webhooks, and the queues,
	// topics and buses that get notifications), "own" (the carrier's URL) or "none". Default: "all".
	Propagation string `koanf:"trace-propagation"`
	// Figures writes the figures that alarms of CloudWatch watch to standard output, a line a minute in its
	// embedded metric format, of which CloudWatch Logs makes metrics. The templates set it. Default: false.
	Figures bool `koanf:"cloudwatch-figures"`
	// FiguresTo gets those lines. Default: standard output.
	FiguresTo io.Writer `koanf:"-"`
}

// The values of [TracingConfig].Propagation.
const (
	PropagateToAll  = "all"
	PropagateToOwn  = "own"
	PropagateToNone = "none"
)

// validate reports every field that breaks a rule.
func (c TracingConfig) validate() error {
	var faults []error
	if c.Endpoint != "" && c.Endpoint != telemetry.ExportOff && !isReceiver(c.Endpoint) {
		faults = append(faults, fmt.Errorf(`otlp-endpoint %q: must be http://HOST:PORT, https://HOST or "off", without /v1/traces, /v1/metrics or /v1/logs`, withoutUser(c.Endpoint)))
	}

	if !slices.Contains([]string{PropagateToAll, PropagateToOwn, PropagateToNone}, c.Propagation) {
		faults = append(faults, fmt.Errorf(`trace-propagation %q: must be "all", "own" or "none"`, withoutUser(c.Propagation)))
	}

	return errors.Join(faults...)
}

// isReceiver reports whether text is the URL of a receiver of OTLP without the path of one kind of data.
func isReceiver(text string) bool {
	path := strings.TrimRight(text, "/")
	// The exporters add such a path, so a URL that has one would get a second one.
	ofOne := strings.HasSuffix(path, "/v1/traces") || strings.HasSuffix(path, "/v1/metrics") || strings.HasSuffix(path, "/v1/logs")

	return isHTTPURL(text) && !strings.ContainsAny(text, "?#") && !ofOne
}

// carrierTransport returns the transport for the calls of the carrier's URL. Nil means the default.
func (b *Backend) carrierTransport() http.RoundTripper {
	if b.Tracing == nil || b.Config.Tracing.Propagation == PropagateToNone {
		return nil
	}

	return b.Tracing.Transport(httpcarrier.NewTransport())
}

// propagateToEndpoints makes notifications carry the traceparent, if the settings say so.
func (b *Backend) propagateToEndpoints(o *destination.Opener) {
	if b.Tracing != nil && b.Config.Tracing.Propagation == PropagateToAll {
		o.Traceparent = telemetry.Traceparent
	}
}
