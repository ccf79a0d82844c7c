package idempotency

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"ratchet/once"
	"ratchet/once/keys"
)

// Header is the field of a request that contains the key. Replayed is the field that marks
// a replayed response.
const (
	Header   = "Idempotency-Key"
	Replayed = "Idempotent-Replayed"
)

// Decision says what becomes of a key after the handler's response.
type Decision int

const (
	// Keep stores the response for every retry.
	Keep Decision = iota
	// Release does not store the response. A retry runs the handler again, with a claim that is
	// TakenOver, because this run may have had an effect.
	Release
	// Unknown gives the key an unknown outcome, which a reconciler must resolve.
	Unknown
	// Free does not store the response either, and says that the handler had no effect.
	Free
)

// Config is the configuration of the middleware. Claims and Caller must be set.
type Config struct {
	Claims *once.Claims
	// Caller returns the authenticated sender of a request: the tenant or account to which
	// its key belongs. It is part of every key. An error is answered with 401.
	Caller func(*http.Request) (string, error)
	// Methods are the methods that need a key. Default POST and PATCH.
	Methods []string
	// Optional lets requests without a key pass. Default false.
	Optional bool
	// MaxRequest and MaxResponse bound the bodies, in bytes. Default 1 MiB each. MaxResponse
	// is at most 3 MiB. A larger request is answered with 413, a larger response with 500.
	MaxRequest, MaxResponse int
	// Headers lists the headers that are stored with a response. Default: Content-Type,
	// Content-Language, Location, ETag, Last-Modified, Link, Cache-Control.
	Headers []string
	// Decide says which responses are stored. Default: Release for 5xx, 408, 409, 425 and
	// 429, Keep for all others.
	Decide func(status int) Decision
	// Wait is how long a repeat of a request in progress waits for its response, at most 30 s. A caller may ask
	// for another time with the field Prefer: wait=SECONDS (RFC 7240), for 0 to be answered at once. How many
	// wait at the same time is bounded by [once.Config].Waiters. Default 3 s; negative: none waits.
	Wait time.Duration
	// Docs is the URL of a page about keys. It becomes the type of problems, with the code
	// as its fragment, and the target of a Link header. Default "about:blank" and no link.
	Docs string

	// now is the clock of Retry-After. Default time.Now.
	now func() time.Time
}

const maxResponse = 3 << 20

// The waits for the response of a request in progress.
const (
	defaultWait = 3 * time.Second
	maxWait     = 30 * time.Second
)

// neverStored are the headers that belong to one connection or one client. The empty name
// is a mistake.
var neverStored = []string{"Set-Cookie", "Connection", "Transfer-Encoding", "Content-Length", "Date", ""}

// withDefaults fills in the zero values and reports every fault of the configuration.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	require := func(holds bool, format string, args ...any) {
		if !holds {
			faults = append(faults, fmt.Errorf("idempotency: Config."+format, args...))
		}
	}

	require(c.Claims != nil, "Claims: must be set")
	require(c.Caller != nil, "Caller: must be set")
	require(c.MaxRequest >= 0, "MaxRequest %d: must not be negative", c.MaxRequest)
	require(c.MaxResponse >= 0 && c.MaxResponse <= maxResponse, "MaxResponse %d: 0 to %d", c.MaxResponse, maxResponse)

	require(c.Wait <= maxWait, "Wait %s: at most %s", c.Wait, maxWait)

	if c.Wait == 0 {
		c.Wait = defaultWait
	}

	if len(c.Methods) == 0 {
		c.Methods = []string{http.MethodPost, http.MethodPatch}
	}

	if c.MaxRequest == 0 {
		c.MaxRequest = 1 << 20
	}

	if c.MaxResponse == 0 {
		c.MaxResponse = 1 << 20
	}

	if c.Headers == nil {
		c.Headers = []string{"Content-Type", "Content-Language", "Location", "ETag", "Last-Modified", "Link", "Cache-Control"}
	}

	stored := make([]string, len(c.Headers))
	for i, name := range c.Headers {
		// Stored names are spelled like the keys of an http.Header.
		stored[i] = http.CanonicalHeaderKey(name)
		require(!slices.Contains(neverStored, stored[i]), "Headers: %q must not be stored", name)
	}
	c.Headers = stored

	if c.Decide == nil {
		c.Decide = defaultDecide
	}

	if c.now == nil {
		c.now = time.Now
	}

	return c, errors.Join(faults...)
}

// defaultDecide keeps every response except 5xx and the statuses that ask for a retry.
func defaultDecide(status int) Decision {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return Release
	}

	if status >= http.StatusInternalServerError {
		return Release
	}

	return Keep
}

// New checks cfg and returns the middleware.
func New(cfg Config) (func(http.Handler) http.Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}

	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cfg.serve(w, r, next) })
	}, nil
}

