package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"ratchet/internal/buildinfo"
)

// ExportOff is the value of [ExportConfig].Endpoint for no export.
const ExportOff = "off"

// ExportConfig says where traces, metrics and logs go, by OTLP over HTTP. The environment variables of
// OpenTelemetry apply, as far as no field says otherwise.
type ExportConfig struct {
	// Endpoint is the URL of a receiver, without /v1/traces, /v1/metrics and /v1/logs, or "off".
	// Empty: the value of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, ..._METRICS_ENDPOINT or
	// ..._LOGS_ENDPOINT for one of the three, else the value of OTEL_EXPORTER_OTLP_ENDPOINT,
	// else "off".
	Endpoint string
	// Log gets a warning when something cannot be exported, at most once a minute for each of the
	// three. These warnings are not exported. Default: slog.Default().
	Log *slog.Logger
}

func (c ExportConfig) log() *slog.Logger {
	if c.Log == nil {
		return slog.Default()
	}

	return c.Log
}

// signal is one of the things that are exported, as OpenTelemetry names them.
type signal string

const (
	tracesSignal  signal = "traces"
	metricsSignal signal = "metrics"
	logsSignal    signal = "logs"
)

// setting returns the first environment variable about the signal that is set, and its value. The name
// is like ENDPOINT.
func (s signal) setting(name string) (variable, value string) {
	// OpenTelemetry's rule: the variable of the signal goes before the one for all signals.
	for _, variable := range []string{
		"OTEL_EXPORTER_OTLP_" + strings.ToUpper(string(s)) + "_" + name,
		"OTEL_EXPORTER_OTLP_" + name,
	} {
		if value := os.Getenv(variable); value != "" {
			return variable, value
		}
	}

	return "", ""
}

// receiver reports whether the signal is exported. The URL is empty if the exporter finds it in the
// environment. The error names the setting that is not supported.
func (c ExportConfig) receiver(s signal) (to string, on bool, err error) {
	if c.Endpoint == ExportOff || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return "", false, nil
	}

	// An exporter without an endpoint would send to localhost, where usually nothing listens.
	if _, endpoint := s.setting("ENDPOINT"); c.Endpoint == "" && endpoint == "" {
		return "", false, nil
	}

	selector := "OTEL_" + strings.ToUpper(string(s)) + "_EXPORTER"
	switch exporter := os.Getenv(selector); exporter {
	case "none":
		return "", false, nil
	case "", "otlp":
	default:
		return "", false, fmt.Errorf("%s %q: must be otlp or none", selector, exporter)
	}

	// The only protocol that is linked into the program.
	if variable, protocol := s.setting("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return "", false, fmt.Errorf("%s %q: must be http/protobuf, or set otlp-endpoint to %q", variable, protocol, ExportOff)
	}

	// The SDK reads the environment itself, and knows its rules about paths.
	if c.Endpoint == "" {
		return "", true, nil
	}

	base, err := url.Parse(c.Endpoint)
	if err != nil || base.Host == "" {
		return "", false, fmt.Errorf("otlp-endpoint %q: must be http://HOST:PORT or https://HOST", c.Endpoint)
	}

	return base.JoinPath("v1", string(s)).String(), true, nil
}

// newResource describes this process to a receiver.
func newResource() (*resource.Resource, error) {
	process, err := resource.New(context.Background(),
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			attribute.String("service.name", "ratchet"),
			attribute.String("service.version", buildinfo.Version()),
			attribute.String("service.instance.id", newInstanceID())),
		// Last, so that the environment overrides service.name and the others.
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("telemetry: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}

	return process, nil
}

// flushFor bounds how long a Close waits for the receiver.
const flushFor = 3 * time.Second

// maxWaiting is how many spans, and how many lines of a log, may wait for their export, including
// the export that is under way. More are dropped.
const maxWaiting = 4096

// room bounds what waits. The zero value is ready to use.
type room struct{ waiting atomic.Int64 }

// take reports whether there was room for one more.
func (r *room) take() bool {
	// Add first: a check before it would let two goroutines take the last place.
	if r.waiting.Add(1) > maxWaiting {
		r.waiting.Add(-1)
		return false
	}

	return true
}

func (r *room) leave(n int) { r.waiting.Add(-int64(n)) }

// warnEvery is the least time between two warnings.
const warnEvery = time.Minute

// warner logs what may fail again and again.
type warner struct {
	log *slog.Logger

	mu     sync.Mutex
	warned time.Time
}

func (w *warner) warn(text string, attributes ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if now := time.Now(); now.Sub(w.warned) >= warnEvery {
		w.warned = now
		w.log.Warn(text, attributes...)
	}
}
