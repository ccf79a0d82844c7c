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
	"strconv"
	"strings"
	"time"

	"ratchet/once"
	"ratchet/once/keys"
)

// Header is the request's field with the key, Replayed that of a replayed response.
const (
	Header   = "Idempotency-Key"
	Replayed = "Idempotent-Replayed"
)

// Judgement is what becomes of a key after the handler's response.
type Judgement int

// Keep stores the response for every retry. Release forgets it: a retry runs the
// handler again. Unknown leaves the key to a reconciler.
const (
	Keep Judgement = iota
	Release
	Unknown
)

// Config of the middleware. Claims and Caller must be set.
type Config struct {
	Claims *once.Claims
	// Caller names who sends a request, from what authentication has found out: the
	// tenant or account whose keys these are. It is part of every key. An error is
	// answered with 401.
	Caller func(*http.Request) (string, error)
	// Methods are those that need a key. Default POST and PATCH. Others pass.
	Methods []string
	// Optional lets requests without a key pass.
	Optional bool
	// MaxRequest and MaxResponse bound bodies, in bytes. Default 1 MiB each;
	// MaxResponse at most 3 MiB.
	MaxRequest, MaxResponse int
	// Headers are stored with a response. Default: Content-Type, Content-Language,
	// Location, ETag, Last-Modified, Link, Cache-Control.
	Headers []string
	// Judge says which responses are stored. Default [DefaultJudge].
	Judge func(status int) Judgement
	// Docs is a page about keys; it is the type of problems, with the code as its
	// fragment, and linked to. Default "about:blank" and no link.
	Docs string
	// Now is the clock of Retry-After. Default time.Now.
	Now func() time.Time
}

const maxResponse = 3 << 20

func (c *Config) complete() error {
	switch {
	case c.Claims == nil || c.Caller == nil:
		return errors.New("idempotency: Config.Claims and Config.Caller must be set")
	case c.MaxRequest < 0 || c.MaxResponse < 0 || c.MaxResponse > maxResponse:
		return fmt.Errorf("idempotency: Config.MaxRequest must not be negative, MaxResponse 0 to %d", maxResponse)
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
		stored[i] = http.CanonicalHeaderKey(name)
		if slices.Contains([]string{"Set-Cookie", "Connection", "Transfer-Encoding", "Content-Length", "Date", ""}, stored[i]) {
			return fmt.Errorf("idempotency: Config.Headers: %q must not be stored", name)
		}
	}

	c.Headers = stored
	if c.Judge == nil {
		c.Judge = DefaultJudge
	}

	if c.Now == nil {
		c.Now = time.Now
	}

	return nil
}

// DefaultJudge keeps every response but 5xx and those that ask for a retry.
func DefaultJudge(status int) Judgement {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return Release
	}

	if status >= http.StatusInternalServerError {
		return Release
	}

	return Keep
}

// New returns the middleware.
func New(cfg Config) (func(http.Handler) http.Handler, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}

	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cfg.serve(w, r, next) })
	}, nil
}

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

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(c.MaxRequest)))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			c.refuse(w, tooLarge(c.MaxRequest))
		} else {
			c.refuse(w, unreadable)
		}

		return
	}
	c.once(w, r, key, body, next)
}

// key is the claim's key: who sends the request, and the key that it carries.
func (c *Config) key(r *http.Request, fields []string) (string, *problem) {
	if len(fields) == 0 {
		return "", &missing
	}

	given, err := keys.Header(fields)
	if err != nil {
		p := malformed
		p.Detail = err.Error()
		return "", &p
	}

	caller, err := c.Caller(r)
	if err != nil || caller == "" {
		return "", &stranger
	}

	key, err := keys.Of(caller, "http", given)
	if err != nil {
		return "", &malformed
	}

	return key, nil
}

// errReleased ends the claim's work without storing the response.
var errReleased = errors.New("the response is not stored")

func (c *Config) once(w http.ResponseWriter, r *http.Request, key string, body []byte, next http.Handler) {
	var mine *response // this request's own, when it was the one that ran
	result, replayed, err := c.Claims.Do(r.Context(), key, fingerprint(r, body), func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		rec := &recorder{header: http.Header{}, room: c.MaxResponse}
		again := r.WithContext(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(rec, again)

		mine = rec.response()
		if rec.overflow {
			mine = c.problemResponse(overflow(c.MaxResponse))
			return mine.encode(c.Headers), nil
		}

		switch c.Judge(mine.Status) {
		case Release:
			return nil, errReleased
		case Unknown:
			return nil, once.ErrAmbiguous
		}

		return mine.encode(c.Headers), nil
	})
	switch {
	case err == nil && replayed:
		stored, err := decode(result)
		if err != nil {
			c.refuse(w, lost)
			return
		}
		stored.Header.Set(Replayed, "true")
		stored.write(w)
	case mine != nil && (err == nil || errors.Is(err, errReleased) || errors.Is(err, once.ErrAmbiguous)):
		mine.write(w)
	default:
		c.refuse(w, c.problemFor(err))
	}
}

// fingerprint is what the request asks for: method, target, and body, a JSON one by
// its value. Each part carries its length.
func fingerprint(r *http.Request, body []byte) []byte {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" || strings.HasSuffix(kind, "+json") {
		if value, err := once.Canonical(body); err == nil { // else the handler answers what is wrong with it
			body = value
		}
	}

	var text []byte
	for _, part := range [][]byte{[]byte(r.Method), []byte(r.URL.RequestURI()), []byte(kind), body} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}

	return text
}

// problemFor is the answer to a request whose handler did not run, or whose response
// could not be stored.
func (c *Config) problemFor(err error) problem {
	until, inProgress := once.RetryAt(err)
	switch {
	case inProgress:
		p := busy
		p.retryAfter = max(1, int(math.Ceil(until.Sub(c.Now()).Seconds())))
		return p
	case errors.Is(err, once.ErrMismatch):
		return reused
	case errors.Is(err, once.ErrKeyExpired):
		return expired
	case errors.Is(err, once.ErrUnknownOutcome):
		return unknown
	case errors.Is(err, once.ErrInvalid):
		return malformed
	case errors.Is(err, once.ErrResultUnavailable):
		return lost
	}

	return unavailable
}

func (c *Config) refuse(w http.ResponseWriter, p problem) { c.problemResponse(p).write(w) }

func retryAfter(seconds int) string { return strconv.Itoa(seconds) }
