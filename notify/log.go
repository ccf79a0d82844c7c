package notify

import (
	"context"
	"log/slog"
)

// Log writes notifications to a logger. It writes a repeat again.
type Log struct{ logger *slog.Logger }

// NewLog returns a sink that writes to the logger, or to slog.Default() if it is nil.
func NewLog(logger *slog.Logger) *Log {
	if logger == nil {
		logger = slog.Default()
	}

	return &Log{logger}
}

// Send writes one line. It never fails.
func (l *Log) Send(ctx context.Context, n Notification) error {
	l.logger.InfoContext(ctx, "notification", "key", n.Key, "order", n.OrderID, "transition", n.TransitionID, "state", n.State)
	return nil
}
