package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// The paths of the liveness and the readiness probe.
const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

type healthOutput struct {
	Body struct {
		Status string `json:"status" enum:"ok"`
	}
}

func (s *service) healthRoutes(h huma.API) {
	register(s, h, route{
		id:      "health",
		method:  http.MethodGet,
		path:    healthPath,
		tag:     "service",
		public:  true,
		status:  http.StatusOK,
		summary: "Liveness probe",
	}, s.health)
	register(s, h, route{
		id:          "ready",
		method:      http.MethodGet,
		path:        readyPath,
		tag:         "service",
		public:      true,
		status:      http.StatusOK,
		summary:     "Readiness probe",
		description: "503 while the data store does not answer, while the audit log cannot be written, and while the server stops.",
	}, s.ready)
}

func (s *service) health(context.Context, caller, *struct{}) (*healthOutput, error) {
	out := &healthOutput{}
	out.Body.Status = "ok"
	return out, nil
}

// readyWithin bounds Config.Ready, so that the probe is answered in time.
const readyWithin = 2 * time.Second

func (s *service) ready(ctx context.Context, c caller, in *struct{}) (*healthOutput, error) {
	// This is checked first: a stopping server must get no more requests, even if all is well.
	select {
	case <-s.cfg.Draining:
		return nil, newProblem(http.StatusServiceUnavailable, "not_ready", "The server is stopping.").retryAfter(5)
	default:
	}

	if s.auditBroken.Load() {
		return nil, newProblem(http.StatusServiceUnavailable, "not_ready", "The audit log cannot be written.").retryAfter(5)
	}

	if s.cfg.Ready != nil {
		readyCtx, cancel := context.WithTimeout(ctx, readyWithin)
		defer cancel()

		if err := s.cfg.Ready(readyCtx); err != nil {
			s.cfg.Log.WarnContext(ctx, "not ready", "error", err)
			return nil, newProblem(http.StatusServiceUnavailable, "not_ready", "The data store does not answer.").retryAfter(5)
		}
	}

	return s.health(ctx, c, in)
}
