package telemetry_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/notify"
	"ratchet/operate/telemetry"
	"ratchet/streams"
	"ratchet/transitions"
)

// withoutSettings hides the environment's settings of exports from the test.
func withoutSettings(t *testing.T) {
	t.Helper()

	for _, name := range []string{"ENDPOINT", "PROTOCOL"} {
		for _, of := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
			t.Setenv("OTEL_EXPORTER_OTLP_"+of+name, "")
		}
	}

	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"} {
		t.Setenv(name, "")
	}
}

// exportAll makes and exports a span, a line of a log and the metrics.
func exportAll(t *testing.T, cfg telemetry.ExportConfig) (err error) {
	t.Helper()

	figures, err := telemetry.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, figures.Close()) }()

	tracing, err := figures.StartTracing(cfg)
	if err != nil {
		return err
	}
	defer tracing.Close() // works on nil, too

	logs, err := figures.StartLogs(cfg)
	if err != nil {
		return err
	}
	defer logs.Close()

	figures.ExportMetrics()
	logs.Logger(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))).InfoContext(t.Context(), "line")

	if tracing != nil {
		decide(t.Context(), tracing)
	}

	return nil
}

// TestSettingsOfTheExporter: which settings turn it on for traces, metrics and logs, and which are
// refused. FAR is the URL of the receiver.
func TestSettingsOfTheExporter(t *testing.T) {
	const (
		base, protocol = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL"
		traces         = "/v1/traces"
		metrics        = "/v1/metrics"
		logs           = "/v1/logs"
	)
	all := []string{logs, metrics, traces}

	for _, test := range []struct {
		name, setting string
		env           map[string]string
		on            []string
		fault         string
	}{
		{"nothing", "", nil, nil, ""},
		{"the setting", "FAR", nil, all, ""},
		{"a setting with a path", "FAR/collector/", nil, []string{"/collector" + logs, "/collector" + metrics, "/collector" + traces}, ""},
		{"the environment", "", map[string]string{base: "FAR"}, all, ""},
		{"the environment, of traces", "", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "FAR/v1/traces", protocol: "http/protobuf"}, []string{traces}, ""},
		{"the environment, of metrics", "", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "FAR/own"}, []string{"/own"}, ""},
		{"the environment, of logs", "", map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "FAR/v1/logs"}, []string{logs}, ""},
		{"the setting counts more", "FAR", map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://127.0.0.1:1"}, all, ""},
		{"off wins", "off", map[string]string{base: "FAR"}, nil, ""},
		{"off wins over what is not supported", "off", map[string]string{protocol: "grpc", "OTEL_LOGS_EXPORTER": "console"}, nil, ""},
		{"the SDK is disabled", "", map[string]string{base: "FAR", "OTEL_SDK_DISABLED": "true"}, nil, ""},
		{"the SDK is disabled, and the setting", "FAR", map[string]string{"OTEL_SDK_DISABLED": "true"}, nil, ""},
		{"no exporter of traces", "FAR", map[string]string{"OTEL_TRACES_EXPORTER": "none"}, []string{logs, metrics}, ""},
		{"no exporter of metrics", "", map[string]string{base: "FAR", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "otlp"}, []string{logs, traces}, ""},
		{"no exporter of logs", "", map[string]string{base: "FAR", "OTEL_LOGS_EXPORTER": "none"}, []string{metrics, traces}, ""},
		{"another exporter", "FAR", map[string]string{"OTEL_METRICS_EXPORTER": "prometheus"}, nil, `OTEL_METRICS_EXPORTER "prometheus": must be otlp or none`},
		{"gRPC is not supported", "", map[string]string{base: "FAR", protocol: "grpc"}, nil, `OTEL_EXPORTER_OTLP_PROTOCOL "grpc": must be http/protobuf`},
		{"nor with the setting", "FAR", map[string]string{protocol: "grpc"}, nil, `OTEL_EXPORTER_OTLP_PROTOCOL "grpc": must be http/protobuf`},
		{"nor for logs", "FAR", map[string]string{protocol: "http/protobuf", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json"}, nil, `OTEL_EXPORTER_OTLP_LOGS_PROTOCOL "http/json": must be http/protobuf`},
		{"what is not exported may have any", "FAR", map[string]string{"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc", "OTEL_LOGS_EXPORTER": "none"}, []string{metrics, traces}, ""},
		{"no URL", "127.0.0.1:4318", nil, nil, "otlp-endpoint"},
	} {
		t.Run(test.name, func(t *testing.T) {
			withoutSettings(t)
			far := startReceiver(t, nil)

			for name, value := range test.env {
				t.Setenv(name, strings.ReplaceAll(value, "FAR", far.url))
			}

			err := exportAll(t, telemetry.ExportConfig{Endpoint: strings.ReplaceAll(test.setting, "FAR", far.url)})
			if (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Fatalf("error %v, want %q", err, test.fault)
			}

			if got := far.paths(); err == nil && !slices.Equal(got, test.on) {
				t.Errorf("asked %q, want %q", got, test.on)
			}
		})
	}
}

// TestNoTracingChangesNothing: without tracing, each wrapper returns its argument, so it costs
// nothing.
func TestNoTracingChangesNothing(t *testing.T) {
	withoutSettings(t)
	figures := newTelemetry(t)

	off, err := figures.StartTracing(telemetry.ExportConfig{})
	if off != nil || err != nil {
		t.Fatal(off, err)
	}

	logs, err := figures.StartLogs(telemetry.ExportConfig{})
	if logs != nil || err != nil {
		t.Fatal(logs, err)
	}

	if log := slog.New(slog.DiscardHandler); logs.Logger(log) != log {
		t.Error("the log was wrapped")
	}
	figures.ExportMetrics()
	logs.Close()

	handlers := []streams.Handler{{Name: "h"}}
	if traced := off.Handlers(handlers, transitions.Mapping{}); &traced[0] != &handlers[0] {
		t.Error("the handlers were wrapped")
	}

	if off.OrderEvents(nil, transitions.Events{}).Begin != nil || off.NotifyEvents(notify.Events{}).Attempting != nil {
		t.Error("events were set")
	}

	if off.Carrier(nil) != nil || off.Processor(nil) != nil || off.Transport(nil) != nil || off.TraceHTTP(nil) != nil || off.Served(nil) != nil || off.Activity(nil) != nil {
		t.Error("something was wrapped")
	}

	ctx := t.Context()
	allocated := testing.AllocsPerRun(100, func() {
		_, end := off.Reacting(ctx, "h", transitions.Change{})
		end(nil)
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
	off.Close()
}

// TestAReceiverThatHangsHoldsNoOne: spans and lines wait up to a bound, the rest is dropped and
// counted, and Close gives up after its time, without an error.
func TestAReceiverThatHangsHoldsNoOne(t *testing.T) {
	withoutSettings(t)

	let := make(chan struct{})
	defer close(let)
	far := startReceiver(t, let)
	cfg := telemetry.ExportConfig{Endpoint: far.url, Log: slog.New(slog.DiscardHandler)}

	figures, err := telemetry.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	tracing := trace(t, figures, cfg.Endpoint)

	logs, err := figures.StartLogs(cfg)
	if err != nil {
		t.Fatal(err)
	}
	figures.ExportMetrics()

	var written bytes.Buffer
	log := logs.Logger(slog.New(slog.NewTextHandler(&written, nil)))

	const waiting, more = 4096, 1000
	for range waiting + more {
		decide(t.Context(), tracing)
		log.InfoContext(t.Context(), "line")
	}

	if n := strings.Count(written.String(), "line"); n != waiting+more {
		t.Errorf("%d lines were written", n)
	}

	counters := []string{"ratchet_trace_spans_total", "ratchet_log_records_total"}
	for _, counter := range counters {
		if n := countOf(t, figures, counter, "dropped"); n != more {
			t.Errorf("%s of dropped is %d, want %d", counter, n, more)
		}
	}

	began := time.Now()

	var closing sync.WaitGroup
	closing.Go(tracing.Close)
	closing.Go(logs.Close)

	if err := figures.Close(); err != nil {
		t.Error(err)
	}
	closing.Wait()

	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("Close took %s", took)
	}

	// No call stays open after the end.
	for open := map[string]bool{"/v1/traces": true, "/v1/metrics": true, "/v1/logs": true}; len(open) > 0; {
		select {
		case path := <-far.gone:
			delete(open, path)
		case <-time.After(5 * time.Second): // less than the timeout of a call
			t.Fatalf("calls are open: %v", open)
		}
	}
}

// TestWhatIsExportedMakesRoom: more spans and lines are exported than may wait at a time.
func TestWhatIsExportedMakesRoom(t *testing.T) {
	withoutSettings(t)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "1")

	far, figures := startReceiver(t, nil), newTelemetry(t)
	tracing := trace(t, figures, far.url)

	logs, err := figures.StartLogs(telemetry.ExportConfig{Endpoint: far.url})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	log := logs.Logger(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)))

	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()

	const each, times = 2000, 4
	for round := 1; round <= times; round++ {
		for range each {
			decide(t.Context(), tracing)
			log.InfoContext(t.Context(), "line")
		}

		for end := time.Now().Add(3 * time.Minute); countOf(t, figures, "ratchet_trace_spans_total", "exported") < round*each ||
			countOf(t, figures, "ratchet_log_records_total", "exported") < round*each; {
			if time.Now().After(end) {
				t.Fatalf("%d are not exported in round %d", each, round)
			}
			<-look.C
		}
	}
}

