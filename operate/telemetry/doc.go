// Package telemetry measures what a process of Ratchet does, serves the figures to Prometheus, and
// exports traces, metrics and its log over OTLP.
//
// [New] returns a [Telemetry]. It has a function for each part: ActivityEvents, StreamEvents,
// QueueEvents, NotifyEvents, PaymentEvents and OrderEvents return hooks that count and then call
// the hooks that they were given, MeasureAWS counts the calls of SDK clients, and Served counts
// the requests of an HTTP server. Handler serves the figures.
//
// [Telemetry.StartTracing] returns a [Tracing], nil if traces are off. Its functions wrap handlers,
// events, carriers and so on, to make spans of their calls. [Spans] lists every kind of span;
// docs/reference/spans.md is checked against it.
//
// [Telemetry.StartLogs] returns a [Logs], nil if the log is not exported. Its Logger returns a log
// that also exports its lines. [Telemetry.ExportMetrics] begins the export of the figures. An
// [ExportConfig] and OpenTelemetry's environment variables say where each is sent; all of it is off
// by default.
//
// # Names
//
// Instruments are OpenTelemetry's, and an exporter translates their names to the names that
// Prometheus asks for: ratchet_..._total for counters, ratchet_..._seconds for durations. [Metrics]
// lists every metric with its labels and its meaning; docs/reference/metrics.md is checked against it.
//
// # Cardinality
//
// No label has the id of an order, a shard, an endpoint or a caller. A label whose values come from
// outside the program has at most 50 values; further ones count as "other".
//
// # Caveats
//
// A process counts its own work since its start. Sum over processes.
package telemetry
