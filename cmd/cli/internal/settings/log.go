package settings

import (
	"io"
	"log/slog"

	"ratchet/cmd/cli/internal/exit"
)

// newLog returns a log of the level (debug, info, warn, error) in the format (text, json).
func newLog(out io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, exit.UsageError("log-level %q: must be debug, info, warn or error", level)
	}

	options := &slog.HandlerOptions{Level: l}

	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}

	return nil, exit.UsageError("log-format %q: must be text or json", format)
}