// TestAReceiverThatIsDownMakesNoMoreLines: a failure is counted, and logged once; that line is not
// exported.
//
//raced:here
func TestAReceiverThatIsDownMakesNoMoreLines(t *testing.T) {
	withoutSettings(t)
	t.Setenv("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "10")

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	var written bytes.Buffer
	plain := slog.New(slog.NewTextHandler(&written, nil))
	figures := newTelemetry(t)

	logs, err := figures.StartLogs(telemetry.ExportConfig{Endpoint: gone.URL, Log: plain})
	if err != nil {
		t.Fatal(err)
	}

	for range 50 {
		logs.Logger(slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))).InfoContext(t.Context(), "line")
	}
	logs.Close()

	if n := countOf(t, figures, "ratchet_log_records_total", "failed"); n != 50 {
		t.Errorf("%d lines have failed, want 50", n)
	}

	if n := strings.Count(written.String(), "\n"); n != 1 || !strings.Contains(written.String(), "lines of the log were not exported") {
		t.Errorf("%d warnings:\n%s", n, &written)
	}
}

// TestMetricsAreExportedOnceTheProcessServes: a command that ends at once sends none.
//
//raced:here
func TestMetricsAreExportedOnceTheProcessServes(t *testing.T) {
	withoutSettings(t)

	for _, serves := range []bool{false, true} {
		far := startReceiver(t, nil)

		figures, err := telemetry.New(telemetry.ExportConfig{Endpoint: far.url})
		if err != nil {
			t.Fatal(err)
		}

		if serves {
			figures.ExportMetrics()
		}

		if err := figures.Close(); err != nil {
			t.Error(err)
		}

		if sent := len(far.paths()) > 0; sent != serves {
			t.Errorf("serves %t, sent %t", serves, sent)
		}
	}
}
