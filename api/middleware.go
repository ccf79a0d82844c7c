package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ratchet/api/auth"
	"ratchet/notify/webhooks"
)

// middleware returns the steps before the handler of a route: authentication, rate limit,
// authorization, and the strict reading of the request. It writes the audit line of a
// route that changes something.
func (s *service) middleware(to route) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hc)
		c := callOf(r.Context())
		started := time.Now()

		// Deferred first, so that it runs last and sees the final status.
		if to.mutates {
			defer func() { s.writeAudit(r, w, to, c, started) }()
		}

		ctx := r.Context()
		if !to.streams {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, requestTimeout)
			defer cancel()
		}

		if p := s.check(ctx, w, r, to, c); p != nil {
			c.code = p.Code
			p.write(w)

			return
		}

		// The request takes a slot only now: it is complete, and its caller is known.
		release, p := s.admission.admit(ctx, to, c)
		if p != nil {
			c.code = p.Code
			p.write(w)

			return
		}
		defer release()

		c.release = release

		end, p := s.beginAct(ctx, r, w, to, c)
		if p != nil {
			c.code = p.Code
			p.write(w)

			return
		}
		defer end()

		next(huma.WithContext(hc, ctx))
	}
}

// check returns the problem of a request that must not reach its handler, nil for others.
func (s *service) check(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, c *call) *problem {
	if p := s.identify(ctx, r, to, c); p != nil {
		return p
	}

	if p := authorize(to, c.caller); p != nil {
		return p
	}

	// Parameters are checked before the body is read: a request that fails here should not take
	// that time.
	if p := checkParameters(r, to); p != nil {
		return p
	}

	if to.isAct(c) {
		if p := takeReason(r, c); p != nil {
			return p
		}
	}

	if to.keyed {
		if p := takeKey(r, c); p != nil {
			return p
		}
	}

	if to.mutates {
		// The ids identify the repeats of the request (see identity).
		c.path = to.pathValues(r)
	}

	r.Header.Del("Accept") // there is only one representation

	switch {
	case to.rawBody:
		return s.takeRawBody(ctx, w, r, to, c)
	case to.body:
		return s.takeBody(ctx, w, r, to, c)
	}

	return nil
}

// identify sets the caller of the request and charges the caller's rate limit, and then the tenant's.
func (s *service) identify(ctx context.Context, r *http.Request, to route, c *call) *problem {
	by, inside := identityOf(ctx)

	switch {
	case inside:
		c.caller, c.by = by.Principal, &by
		if p := s.admitIdentity(ctx, by); p != nil {
			return p
		}
	case to.public:
		c.caller.ID = "address:" + network(r)
	case s.cfg.Dev:
		c.caller = auth.Dev
	default:
		principal, p := s.authenticate(ctx, r)
		if p != nil {
			return p
		}
		c.caller = principal
	}

	// A balancer that gets no answer from a probe takes this process out, even if others have used up the limit.
	if to.probe {
		return nil
	}

	if p := s.callers.allow(c.caller.ID); p != nil || to.public {
		return p
	}

	return s.tenants.allow(string(c.caller.Tenant))
}

func (s *service) authenticate(ctx context.Context, r *http.Request) (auth.Principal, *problem) {
	token, given := bearerToken(r)

	// Checking a token costs a read or a call to the issuer, so an address that sent many
	// invalid ones has to wait. A token that was valid before is exempt: its owner may
	// share the address with the attacker, behind a proxy.
	known := given && s.credentials.has(token)
	if !known {
		if p := s.failures.exhausted(network(r)); p != nil {
			return auth.Principal{}, p
		}

		release, p := s.admission.checks.acquire(ctx, party{caller: network(r)})
		if p != nil {
			return auth.Principal{}, p
		}
		defer release()
	}

	if given {
		principal, err := s.cfg.Auth.Authenticate(ctx, token)
		if err == nil {
			if !known {
				s.credentials.add(token)
			}
			callOf(r.Context()).token = token

			return principal, nil
		}

		if !errors.Is(err, auth.ErrRefused) {
			if s.unchecked.Allow() {
				s.cfg.Log.WarnContext(ctx, "credentials cannot be checked", "request", callOf(ctx).id, "error", err)
			}

			return principal, newProblem(http.StatusServiceUnavailable, "unavailable", "Credentials cannot be checked now.").retryAfter(1)
		}
	}

	// A token that was valid before has ended, and must not stay exempt.
	s.credentials.remove(token)
	s.failures.charge(network(r))

	return auth.Principal{}, unauthenticated()
}