// serve handles one request: it reads the key and the body, or refuses the request.
func (c *Config) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	fields := r.Header.Values(Header)
	if !slices.Contains(c.Methods, r.Method) || c.Optional && len(fields) == 0 {
		next.ServeHTTP(w, r)
		return
	}

	key, p := c.key(r, fields)
	if p != nil {
		c.refuse(w, *p)
		return
	}

	// Read as a whole, because the fingerprint covers it.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(c.MaxRequest)))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			c.refuse(w, requestTooLarge(c.MaxRequest))
		} else {
			c.refuse(w, requestUnreadable)
		}

		return
	}
	c.handleOnce(w, r, key, body, next)
}

// key returns the key of the claim, which consists of the caller and the request's key.
func (c *Config) key(r *http.Request, fields []string) (string, *problem) {
	if len(fields) == 0 {
		return "", &keyMissing
	}

	given, err := keys.Header(fields)
	if err != nil {
		p := keyMalformed
		p.Detail = err.Error()
		return "", &p
	}

	caller, err := c.Caller(r)
	if err != nil || caller == "" {
		return "", &callerUnknown
	}

	key, err := keys.Of(caller, "http", given)
	if err != nil {
		return "", &keyMalformed
	}

	return key, nil
}

// claimKey is the context key of the claim.
type claimKey struct{}

// ClaimFrom returns the claim under which the handler of a request runs, nil if there is
// none. If its Outcome is TakenOver, an earlier run of the handler may have had an effect:
// look for it first. Its Fence guards the handler's writes. The middleware ends the claim;
// the handler must not.
func ClaimFrom(ctx context.Context) *once.Claim {
	claim, _ := ctx.Value(claimKey{}).(*once.Claim)
	return claim
}

// errReleased ends the claim's work without storing the response.
var errReleased = errors.New("the response is not stored")

// handleOnce runs the handler under a claim of the key and writes its response, or the
// stored one.
func (c *Config) handleOnce(w http.ResponseWriter, r *http.Request, key string, body []byte, next http.Handler) {
	var own *response // the response of this request, if it ran the handler
	result, replayed, err := c.Claims.Waiting(c.waitOf(r)).Do(r.Context(), key, fingerprint(r, body), func(ctx context.Context, claim *once.Claim) ([]byte, error) {
		rec := &recorder{header: http.Header{}, limit: c.MaxResponse}
		// The handler reads the body from memory: the connection's was read for the fingerprint.
		again := r.WithContext(context.WithValue(ctx, claimKey{}, claim))
		again.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(rec, again)

		own = rec.response()
		// The effect has happened. A stored answer keeps a retry from repeating it.
		if rec.overflow {
			own = c.problemResponse(responseTooLarge(c.MaxResponse))
			return own.encode(c.Headers), nil
		}

		switch c.Decide(own.Status) {
		case Release:
			return nil, errReleased
		case Unknown:
			return nil, once.ErrAmbiguous
		case Free:
			return nil, once.NotBegun(errReleased)
		}

		return own.encode(c.Headers), nil
	})
	switch {
	case err == nil && replayed:
		stored, err := decode(result)
		if err != nil {
			c.refuse(w, responseLost)
			return
		}
		stored.Header.Set(Replayed, "true")
		stored.write(w)
	// A response that should have been stored and was not is withheld: a retry could get another
	// response.
	case own != nil && (err == nil || errors.Is(err, errReleased) || errors.Is(err, once.ErrAmbiguous)):
		own.write(w)
	default:
		c.refuse(w, c.problemFor(err))
	}
}

// waitOf returns how long the request waits for another one with its key.
func (c *Config) waitOf(r *http.Request) time.Duration {
	if c.Wait < 0 {
		return 0
	}

	if asked, found := keys.PreferredWait(r.Header.Values("Prefer")); found {
		return min(asked, maxWait)
	}

	return c.Wait
}

// fingerprint returns the content of the request: method, target, media type and body, in
// canonical form if it is JSON. Each part follows its length.
func fingerprint(r *http.Request, body []byte) []byte {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" || strings.HasSuffix(kind, "+json") {
		if value, err := once.Canonical(body); err == nil { // for invalid JSON the handler reports the error
			body = value
		}
	}

	var text []byte
	for _, part := range [][]byte{[]byte(r.Method), []byte(r.URL.RequestURI()), []byte(kind), body} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}

	return text
}

// problemFor returns the answer to a request whose handler did not run, or whose response
// could not be stored.
func (c *Config) problemFor(err error) problem {
	wait, inProgress := once.RetryAfter(err, c.now())
	switch {
	case inProgress:
		p := inProgressProblem
		p.retryAfter = int(math.Ceil(wait.Seconds()))
		return p
	case errors.Is(err, once.ErrMismatch):
		return keyReused
	case errors.Is(err, once.ErrKeyExpired):
		return keyExpired
	case errors.Is(err, once.ErrUnknownOutcome):
		return outcomeUnknown
	case errors.Is(err, once.ErrInvalid):
		return keyMalformed
	case errors.Is(err, once.ErrResultUnavailable):
		return responseLost
	}

	return storeUnavailable
}

func (c *Config) refuse(w http.ResponseWriter, p problem) { c.problemResponse(p).write(w) }
