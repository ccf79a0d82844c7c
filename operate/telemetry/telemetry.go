package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Telemetry holds the figures of one process. It is safe for concurrent use. Call Close after
// use.
type Telemetry struct {
	registry *prometheus.Registry
	shutdown func(context.Context) error // of the provider of meters
	// beginExport is nil without an export of metrics.
	beginExport func()
	process     func() (*resource.Resource, error)

	activities activityInstruments
	aws        awsInstruments
	fleet      fleetInstruments
	http       httpInstruments
	notify     notifyInstruments
	orders     orderInstruments
	payments   paymentInstruments
	queues     queueInstruments
	streams    streamInstruments
	sweeps     sweepInstruments
	traces     traceInstruments

	metricsExport metricsExportInstruments
	logs          logInstruments

	written writtenFigures
}

// New returns a Telemetry that has counted nothing yet. It makes no call: metrics are exported
// after [Telemetry.ExportMetrics], if cfg asks for it.
func New(cfg ExportConfig) (*Telemetry, error) {
	// A registry of its own: two Telemetries in one process, as in tests, do not collide. The
	// resource is made once, so traces, metrics and logs have the same instance id.
	t := &Telemetry{registry: prometheus.NewRegistry(), process: sync.OnceValues(newResource)}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	// Scope and target would be one more label and one more metric, with the same value in every
	// series.
	reader, err := exporter.New(exporter.WithRegisterer(t.registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: exporter for Prometheus: %w", err)
	}
	options := []metric.Option{metric.WithReader(reader)}

	exporter, err := newMetricsExporter(cfg)
	if err != nil {
		return nil, err
	}

	if exporter != nil {
		t.beginExport = func() { exporter.begun.Store(&t.metricsExport) }

		process, err := t.process()
		if err != nil {
			return nil, err
		}
		options = append(options, metric.WithResource(process), metric.WithReader(metric.NewPeriodicReader(exporter)))
	}
	provider := metric.NewMeterProvider(options...)
	t.shutdown = provider.Shutdown

	m := &meter{Meter: provider.Meter("ratchet")}
	t.activities = newActivityInstruments(m)
	t.aws = newAWSInstruments(m)
	t.http = newHTTPInstruments(m)
	t.notify = newNotifyInstruments(m)
	t.orders = newOrderInstruments(m)
	t.payments = newPaymentInstruments(m)
	t.queues = newQueueInstruments(m)
	t.streams.register(m)
	t.sweeps = newSweepInstruments(m)
	t.traces = newTraceInstruments(m)
	t.metricsExport = newMetricsExportInstruments(m)
	t.logs = newLogInstruments(m)
	t.fleet.register(m)
	observeProcess(m)

	if m.err != nil {
		// The provider has started a goroutine for its periodic reader.
		return nil, errors.Join(m.err, t.Close())
	}

	return t, nil
}

// Handler serves the figures in the formats of Prometheus.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry})
}

// Close ends the measuring. If metrics are exported, it exports them once more, for 3 s at most.
func (t *Telemetry) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()

	return t.shutdown(ctx)
}