func unauthenticated() *problem {
	p := newProblem(http.StatusUnauthorized, "unauthenticated", "This request needs a valid credential: Authorization: Bearer ...")

	return p.withHeader("WWW-Authenticate", `Bearer realm="ratchet"`)
}

// bearerToken returns the token of the only Authorization header. It reports false if there is
// no such header or more than one, or if the scheme is not Bearer.
func bearerToken(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token, len(r.Header.Values("Authorization")) == 1 && strings.EqualFold(scheme, "Bearer")
}

func authorize(to route, principal auth.Principal) *problem {
	switch {
	case to.public:
		return nil
	case principal.May(to.scope):
		if to.personal && !principal.Personal {
			return needsGrant("", "")
		}

		return nil
	}

	return newProblem(http.StatusForbidden, "forbidden", "This request needs a credential with scope "+string(to.scope)+".")
}

// singleHeaders are headers that the API reads. A request must not repeat them.
var singleHeaders = []string{idempotencyKey, ReasonHeader, ifMatch, "Content-Type", "Last-Event-Id", "Prefer"}

// checkParameters refuses query parameters and headers that are empty or occur twice: two
// servers could read different values from them.
func checkParameters(r *http.Request, to route) *problem {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return newProblem(http.StatusBadRequest, "malformed_request", "The query cannot be parsed.").
			withField("query", "", "two hexadecimal digits after each %, and & between parameters")
	}

	const rule = "once, with a value, or not at all"
	p := newProblem(http.StatusUnprocessableEntity, "invalid_request", "A parameter breaks a rule.")

	for name, values := range query {
		switch {
		case len(values) != 1 || values[0] == "":
			p = p.withField("query", name, rule)
		case holdsMasked(values[0]):
			p = p.withField("query", name, maskedRule)
		}
	}

	for _, name := range singleHeaders {
		values := r.Header.Values(name)
		empty := len(values) == 1 && values[0] == ""

		switch {
		// An empty key is more likely a mistake of the client than the wish to send no key.
		case empty && name == idempotencyKey && to.mutates:
			return newProblem(http.StatusBadRequest, "idempotency_key_missing", "The Idempotency-Key header has no value.")
		// takeReason has the code for it.
		case empty && name == ReasonHeader:
		case empty && name != idempotencyKey, len(values) > 1:
			p = p.withField("header", name, rule)
		}
	}

	if len(p.Fields) == 0 {
		return nil
	}

	return p
}

// takeKey removes the quotes of the Idempotency-Key.
func takeKey(r *http.Request, c *call) *problem {
	given := r.Header.Get(idempotencyKey)
	if given == "" {
		return nil
	}

	key, ok := unquoteKey(given)
	broken := newProblem(http.StatusUnprocessableEntity, "invalid_request", "A parameter breaks a rule.")

	switch {
	case !ok || key == "":
		return broken.withField("header", idempotencyKey, "visible characters, alone or as one quoted string")
	case holdsMasked(key):
		return broken.withField("header", idempotencyKey, maskedRule)
	}

	c.key = key
	// The handlers and the schema see the key without quotes.
	r.Header.Set(idempotencyKey, key)

	return nil
}

// takeRawBody reads the body for a handler that checks a signature over its bytes.
func (s *service) takeRawBody(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, c *call) *problem {
	if p := checkEncoding(r); p != nil {
		return p
	}

	body, p := s.admission.readBody(ctx, w, r, to, c)
	c.header, c.raw = r.Header, body
	// The path of a callback has no ids. The id of the event identifies its repeats.
	c.path = append(c.path, r.Header.Get(webhooks.HeaderID))

	return p
}

// takeBody reads the body, checks that it is strict JSON, and puts it back into the request
// for huma.
func (s *service) takeBody(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, c *call) *problem {
	if p := checkEncoding(r); p != nil {
		return p
	}

	body, p := s.admission.readBody(ctx, w, r, to, c)
	if p != nil {
		return p
	}

	if len(body) > 0 {
		if p := checkContentType(r); p != nil {
			return p
		}

		if p := checkJSON(body, to.anyJSON); p != nil {
			return p
		}

		if p := refuseMasked(body); p != nil {
			return p
		}
	}

	r.Body = io.NopCloser(bytes.NewReader(body))

	return nil
}
