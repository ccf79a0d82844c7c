package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/internal/input"
)

func (s *service) handlerRoutes(h huma.API) {
	verb := func(id, path, summary, description string) route {
		return adminVerb("stream", id, http.MethodPost, "/v1/stream/handlers/{handler}/"+path, summary,
			description+" Handlers belong to all tenants, so only administrators of the default tenant may do this.", "handler")
	}

	register(s, h, verb("pause-handler", "pause", "Stop the calls of a handler of the orders' stream; its changes wait",
		"The workers learn of it within 5 seconds; calls that run then end as usual. Changes wait in the handler's retry queue, also for longer than the 24 hours of a stream."), s.pauseHandler)
	register(s, h, verb("resume-handler", "resume", "Let a paused handler go on with what waits",
		"The workers deliver the oldest change of each order first; they begin within 5 seconds."), s.resumeHandler)
}

type handlerInput struct {
	input.MayBeKeyed
	Handler string `path:"handler" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"notify"`
}

type handlerOutput struct {
	input.Repeat
	Body struct {
		Handler string `json:"handler"`
		Status  string `json:"status" enum:"paused,resumed"`
	}
}

func (s *service) pauseHandler(ctx context.Context, c caller, in *handlerInput) (*handlerOutput, error) {
	return s.switchHandler(ctx, c, in.Handler, "paused", s.cfg.RetryQueue.Pause)
}

func (s *service) resumeHandler(ctx context.Context, c caller, in *handlerInput) (*handlerOutput, error) {
	return s.switchHandler(ctx, c, in.Handler, "resumed", s.cfg.RetryQueue.Resume)
}

func (s *service) switchHandler(ctx context.Context, c caller, name, done string, act func(context.Context, string) error) (*handlerOutput, error) {
	if _, err := s.handler(name); err != nil {
		return nil, err
	}

	if c.tenant.owner() != "" {
		return nil, newProblem(http.StatusForbidden, "forbidden", "Only administrators of the default tenant may pause and resume handlers.")
	}

	if err := act(ctx, name); err != nil {
		return nil, err
	}

	out := &handlerOutput{}
	out.Body.Handler, out.Body.Status = name, done

	return out, nil
}
