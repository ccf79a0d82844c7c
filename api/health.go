package api

import (
	"context"
	"net/http"
	"sync"
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
		probe:   true,
		status:  http.StatusOK,
		summary: "Liveness probe",
	}, s.health)
	register(s, h, route{
		id:          "ready",
		method:      http.MethodGet,
		path:        readyPath,
		tag:         "service",
		public:      true,
		probe:       true,
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

// storeCheck asks the data store whether it answers. The readiness probe has no limit, so it asks once per readyFor, for
// all probes of that time.
type storeCheck struct {
	ask func(context.Context) error // nil: it always answers

	mu  sync.Mutex
	at  time.Time
	err error
}

// readyFor is how long an answer of the data store counts.
const readyFor = time.Second

// ready returns nil if the data store answers.
func (c *storeCheck) ready(ctx context.Context) error {
	if c.ask == nil {
		return nil
	}

	// Probes that arrive meanwhile wait for this one's answer.
	c.mu.Lock()
	defer c.mu.Unlock()

	if now := time.Now(); c.at.IsZero() || now.Sub(c.at) >= readyFor {
		// The answer is for other probes, too: the end of this one must not spoil it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
		defer cancel()

		c.err = c.ask(ctx)
		c.at = time.Now()
	}

	return c.err
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

	if err := s.store.ready(ctx); err != nil {
		if s.unready.Allow() {
			s.cfg.Log.WarnContext(ctx, "not ready", "error", err)
		}

		return nil, newProblem(http.StatusServiceUnavailable, "not_ready", "The data store does not answer.").retryAfter(5)
	}

	return s.health(ctx, c, in)
}
