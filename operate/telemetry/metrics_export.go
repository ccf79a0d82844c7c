package telemetry

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

var metricsExportMetrics = []Metric{
	{"ratchet_metric_exports_total", Counter, []string{"result"}, "Exports of all metrics over OTLP; result is ok or error"},
}

type metricsExportInstruments struct{ exports counter }

func newMetricsExportInstruments(m *meter) metricsExportInstruments {
	in := metricsExportInstruments{exports: m.counter(metricsExportMetrics, "ratchet_metric_exports_total")}
	in.exports.zero("ok", "error")

	return in
}

// newMetricsExporter returns the exporter of the metrics, nil if they are not exported.
func newMetricsExporter(cfg ExportConfig) (*metricsExporter, error) {
	to, on, err := cfg.receiver(metricsSignal)
	if err != nil || !on {
		return nil, err
	}

	var options []otlpmetrichttp.Option
	if to != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(to))
	}

	exporter, err := otlpmetrichttp.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: exporter of metrics for OTLP: %w", err)
	}

	return &metricsExporter{Exporter: exporter, warner: warner{log: cfg.log()}}, nil
}

// metricsExporter exports the metrics once it has begun, and counts how often. It reports failures
// itself, because the SDK has one handler of errors for the whole process.
type metricsExporter struct {
	metric.Exporter
	warner

	begun atomic.Pointer[metricsExportInstruments] // nil before
}

// Export is part of metric.Exporter. It returns nil.
func (e *metricsExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	in := e.begun.Load()
	// The reader was made with the provider, before it was known whether this process serves
	// something.
	if in == nil {
		return nil
	}

	err := e.Exporter.Export(ctx, all)
	in.exports.inc(outcome(err))

	if err != nil {
		// The error is not returned: it would go to the SDK's global handler.
		e.warn("metrics were not exported", "err", err)
	}

	return nil
}

// Shutdown is part of metric.Exporter. It returns nil: a receiver that hangs is no failure of the
// process, and Export has reported it.
func (e *metricsExporter) Shutdown(ctx context.Context) error {
	// The error is a receiver that hangs, which Export has reported.
	_ = e.Exporter.Shutdown(ctx)
	return nil
}

// ExportMetrics begins the export of the metrics, every minute or at the interval of
// OTEL_METRIC_EXPORT_INTERVAL, if the settings ask for an export. Processes that serve something
// call it. A command that ends at once does not: it would leave one more series of each metric with
// the receiver.
func (t *Telemetry) ExportMetrics() {
	if t.beginExport != nil {
		t.beginExport()
	}
}
