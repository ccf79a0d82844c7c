package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ratchet/api/auth"
)

// service is the handler that New returns.
type service struct {
	cfg      Config
	mux      *http.ServeMux
	doc      []byte
	origins  *http.CrossOriginProtection
	gate     *gate
	rates    *buckets // of callers
	failures *buckets // of addresses that bring bad credentials
	known    *acquainted
	cursors  sealer
	watches  *watches

	auditBroken atomic.Bool
}

// New checks cfg and returns the handler that serves it.
func New(cfg Config) (http.Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}

	return assemble(cfg)
}

// OpenAPI returns the OpenAPI 3.1 document of an authenticated server, as JSON.
func OpenAPI() ([]byte, error) {
	s, err := assemble(Config{Secret: make([]byte, 32)}.withDefaults())
	if err != nil {
		return nil, err
	}

	return s.doc, nil
}

// Server returns an HTTP server with the bounds that the API asks for.
func Server(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
}

func assemble(cfg Config) (*service, error) {
	strictHuma()

	s := &service{cfg: cfg, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(), gate: newGate(cfg.InFlight, cfg.Queue),
		rates: newBuckets(cfg.Rate, cfg.Burst, cfg.Now), failures: newBuckets(min(cfg.Rate, 1), 20, cfg.Now), known: newAcquainted()}
	var err error
	if s.cursors, err = newSealer(cfg.Secret); err != nil {
		return nil, err
	}
	s.watches = newWatches(cfg)
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{OpenAPI: "3.1.0", Info: &huma.Info{Title: "Ratchet", Version: "1", Description: about},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer), SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer", Description: "An API key (`ratchet keys create`), or a token of the configured issuer."}}}},
		Formats:       map[string]huma.Format{"application/json": format, "json": format}, // json: also problem+json
		DefaultFormat: "application/json", RejectUnknownQueryParameters: true,
	}
	h := humago.New(s.mux, config)
	s.routes(h)
	s.mux.HandleFunc("/", s.unmatched)
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(s.doc) // the client's trouble
	})
	s.doc, err = json.MarshalIndent(h.OpenAPI(), "", "  ")

	return s, err
}

const about = "Orders that only move forward, and the once-only primitives around them. Every answer that is no success is problem+json with a stable `code`."

// strictHuma changes the defaults of huma that are global: names are compared as they are
// written, lists are never null, and errors are problems.
var strictHuma = sync.OnceFunc(func() {
	huma.ValidateStrictCasing, huma.DefaultArrayNullable = true, false
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return humaProblem(status, message, errs...)
	}
	huma.NewErrorWithContext = func(hc huma.Context, status int, message string, errs ...error) huma.StatusError {
		p := humaProblem(status, message, errs...)
		callOf(hc.Context()).code = p.Code
		return p
	}
})

// route is one operation: what the document says of it, and who may call it.
type route struct {
	id, method, path, summary, about string
	tag                              string
	scope                            auth.Scope
	// open: without a credential.
	open bool
	// changes: it leaves a line in the audit log. body: it takes one.
	changes, body bool
	// raw: the body is left to the handler, which checks a signature over its bytes.
	raw bool
	// free is the pointer of the body's member that may be any JSON.
	free string
	// streams: it is not bounded by Config.Timeout.
	streams bool
	// target names the path's parameters that the audit log shows.
	target []string
	// status of success, also others with the same body, errors beyond those that any
	// operation may end in.
	status int
	also   []int
	errors []int
	links  map[string]*huma.Link
}

// caller is who calls, as the handlers see it.
type caller struct {
	auth.Principal
	tenant tenant
}

// register adds an operation. The handler gets the caller, whose tenant it needs to
// make any stored id.
func register[I, O any](s *service, h huma.API, r route, handle func(context.Context, caller, *I) (*O, error)) {
	errors := append([]int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusUnprocessableEntity,
		http.StatusBadRequest, http.StatusForbidden, http.StatusMisdirectedRequest}, r.errors...)
	op := huma.Operation{OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Description: r.about, Tags: []string{r.tag},
		DefaultStatus: r.status, BodyReadTimeout: -1, MaxBodyBytes: maxBody + 1}
	if !r.open && !s.cfg.Dev {
		errors = append(errors, http.StatusUnauthorized)
		op.Security = []map[string][]string{{"bearer": {string(r.scope)}}}
	}

	if r.body {
		errors = append(errors, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	op.Errors = errors
	op.Middlewares = huma.Middlewares{s.enter(r)}
	var members map[string]bool
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		c := callOf(ctx)
		out, err := handle(ctx, caller{c.caller, tenant(c.caller.Tenant)}, in)
		if err != nil {
			p := s.asProblem(ctx, err, members)
			c.code = p.Code
			return nil, p
		}

		return out, nil
	})
	members = membersOf(h.OpenAPI(), operationOf(h.OpenAPI().Paths[r.path], r.method))
	s.describe(h.OpenAPI().Paths[r.path], r)
}

func operationOf(item *huma.PathItem, method string) *huma.Operation {
	return map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete}[method]
}

// describe completes what huma cannot know of an operation.
func (s *service) describe(item *huma.PathItem, r route) {
	op := operationOf(item, r.method)
	success := op.Responses[strconv.Itoa(op.DefaultStatus)]
	success.Links = r.links
	for _, status := range r.also {
		also := *success
		also.Description = http.StatusText(status)
		op.Responses[strconv.Itoa(status)] = &also
	}

	for _, response := range op.Responses {
		if response.Headers == nil {
			response.Headers = map[string]*huma.Param{}
		}
		response.Headers["X-Request-Id"] = &huma.Param{Description: "Names this request in our logs.", Schema: &huma.Schema{Type: "string"}}
	}

	for status, header := range map[string]string{"429": "Retry-After", "503": "Retry-After", "401": "WWW-Authenticate", "415": "Accept"} {
		if response := op.Responses[status]; response != nil {
			response.Headers[header] = &huma.Param{Schema: &huma.Schema{Type: "string"}}
		}
	}

	if op.RequestBody != nil {
		op.RequestBody.Required = true
	}
}
