package api

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/time/rate"

	"ratchet/embedded/door"
	"ratchet/internal/worker"
	"ratchet/once"
)

// requestTimeout bounds the work on one request, except for event streams.
const requestTimeout = 20 * time.Second

// service is the handler that New returns.
type service struct {
	cfg         Config
	surface     *surface
	operations  map[string]operation // by their ids
	door        *door.Door
	store       *storeCheck
	admission   admission
	callers     *rateLimiter // by principal
	tenants     *rateLimiter // by tenant
	failures    *rateLimiter // of invalid credentials, by address
	credentials *credentialCache
	cursors     sealer
	answers     answerStore
	// claims and answerClaims are made with the first request that needs them: the document needs none.
	claims, answerClaims func() (*once.Claims, error)
	watches              *watchRegistry
	workflow             func() (workflowShown, error)
	executionCalls       *rate.Limiter

	auditBroken atomic.Bool

	// What callers without a credential cause again and again is logged once a minute.
	unchecked, unready worker.LogThrottle
}

// New checks cfg and returns the handler that serves the API.
func New(cfg Config) (http.Handler, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}

	return newService(cfg)
}

// OpenAPI returns the OpenAPI 3.1 document of an authenticated server, as JSON.
func OpenAPI() ([]byte, error) {
	// The document contains nothing of the secret.
	s, err := newService(Config{Secret: make([]byte, secretBytes)}.withDefaults())
	if err != nil {
		return nil, err
	}

	return s.surface.document()
}

// Server returns an HTTP server with the time and size limits that the API relies on.
func Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

func newService(cfg Config) (*service, error) {
	configureHuma()

	cursors, err := newSealer(cfg.Secret)
	if err != nil {
		return nil, err
	}

	// failures has a low limit of its own: a high Rate is for callers, not for guesses.
	s := &service{
		cfg:         cfg,
		operations:  map[string]operation{},
		door:        door.New(door.Config{AllowedHosts: cfg.AllowedHosts, Probes: []string{healthPath, readyPath}}),
		admission:   newAdmission(cfg),
		callers:     newRateLimiter(cfg.Rate, burstOf(cfg.Rate)),
		tenants:     newTenantLimiter(cfg.TenantRate, cfg.TenantRates),
		failures:    newRateLimiter(min(cfg.Rate, 1), 20),
		credentials: newCredentialCache(),
		cursors:     cursors,
		answers:     newAnswerStore(cfg),
		watches:     newWatchRegistry(cfg),

		executionCalls: newExecutionCalls(),
		store:          &storeCheck{ask: cfg.Ready},

		claims:       sync.OnceValues(func() (*once.Claims, error) { return newClaims(cfg) }),
		answerClaims: sync.OnceValues(func() (*once.Claims, error) { return newAnswerClaims(cfg) }),
	}

	s.workflow = sync.OnceValues(s.showWorkflow)

	s.surface = surfaceOf(s)
	s.routes(nil)

	return s, nil
}

func (s *service) serveDocument(w http.ResponseWriter, _ *http.Request) {
	document, err := s.surface.document()
	if err != nil {
		http.Error(w, "the document cannot be written", http.StatusInternalServerError)
		return
	}

	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(document) // fails only if the client is gone
}

const description = "An order state machine that only moves forward, and once-only primitives. Every error is problem+json with a stable `code`. " +
	"A request that changes something is identified by the ids in its path, or by its Idempotency-Key. Its repeat gets status and body of the first answer, with Idempotent-Replayed: true, " +
	"and other content is a conflict (409). A refusal (4xx) records nothing."

func humaConfig() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "Ratchet", Version: "1", Description: description},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {
						Type:        "http",
						Scheme:      "bearer",
						Description: "An API key (`ratchet keys create`), or a token of the configured issuer.",
					},
				},
			},
		},
		// The format "json" also serves problem+json.
		Formats:                      map[string]huma.Format{"application/json": strictJSON, "json": strictJSON},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	}
}

// configureHuma changes the settings of huma that are global: member names are compared
// exactly, lists are never null, and errors are problems.
var configureHuma = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return humaProblem(status, message, errs...)
	}
	huma.NewErrorWithContext = func(hc huma.Context, status int, message string, errs ...error) huma.StatusError {
		p := humaProblem(status, message, errs...)
		callOf(hc.Context()).code = p.Code

		return p
	}
})
