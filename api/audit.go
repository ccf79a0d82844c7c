package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"time"

	"ratchet/once/actions"
)

// writeAudit writes the audit line of a request: who requested what, and the outcome. The
// line contains no payload and no credential, and only a digest of the Idempotency-Key. If
// the line cannot be written, /readyz answers 503 until a later one can.
func (s *service) writeAudit(r *http.Request, w http.ResponseWriter, to route, c *call, started time.Time) {
	record := s.auditRecord(r, w, to, c, started)

	// The line must be written even if the client is gone.
	ctx := context.WithoutCancel(r.Context())

	err := s.cfg.Audit.Handle(ctx, record)
	s.auditBroken.Store(err != nil)

	if err != nil {
		s.cfg.Log.ErrorContext(ctx, "the audit log cannot be written", "request", c.id, "operation", to.id, "error", err)
	}
}

func (s *service) auditRecord(r *http.Request, w http.ResponseWriter, to route, c *call, started time.Time) slog.Record {
	status := 0
	if rec, ok := w.(*recorder); ok {
		status = rec.status
	}

	outcome := c.code
	switch {
	case status == 0:
		outcome = "panic" // ServeHTTP answers it after this line
	case status < http.StatusBadRequest:
		outcome = "done"
	}

	record := slog.NewRecord(time.Now(), slog.LevelInfo, "audit", 0)
	record.AddAttrs(
		slog.String("request", c.id),
		slog.String("caller", c.caller.ID),
		slog.String("tenant", string(c.caller.Tenant)),
		slog.String("operation", to.id),
		slog.Int("status", status),
		slog.String("outcome", outcome),
		slog.Duration("took", time.Since(started)),
		slog.String("via", c.via()),
		slog.String("from", address(r)),
	)

	for _, name := range to.auditParams {
		if id, ok := auditedID(r, name); ok {
			record.AddAttrs(slog.String(name, id))
		}
	}

	if key := r.Header.Get(idempotencyKey); key != "" {
		// A key may be a secret of the caller, like the name of a claim.
		sum := sha256.Sum256([]byte(key))
		record.AddAttrs(slog.String("idempotencyKeyHash", hex.EncodeToString(sum[:8])))
	}

	return record
}

// auditedID returns a parameter of the path as audit rows and lines show it. It reports false for a
// value that is no valid id.
func auditedID(r *http.Request, name string) (id string, ok bool) {
	id = r.PathValue(name)
	if name == "action" {
		id = actions.ID(id).String() // a digest: the id itself is the secret of an action
	}

	return id, len(id) <= 200
}

// idsOf returns the audited parameters of the path.
func (r route) idsOf(request *http.Request) (ids []string) {
	for _, name := range r.auditParams {
		if id, ok := auditedID(request, name); ok {
			ids = append(ids, id)
		}
	}

	return ids
}
