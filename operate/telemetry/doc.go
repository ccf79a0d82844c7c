// Package telemetry measures what a process of Ratchet does, serves the figures to Prometheus, and
// exports traces, metrics and its log over OTLP.
//
// [New] returns a [Telemetry]. It has a function for each part: ActivityEvents, StreamEvents,
// QueueEvents, NotifyEvents, PaymentEvents and OrderEvents return hooks that count and then call
// the hooks that they were given, MeasureAWS counts the calls of SDK clients, and Served counts
// the requests of an HTTP server. Handler serves the figures.
//
// [Telemetry.StartTracing] returns a [Tracing], nil if traces are off. Its functions wrap what makes
// spans: handlers, events, carriers, and so on. [Spans] lists every kind of span; docs/tracing.md is
// checked against it.
//
// [Telemetry.StartLogs] returns a [Logs], nil if the log is not exported. Its Logger returns a log that
// exports what it writes. [Telemetry.ExportMetrics] begins the export of the figures. An [ExportConfig] and
// OpenTelemetry's environment variables say what goes where; all of it is off by default.
//
// # Names
//
// Instruments are those of OpenTelemetry's API, and an exporter translates them to the names that
// Prometheus asks for: ratchet_..._total for counters, ratchet_..._seconds for durations. [Metrics]
// lists every metric with its labels and its meaning; docs/monitoring.md is checked against it.
//
// # Cardinality
//
// No label has the id of an order, of a shard, of an endpoint or of a caller. A label whose values
// come from outside the program has at most 50 of them; further ones count as "other".
//
// # Caveats
//
// A process counts what it did itself since it was started. Sum over processes.
package telemetry
