package system

import (
	"slices"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TestWithTracingOffNothingIsDialed: with the export off, a command that decides about an order connects
// to no one. A process that serves connects to no one either, although it logs and measures. With the
// export on, a command exports its span and its log before it ends, and no metrics.
func TestWithTracingOffNothingIsDialed(t *testing.T) {
	engine := serveEngine(t)
	create := []string{"orders", "create", "o-1", "--item", "mug:1:1250", "--endpoint-url", engine, "--log-level", "debug"}
	serve := []string{"serve", "--dev", "--api-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--endpoint-url", engine, "--log-level", "debug", "--json"}

	dialed, address := countConnections(t)
	env := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + address,
		"OTEL_BSP_SCHEDULE_DELAY=1",
		"OTEL_BLRP_SCHEDULE_DELAY=1",
		"OTEL_METRIC_EXPORT_INTERVAL=1",
	}
	none := append(slices.Clone(env), "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none")

	run(t, env, append(create, "--otlp-endpoint", "off")...)
	run(t, none, create...)
	serving := startProcess(t, "ratchet", env, append(serve, "--otlp-endpoint", "off")...)
	get(t, serving.api(t)+"/readyz")
	serving.stop(t)

	if n := dialed(); n != 0 {
		t.Errorf("%d connections with the export off", n)
	}

	// The receiver answers nothing sensible, which is no failure of the command.
	run(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + address}, create...)

	if dialed() == 0 {
		t.Error("no connection with the export on")
	}

	receiver := startProcess(t, "receiver", nil).first
	run(t, nil, append(create, "--otlp-endpoint", receiver)...)

	if all, _ := spans(t, receiver); !slices.ContainsFunc(all, func(s *otlp.Span) bool { return s.GetName() == "apply place" }) {
		t.Errorf("there is no span of the decision: %v", all)
	}

	if all, _ := lines(t, receiver); len(all) == 0 {
		t.Error("there is no line of the log")
	}

	if raw := get(t, receiver+"/payload/metrics"); len(raw) > 0 {
		t.Errorf("%d bytes of metrics of a command that has ended", len(raw))
	}
}
