package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/api/internal/input"
	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/workflow"
)

// endpointRoutes are the routes of endpoints. All need the scope admin, even for reading: an endpoint
// shows where messages go.
func (s *service) endpointRoutes(h huma.API) {
	verb := func(id, method, path, summary, description string) route {
		return adminVerb("notifications", id, method, "/v1/endpoints/{endpoint}"+path, summary, description, "endpoint").mayConflict()
	}

	register(s, h, route{
		id:          "list-endpoints",
		method:      http.MethodGet,
		path:        "/v1/endpoints",
		tag:         "notifications",
		scope:       auth.Admin,
		status:      http.StatusOK,
		summary:     "List the endpoints that get notifications",
		description: "There are at most 1,000. Secrets and the values of headers are never shown.",
	}, s.listEndpoints)

	register(s, h, route{
		id:      "get-endpoint",
		method:  http.MethodGet,
		path:    "/v1/endpoints/{endpoint}",
		tag:     "notifications",
		scope:   auth.Admin,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Read an endpoint",
	}, s.getEndpoint)

	create := verb("create-endpoint", http.MethodPut, "", "Create an endpoint",
		"The answer has the new secret that signs webhooks; no other answer shows it. With an Idempotency-Key the answer is stored for 48 hours, with the secret.").withBody()
	// Not 404: an endpoint to create does not exist yet.
	create.status, create.errors = http.StatusCreated, []int{http.StatusConflict}
	// What is sent to an endpoint has the customer and the cause of a change, and may have more.
	register(s, h, create.withGrant(), s.createEndpoint)
	register(s, h, verb("change-endpoint", http.MethodPost, "/settings", "Replace the settings of an endpoint",
		"The headers stay as they are if the request has none.").withBody().withGrant(), s.changeEndpoint)
	register(s, h, verb("remove-endpoint", http.MethodDelete, "", "Remove an endpoint", "What is under way to it is not sent."), s.removeEndpoint)
	register(s, h, verb("enable-endpoint", http.MethodPost, "/enable", "Let an endpoint get notifications again",
		"What it missed is sent by a job of the kind deliveries-resend."), s.enableEndpoint)
	register(s, h, verb("disable-endpoint", http.MethodPost, "/disable", "Keep notifications from an endpoint",
		"They are recorded as MISSED."), s.disableEndpoint)
	register(s, h, verb("rotate-endpoint-secret", http.MethodPost, "/rotate-secret", "Sign with a new secret, and for a while with the old one, too",
		"The answer has the new secret; no other answer shows it.").withBody(), s.rotateEndpointSecret)
	register(s, h, verb("test-endpoint", http.MethodPost, "/test", "Send a test message",
		"A message of type ratchet.test is sent once. The answer says how the endpoint answered."), s.testEndpoint)
}

// endpointFilter is the filter of an endpoint. The tenant is the caller's.
type endpointFilter struct {
	States     []string          `json:"states,omitempty" maxItems:"64"`
	Events     []string          `json:"events,omitempty" maxItems:"64"`
	Attributes map[string]string `json:"attributes,omitempty" personal:"text" doc:"currency, customer, placedBy"`
}

// endpointSettings are the settings of an endpoint in a request.
type endpointSettings struct {
	Destination string            `json:"destination" minLength:"1" maxLength:"2048" example:"https://example.com/hook"`
	Description string            `json:"description,omitempty" maxLength:"256"`
	Filter      *endpointFilter   `json:"filter,omitempty"`
	Format      string            `json:"format,omitempty" enum:"standard,cloudevents"`
	Version     int64             `json:"version,omitempty" minimum:"1" maximum:"2"`
	Ordered     bool              `json:"ordered,omitempty"`
	Rate        float64           `json:"rate,omitempty" minimum:"0" maximum:"10000"`
	Concurrency int64             `json:"concurrency,omitempty" minimum:"1" maximum:"64"`
	Subject     string            `json:"subject,omitempty" maxLength:"8192"`
	Text        string            `json:"text,omitempty" maxLength:"8192"`
	Headers     map[string]string `json:"headers,omitempty" doc:"Further headers of webhooks. Their values are not shown again."`
}

