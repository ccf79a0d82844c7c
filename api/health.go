package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Where the questions whether it lives and whether it can serve come in.
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
		open:    true,
		status:  http.StatusOK,
		summary: "Say that the process lives",
	}, s.health)
	register(s, h, route{
		id:      "ready",
		method:  http.MethodGet,
		path:    readyPath,
		tag:     "service",
		open:    true,
		status:  http.StatusOK,
		summary: "Say that requests can be served",
		about:   "503 while the data store does not answer, or the audit log cannot be written.",
	}, s.ready)
}

func (s *service) health(context.Context, caller, *struct{}) (*healthOutput, error) {
	out := &healthOutput{}
	out.Body.Status = "ok"
	return out, nil
}

// readyWithin bounds the question, so that a probe is answered.
const readyWithin = 2 * time.Second

func (s *service) ready(ctx context.Context, c caller, in *struct{}) (*healthOutput, error) {
	select {
	case <-s.cfg.Draining:
		return nil, newProblem(http.StatusServiceUnavailable, "not_ready", "The server is stopping.").later(5)
	default:
	}

	if s.auditBroken.Load() {
		return nil, newProblem(http.StatusServiceUnavailable, "not_ready", "The audit log cannot be written.").later(5)
	}

	if s.cfg.Ready != nil {
		ctx, cancel := context.WithTimeout(ctx, readyWithin)
		defer cancel()

		if err := s.cfg.Ready(ctx); err != nil {
			s.cfg.Log.WarnContext(ctx, "not ready", "error", err)
			return nil, newProblem(http.StatusServiceUnavailable, "not_ready", "The data store does not answer.").later(5)
		}
	}

	return s.health(ctx, c, in)
}
