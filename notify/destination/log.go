package destination

import (
	"context"
	"log/slog"

	"ratchet/notify"
)

// Log writes notifications to a logger. A repeated message is a second line.
type Log struct{ logger *slog.Logger }

// newLog returns a destination that writes to the logger, or to slog.Default() if it is nil.
func newLog(logger *slog.Logger) *Log {
	if logger == nil {
		logger = slog.Default()
	}

	return &Log{logger}
}

// Send writes one line. It never fails.
func (l *Log) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	l.logger.InfoContext(ctx, "notification", "key", m.Key, "order", m.OrderID, "transition", m.TransitionID, "state", m.State)
	return notify.Answer{}, nil
}
