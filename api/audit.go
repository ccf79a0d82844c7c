package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"time"

	"ratchet/actions"
)

// audited writes who asked for what and what became of it: one line, no payload, no
// credential, of the Idempotency-Key only a digest.
func (s *service) audited(r *http.Request, w http.ResponseWriter, to route, c *call, started time.Time) {
	status := 0
	if rec, ok := w.(*recorder); ok {
		status = rec.status
	}

	outcome := c.code
	switch {
	case status == 0:
		outcome = "panic" // answered after this line is written
	case status < http.StatusBadRequest:
		outcome = "done"
	}
	record := slog.NewRecord(s.cfg.Now(), slog.LevelInfo, "audit", 0)
	record.AddAttrs(slog.String("request", c.id), slog.String("caller", c.caller.ID), slog.String("tenant", string(c.caller.Tenant)),
		slog.String("operation", to.id), slog.Int("status", status), slog.String("outcome", outcome),
		slog.Duration("took", s.cfg.Now().Sub(started)), slog.String("from", address(r)))

	for _, name := range to.target {
		id := r.PathValue(name)
		if name == "action" {
			id = actions.ID(id).String() // a digest: who has the id may use it
		}

		if len(id) <= 200 {
			record.AddAttrs(slog.String(name, id))
		}
	}

	if key := r.Header.Get(idempotencyKey); key != "" {
		sum := sha256.Sum256([]byte(key))
		record.AddAttrs(slog.String("idempotencyKeyHash", hex.EncodeToString(sum[:8])))
	}

	if err := s.cfg.Audit.Handle(context.WithoutCancel(r.Context()), record); err != nil {
		s.auditBroken.Store(true)
		s.cfg.Log.ErrorContext(r.Context(), "the audit log cannot be written", "request", c.id, "operation", to.id, "error", err)
		return
	}
	s.auditBroken.Store(false)
}
