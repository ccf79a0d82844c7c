package settings

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/operate/audit"
	"ratchet/server"
)

// Audited runs fn. If the command is an act, its row is written first, and its result afterwards.
// Without the row nothing is done.
func (s *Settings) Audited(ctx context.Context, b *server.Backend, fn func(*server.Backend) error) error {
	if s.Act == nil {
		return fn(b)
	}

	// A row without a result is better than a change without a row.
	begun, err := b.Audit.Begin(ctx, *s.Act)
	if err != nil {
		return fmt.Errorf("nothing was done, because the act could not be written down: %w (`ratchet init` creates a missing table)", err)
	}

	done := fn(b)

	// ctx may have ended by an interrupt, and the result must be written all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()

	result, code := resultOf(done)
	// The act is done, so a missing result is no failure of the command.
	if err := begun.End(ctx, result, code); err != nil {
		slog.New(slog.NewTextHandler(os.Stderr, nil)).WarnContext(ctx, "the result of this command could not be written down", "result", result, "error", err)
	}

	return done
}

// auditTimeout bounds the write of a result.
const auditTimeout = 10 * time.Second

// resultOf returns the result of a command, and its exit status as a code.
func resultOf(err error) (result audit.Result, code string) {
	// The row exists by now, so bad input that only fn finds is a refusal: nothing has changed.
	switch status := exit.StatusOf(err); status {
	case exit.OK:
		return audit.Done, ""
	case exit.Usage:
		return audit.Refused, "invalid"
	case exit.Refused:
		return audit.Refused, "refused"
	case exit.NotFound:
		return audit.Refused, "not_found"
	default:
		return audit.Failed, fmt.Sprintf("exit_%d", status)
	}
}
