package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ratchet/api/auth"
)

// enter is what stands before the handler of a route: who is it, may they, how often,
// and is the request's text strict.
func (s *service) enter(to route) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hc)
		c := callOf(r.Context())
		started := s.cfg.Now()
		if to.changes {
			defer func() { s.audited(r, w, to, c, started) }()
		}

		ctx, p := r.Context(), (*problem)(nil)
		if !to.streams {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.cfg.Timeout)
			defer cancel()
		}

		for _, check := range []func(context.Context, http.ResponseWriter, *http.Request, route, *call) *problem{s.identify, permit, strict} {
			if p = check(ctx, w, r, to, c); p != nil {
				c.code = p.Code
				p.write(w)
				return
			}
		}
		next(huma.WithContext(hc, ctx))
	}
}

// identify finds out who calls and takes a token of theirs.
func (s *service) identify(ctx context.Context, _ http.ResponseWriter, r *http.Request, to route, c *call) *problem {
	switch {
	case to.open:
		c.caller.ID = "address:" + address(r)
		return s.rates.take("address:" + address(r))
	case s.cfg.Dev:
		c.caller = auth.Principal{ID: "dev", Tenant: auth.DefaultTenant, Scope: auth.Admin}
	default:
		p, problem := s.authenticate(ctx, r)
		if problem != nil {
			return problem
		}
		c.caller = p
	}

	return s.rates.take(c.caller.ID)
}

func (s *service) authenticate(ctx context.Context, r *http.Request) (auth.Principal, *problem) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := len(r.Header.Values("Authorization")) == 1 && strings.EqualFold(scheme, "Bearer")
	known := given && s.known.has(token)
	if !known { // to look it up costs a read, or a question to the issuer
		if p := s.failures.spent(address(r)); p != nil {
			return auth.Principal{}, p
		}
	}

	if given {
		p, err := s.cfg.Auth.Authenticate(ctx, token)
		switch {
		case err == nil:
			s.known.add(token)
			return p, nil
		case !errors.Is(err, auth.ErrRefused):
			s.cfg.Log.WarnContext(ctx, "credentials cannot be checked", "request", callOf(ctx).id, "error", err)
			return p, newProblem(http.StatusServiceUnavailable, "unavailable", "Credentials cannot be checked now.").later(1)
		}
	}
	s.known.drop(token)
	s.failures.owe(address(r))

	return auth.Principal{}, newProblem(http.StatusUnauthorized, "unauthenticated", "This request needs a valid credential: Authorization: Bearer ...").
		with("WWW-Authenticate", `Bearer realm="ratchet"`)
}

func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}

	return host
}

func permit(_ context.Context, _ http.ResponseWriter, _ *http.Request, to route, c *call) *problem {
	if to.open || c.caller.May(to.scope) {
		return nil
	}
	return newProblem(http.StatusForbidden, "forbidden", "This needs a credential with scope "+string(to.scope)+".")
}

// strict refuses parameters and bodies that could be read in two ways, and puts the
// body that was read back in place.
func strict(_ context.Context, w http.ResponseWriter, r *http.Request, to route, c *call) *problem {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return newProblem(http.StatusBadRequest, "malformed_request", "The query cannot be read.")
	}

	p := newProblem(http.StatusUnprocessableEntity, "invalid_request", "A parameter breaks a rule.")
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			p = p.field("query", name, "once, with a value, or not at all")
		}
	}

	for _, name := range []string{idempotencyKey, ifMatch, "Content-Type", "Last-Event-Id"} {
		values := r.Header.Values(name)
		switch empty := len(values) == 1 && values[0] == ""; {
		case empty && name == idempotencyKey && to.changes:
			return newProblem(http.StatusBadRequest, "idempotency_key_missing", "The Idempotency-Key header has no value.")
		case empty && name != idempotencyKey, len(values) > 1:
			p = p.field("header", name, "once, with a value, or not at all")
		}
	}

	if len(p.Fields) > 0 {
		return p
	}
	r.Header.Del("Accept") // there is one representation, whatever is asked for

	if !to.body && !to.raw {
		return nil
	}

	for _, coding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(coding, "identity") {
			return newProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "The body must not be compressed.").with("Accept-Encoding", "identity")
		}
	}

	body, p := readBody(w, r)
	if to.raw {
		c.header, c.raw = r.Header, body
		return p
	}

	if p == nil && len(body) > 0 {
		if p = checkType(r); p == nil {
			p = checkJSON(body, to.free)
		}
	}

	if p != nil {
		return p
	}
	// The body is here: the time in which it had to arrive must not end the request.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))

	return nil
}
