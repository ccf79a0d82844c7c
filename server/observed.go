package server

import (
	"errors"
	"log/slog"
	"sync"

	"ratchet/operate/telemetry"
)

// observed shows the work of a process: its figures, its traces and its log.
type observed struct {
	figures *telemetry.Telemetry
	tracing *telemetry.Tracing // nil if it makes none
	logs    *telemetry.Logs    // nil if its log is not exported
	log     *slog.Logger       // its lines are exported, too
}

// observe starts the figures, the traces and the log as the settings ask. Call close after use, also for
// a process that has failed.
func observe(cfg Config, log *slog.Logger) (seen observed, err error) {
	export := telemetry.ExportConfig{Endpoint: cfg.Tracing.Endpoint, Log: log}

	if seen.figures, err = telemetry.New(export); err != nil {
		return observed{}, err
	}

	if seen.tracing, err = seen.figures.StartTracing(export); err != nil {
		return observed{}, errors.Join(err, seen.close())
	}

	if seen.logs, err = seen.figures.StartLogs(export); err != nil {
		return observed{}, errors.Join(err, seen.close())
	}
	seen.log = seen.logs.Logger(log)

	return seen, nil
}

// close exports the waiting data, all at the same time, because a receiver that hangs holds each export.
func (o observed) close() error {
	var exports sync.WaitGroup
	exports.Go(o.tracing.Close)
	exports.Go(o.logs.Close)
	err := o.figures.Close()
	exports.Wait()

	return err
}