func (in endpointSettings) settings(t tenant) notify.Settings {
	s := notify.Settings{
		Destination: in.Destination,
		Description: in.Description,
		Format:      notify.Format(in.Format),
		Version:     int(in.Version),
		Ordered:     in.Ordered,
		Rate:        in.Rate,
		Concurrency: int(in.Concurrency),
		Subject:     in.Subject,
		Text:        in.Text,
		Headers:     in.Headers,
	}

	if in.Filter != nil {
		s.Filter.Attributes = in.Filter.Attributes
		for _, state := range in.Filter.States {
			s.Filter.States = append(s.Filter.States, workflow.State(state))
		}

		for _, event := range in.Filter.Events {
			s.Filter.Events = append(s.Filter.Events, workflow.Event(event))
		}
	}
	// The caller's tenant, whatever the request's filter is.
	s.Filter.Tenant = t.owner()

	return s
}

// endpoint is an endpoint as answers show it.
type endpoint struct {
	ID           string         `json:"id"`
	Destination  string         `json:"destination" personal:"destination"`
	Description  string         `json:"description,omitempty" personal:"text"`
	Filter       endpointFilter `json:"filter"`
	Format       string         `json:"format" enum:"standard,cloudevents"`
	Version      int            `json:"version"`
	Ordered      bool           `json:"ordered"`
	Rate         float64        `json:"rate,omitempty"`
	Concurrency  int            `json:"concurrency"`
	Subject      string         `json:"subject,omitempty" personal:"text"`
	Text         string         `json:"text,omitempty" personal:"text"`
	Headers      []string       `json:"headers,omitempty" personal:"text" doc:"The names of the headers."`
	Status       string         `json:"status" enum:"ACTIVE,DISABLED,UNREADABLE"`
	Reason       string         `json:"reason,omitempty" personal:"text" doc:"Why it is disabled."`
	DisabledAt   *time.Time     `json:"disabledAt,omitempty"`
	FailingSince *time.Time     `json:"failingSince,omitempty" doc:"The first failure after the last success."`
	Secret       string         `json:"secret,omitempty" doc:"Only in the answer to the request that made it."`
}

func (t tenant) showEndpoint(e notify.Endpoint) endpoint {
	out := endpoint{
		ID:          t.publicID(e.ID),
		Destination: e.Destination,
		Description: e.Description,
		Filter: endpointFilter{
			States:     toStrings(e.Filter.States),
			Events:     toStrings(e.Filter.Events),
			Attributes: e.Filter.Attributes,
		},
		Format:       string(e.Format),
		Version:      e.Version,
		Ordered:      e.Ordered,
		Rate:         e.Rate,
		Concurrency:  e.Concurrency,
		Subject:      e.Subject,
		Text:         e.Text,
		Status:       string(e.Status),
		Reason:       e.Reason,
		DisabledAt:   optionalTime(e.DisabledAt),
		FailingSince: optionalTime(e.FailingSince),
	}
	// The values may be credentials.
	for name := range e.Headers {
		out.Headers = append(out.Headers, name)
	}
	slices.Sort(out.Headers)

	return out
}

// owned returns an endpoint of the caller's tenant. The default tenant also sees the endpoints that
// the command line has made for several tenants.
func (s *service) owned(ctx context.Context, c caller, id string) (notify.Endpoint, error) {
	e, err := s.cfg.Endpoints.Get(ctx, c.tenant.storedID(id))
	if err != nil {
		return e, err
	}

	if _, own := c.tenant.ownID(e.ID); !own {
		return e, notFound("endpoint")
	}

	return e, nil
}

type listEndpointsOutput struct {
	Body struct {
		Endpoints []endpoint `json:"endpoints"`
	}
}

func (s *service) listEndpoints(ctx context.Context, c caller, _ *struct{}) (*listEndpointsOutput, error) {
	all, err := s.cfg.Endpoints.List(ctx)
	if err != nil {
		return nil, err
	}

	out := &listEndpointsOutput{}
	out.Body.Endpoints = []endpoint{}

	for _, e := range all {
		if _, own := c.tenant.ownID(e.ID); own {
			out.Body.Endpoints = append(out.Body.Endpoints, c.tenant.showEndpoint(e))
		}
	}

	return out, nil
}

type endpointOutput struct {
	input.Repeat
	Body endpoint
}

func (s *service) getEndpoint(ctx context.Context, c caller, in *input.Endpoint) (*endpointOutput, error) {
	e, err := s.owned(ctx, c, in.EndpointID)

	return shownEndpoint(c, e, err)
}

// shownEndpoint answers with an endpoint, or with err.
func shownEndpoint(c caller, e notify.Endpoint, err error) (*endpointOutput, error) {
	if err != nil {
		return nil, err
	}

	return &endpointOutput{Body: c.tenant.showEndpoint(e)}, nil
}

