package server

import (
	"errors"
	"log/slog"
	"sync"

	"ratchet/operate/telemetry"
)

// observed has the figures, the traces and the log of a process.
type observed struct {
	figures *telemetry.Telemetry
	tracing *telemetry.Tracing // nil if the process makes no traces
	logs    *telemetry.Logs    // nil if the log is not exported
	log     *slog.Logger       // writes the log and, if logs is set, exports it
}

// observe starts the figures, the traces and the log as the settings say. Call close after use, even if
// the process has failed.
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

// close exports the data that was not exported yet. The three exports run at the same time, so that a
// receiver that hangs delays the end only once.
func (o observed) close() error {
	var exports sync.WaitGroup
	exports.Go(o.tracing.Close)
	exports.Go(o.logs.Close)
	err := o.figures.Close()
	exports.Wait()

	return err
}
