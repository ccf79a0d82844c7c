package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	sdk "go.opentelemetry.io/otel/sdk/log"
)

var logMetrics = []Metric{
	{"ratchet_log_records_total", Counter, []string{"result"}, "Lines of the log for the export over OTLP; result is exported, failed (the receiver did not take them) or dropped (too many waited)"},
}

type logInstruments struct{ records counter }

func newLogInstruments(m *meter) logInstruments {
	in := logInstruments{records: m.counter(logMetrics, "ratchet_log_records_total")}
	in.records.zero("exported", "failed", "dropped")

	return in
}

// Logs exports the log of a process. It is safe for concurrent use. A nil Logs exports nothing, and
// every method works on it. Call Close after use.
type Logs struct {
	provider *sdk.LoggerProvider
	stop     context.CancelFunc // ends the export that is under way
	log      *slog.Logger
}

// StartLogs returns the export of the log, nil if logs are not exported. It makes no call: a
// receiver that is down shows in the metric ratchet_log_records_total.
func (t *Telemetry) StartLogs(cfg ExportConfig) (*Logs, error) {
	to, on, err := cfg.receiver(logsSignal)
	if err != nil || !on {
		return nil, err
	}

	var options []otlploghttp.Option
	// Without a URL the exporter reads the environment.
	if to != "" {
		options = append(options, otlploghttp.WithEndpointURL(to))
	}

	process, err := t.process()
	if err != nil {
		return nil, err
	}

	exporter, err := otlploghttp.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("telemetry: exporter of logs for OTLP: %w", err)
	}

	// Shutdown's timeout does not end an export that hangs; stop ends it.
	stopped, stop := context.WithCancel(context.Background())

	return &Logs{
		provider: sdk.NewLoggerProvider(
			sdk.WithResource(process),
			sdk.WithAttributeValueLengthLimit(maxLogAttribute),
			sdk.WithProcessor(newLogQueue(stopped, exporter, &t.logs, cfg.log()))),
		stop: stop,
		log:  cfg.log(),
	}, nil
}

// maxLogAttribute is the most characters of an attribute's value, such as the stack of a panic.
const maxLogAttribute = 4096

// Logger returns a log that also exports its lines, at the levels that log takes. Lines that are
// written with the context of a span have its ids. On nil it returns log.
func (l *Logs) Logger(log *slog.Logger) *slog.Logger {
	if l == nil {
		return log
	}

	return slog.New(tee{log.Handler(), otelslog.NewHandler("ratchet", otelslog.WithLoggerProvider(l.provider))})
}

// Close exports the lines that wait, for 3 s at most, and ends the export. Later lines are not
// exported.
func (l *Logs) Close() {
	if l == nil {
		return
	}
	// stop is called after the Shutdown: it ends an export that hangs.
	defer l.stop()

	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()

	if err := l.provider.Shutdown(ctx); err != nil {
		l.log.Warn("the last lines of the log were not exported in time", "err", err)
	}
}

// logQueue hands lines to the SDK's batches, as far as there is room, and counts how their export
// ends. The SDK alone would overwrite the oldest lines without a report.
type logQueue struct {
	sdk.Processor // the batches

	room *room
	in   *logInstruments
}

func newLogQueue(stopped context.Context, exporter sdk.Exporter, in *logInstruments, log *slog.Logger) logQueue {
	room := &room{}
	counting := &countingLogExporter{Exporter: exporter, stopped: stopped, room: room, in: in, warner: warner{log: log}}

	return logQueue{
		Processor: sdk.NewBatchProcessor(counting, sdk.WithMaxQueueSize(maxWaiting)),
		room:      room,
		in:        in,
	}
}

// OnEmit is part of sdk.Processor. It never waits.
func (q logQueue) OnEmit(ctx context.Context, r *sdk.Record) error {
	// A log line must never wait for a receiver, so it is dropped.
	if !q.room.take() {
		q.in.records.inc("dropped")
		return nil
	}

	return q.Processor.OnEmit(ctx, r)
}

// countingLogExporter counts the lines that it exports. It reports failures itself: the SDK's handler
// of errors is one for the whole process, and a failure must not become a line to export.
type countingLogExporter struct {
	sdk.Exporter
	warner

	stopped context.Context
	room    *room
	in      *logInstruments
}

// Export is part of sdk.Exporter. It returns nil.
func (e *countingLogExporter) Export(ctx context.Context, records []sdk.Record) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The SDK exports with a context of its own, which Close does not end.
	defer context.AfterFunc(e.stopped, cancel)()

	err := e.Exporter.Export(ctx, records)
	// The room is free only now: lines of a running export use memory, too.
	e.room.leave(len(records))

	if err == nil {
		e.in.records.plus(float64(len(records)), "exported")
		return nil
	}
	e.in.records.plus(float64(len(records)), "failed")
	e.warn("lines of the log were not exported", "lines", len(records), "err", err)

	// An error would go to the SDK's global handler.
	return nil
}

// tee writes lines to a log and exports the same lines.
type tee struct{ log, export slog.Handler }

// Enabled is part of slog.Handler.
func (t tee) Enabled(ctx context.Context, level slog.Level) bool { return t.log.Enabled(ctx, level) }

// Handle is part of slog.Handler.
func (t tee) Handle(ctx context.Context, r slog.Record) error {
	// A new record, because a copy would share the attributes' array.
	exported := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		exported.AddAttrs(plain(a))
		return true
	})

	// Both are called, also after an error: a log that cannot be written is still exported.
	return errors.Join(t.log.Handle(ctx, r), t.export.Handle(ctx, exported))
}

// WithAttrs is part of slog.Handler.
func (t tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	exported := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		exported[i] = plain(a)
	}

	return tee{t.log.WithAttrs(attrs), t.export.WithAttrs(exported)}
}

// WithGroup is part of slog.Handler.
func (t tee) WithGroup(name string) slog.Handler {
	return tee{t.log.WithGroup(name), t.export.WithGroup(name)}
}