// shownWithSecret is shownEndpoint, with the newest secret of the endpoint.
func shownWithSecret(c caller, e notify.Endpoint, err error) (*endpointOutput, error) {
	out, err := shownEndpoint(c, e, err)
	if err == nil && len(e.Secrets) > 0 {
		out.Body.Secret = e.Secrets[0].Key.Reveal()
	}

	return out, err
}

type endpointSettingsInput struct {
	input.Endpoint
	input.MayBeKeyed
	Body endpointSettings
}

func (s *service) createEndpoint(ctx context.Context, c caller, in *endpointSettingsInput) (*endpointOutput, error) {
	e, err := s.cfg.Endpoints.Create(ctx, c.tenant.storedID(in.EndpointID), in.Body.settings(c.tenant), nil)

	return shownWithSecret(c, e, err)
}

// parseSecret reads a secret, nil if there is none.
func parseSecret(text string) (webhooks.Secret, error) {
	if text == "" {
		return nil, nil
	}

	key, err := webhooks.ParseSecret(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", notify.ErrInvalid, err)
	}

	return key, nil
}

func (s *service) changeEndpoint(ctx context.Context, c caller, in *endpointSettingsInput) (*endpointOutput, error) {
	e, err := s.cfg.Endpoints.Change(ctx, c.tenant.storedID(in.EndpointID), func(old *notify.Settings) error {
		next := in.Body.settings(c.tenant)
		// Their values may be secrets of the old destination, and no one may read them by changing it.
		if next.Headers == nil && next.Destination == old.Destination {
			next.Headers = old.Headers
		}
		*old = next

		return nil
	})

	return shownEndpoint(c, e, err)
}

type operateEndpointInput struct {
	input.Endpoint
	input.MayBeKeyed
}

type removedOutput struct {
	input.Repeat
	Body struct {
		Status string `json:"status" enum:"removed"`
	}
}

func (s *service) removeEndpoint(ctx context.Context, c caller, in *operateEndpointInput) (*removedOutput, error) {
	if err := s.cfg.Endpoints.Remove(ctx, c.tenant.storedID(in.EndpointID)); err != nil {
		return nil, err
	}
	out := &removedOutput{}
	out.Body.Status = "removed"

	return out, nil
}

func (s *service) enableEndpoint(ctx context.Context, c caller, in *operateEndpointInput) (*endpointOutput, error) {
	e, err := s.cfg.Endpoints.Enable(ctx, c.tenant.storedID(in.EndpointID))

	return shownEndpoint(c, e, err)
}

func (s *service) disableEndpoint(ctx context.Context, c caller, in *operateEndpointInput) (*endpointOutput, error) {
	e, err := s.cfg.Endpoints.Disable(ctx, c.tenant.storedID(in.EndpointID), "disabled through the API")

	return shownEndpoint(c, e, err)
}

type rotateSecretInput struct {
	input.Endpoint
	input.MayBeKeyed
	Body struct {
		Secret        string `json:"secret,omitempty" minLength:"24" maxLength:"94" doc:"24 to 64 bytes, or whsec_ and the base64 of as many. Default: a new one."`
		WindowSeconds int64  `json:"windowSeconds,omitempty" minimum:"0" maximum:"2592000" default:"86400" doc:"How long the old secret signs, too."`
	}
}

func (s *service) rotateEndpointSecret(ctx context.Context, c caller, in *rotateSecretInput) (*endpointOutput, error) {
	key, err := parseSecret(in.Body.Secret)
	if err != nil {
		return nil, err
	}

	e, err := s.cfg.Endpoints.RotateSecret(ctx, c.tenant.storedID(in.EndpointID), key, time.Duration(in.Body.WindowSeconds)*time.Second)

	return shownWithSecret(c, e, err)
}

type testEndpointOutput struct {
	input.Repeat
	Body struct {
		Delivered bool   `json:"delivered"`
		Answer    int    `json:"answer,omitempty" doc:"The status that the endpoint answered with."`
		Response  string `json:"response,omitempty" personal:"text" doc:"How its answer begins."`
		Error     string `json:"error,omitempty" personal:"text"`
	}
}

func (s *service) testEndpoint(ctx context.Context, c caller, in *operateEndpointInput) (*testEndpointOutput, error) {
	e, err := s.owned(ctx, c, in.EndpointID)
	if err != nil {
		return nil, err
	}

	out := &testEndpointOutput{}
	// A failed delivery is the result of the test, and no error of the request.
	answer, err := s.cfg.Deliveries.Test(ctx, e.ID)
	out.Body.Delivered, out.Body.Answer, out.Body.Response = err == nil, answer.Status, answer.Text

	if err != nil {
		out.Body.Error = err.Error()
	}

	return out, nil
}
