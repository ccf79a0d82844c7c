package httpcarrier

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ratchet/shipping"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the document of the calls that a carrier has to serve, as YAML.
func OpenAPI() []byte { return bytes.Clone(openAPI) }

const (
	// timeout bounds one call. A carrier that takes longer finds the same key in the next call.
	timeout       = 10 * time.Second
	maxBody       = 64 << 10 // bytes of an answer that are read
	maxDetail     = 200      // bytes of an answer that get into an error
	maxRetryAfter = time.Hour
	// keptConnections is how many idle connections stay open: about as many as bookings run at a time.
	keptConnections = 64
)

// Config configures a [Carrier]. URL is required.
type Config struct {
	// URL is the address of the carrier, like https://carrier.example/v1.
	URL string
	// Token is sent as a bearer token. Empty: none.
	Token string
	// Transport carries the calls. Default: that of [NewTransport].
	Transport http.RoundTripper
}

// Carrier calls a carrier over HTTP. A call lasts at most 10 s. It is a shipping.Carrier, a
// shipping.Asker and a shipping.Holder, and safe for concurrent use.
type Carrier struct {
	cfg  Config
	base *url.URL
	http *http.Client
}

// New returns a Carrier. The error names the field that breaks a rule.
func New(cfg Config) (*Carrier, error) {
	base, err := url.Parse(cfg.URL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return nil, errors.New("httpcarrier: Config.URL: must be http(s)://HOST[/PATH], without user or query")
	}

	if cfg.Transport == nil {
		cfg.Transport = NewTransport()
	}

	// A redirect is an error: following it could turn a booking into a GET, or send it to another
	// host.
	return &Carrier{cfg: cfg, base: base, http: &http.Client{
		Timeout:       timeout,
		Transport:     cfg.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// NewTransport returns a transport with the settings of http.DefaultTransport, among them a time-out for connecting, which keeps
// 64 idle connections to a carrier. http.DefaultTransport keeps two, so most of many concurrent calls would open one of their own.
func NewTransport() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok { // a program may have replaced it
		t = standard.Clone()
	}
	t.MaxIdleConnsPerHost = keptConnections

	return t
}

// Error is an answer of the carrier other than a shipment.
type Error struct {
	// Status is the HTTP status. Code and Detail are the members code and detail of the answer's body,
	// each cut to 200 bytes.
	Status       int
	Code, Detail string
	// After is how long the carrier asks to wait: Retry-After in seconds, at most an hour. It is 0 if the
	// header is missing or is a date.
	After time.Duration
}

func (e *Error) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("the carrier answered %d %s: %s", e.Status, e.Code, e.Detail), ": ")
}

// RetryAfter returns After, for callers like the handlers of package streams.
func (e *Error) RetryAfter() time.Duration { return e.After }

// Is reports whether the answer means target, which is an error of package shipping.
func (e *Error) Is(target error) bool {
	switch target {
	case shipping.ErrCanceled:
		return e.canceled()
	case shipping.ErrUnknownShipment:
		return e.Status == http.StatusNotFound && e.Code != ""
	case shipping.ErrCannotHold:
		return e.Code == codeCannotHold || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented
	case shipping.ErrRefused:
		return !e.canceled() && !e.mayPass()
	}

	return false
}

// codeCanceled is the code of the answer to a booking whose id is closed.
const codeCanceled = "shipment_canceled"

func (e *Error) canceled() bool { return e.Status == http.StatusConflict && e.Code == codeCanceled }

// mayPass reports whether a repeat of the call may get another answer. The token may have expired, and what
// answers with a redirect or without a code may be a proxy: such an answer is an outage until a person has
// corrected the settings, and no verdict on the order.
func (e *Error) mayPass() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusForbidden, http.StatusNotFound:
		return e.Code == ""
	}

	return e.Status < http.StatusBadRequest || e.Status >= http.StatusInternalServerError
}

// Book books the shipment, as shipping.Carrier describes.
func (c *Carrier) Book(ctx context.Context, key, orderID string) (tracking string, err error) {
	s, err := c.call(ctx, http.MethodPut, key, "", map[string]string{"orderId": orderID})
	switch {
	case err != nil:
		return "", fmt.Errorf("book %s: %w", key, err)
	case s.Status == shipping.Canceled:
		return "", fmt.Errorf("book %s: %w", key, shipping.ErrCanceled)
	}

	return s.Tracking, nil
}

// Cancel cancels the shipment, as shipping.Carrier describes.
func (c *Carrier) Cancel(ctx context.Context, key string) (left bool, err error) {
	s, err := c.call(ctx, http.MethodPost, key, "/cancel", nil)
	if err != nil {
		return false, fmt.Errorf("cancel %s: %w", key, err)
	}

	return hasLeft("cancel "+key, s, shipping.Canceled)
}

// hasLeft reads the answer to a call: whether the parcel had left. still are the statuses in which it has not.
func hasLeft(call string, s shipping.Shipment, still ...shipping.Milestone) (bool, error) {
	switch s.Status {
	case shipping.Shipped, shipping.Delivered, shipping.Lost, shipping.Returned:
		return true, nil
	}

	if slices.Contains(still, s.Status) {
		return false, nil
	}

	return false, fmt.Errorf("%s: the carrier answered that the shipment is %.20q", call, s.Status)
}

// codeCannotHold is the code of the answer of a carrier that cannot hold the shipment.
const codeCannotHold = "cannot_hold"

// Hold holds the shipment or ends that, as shipping.Holder describes.
func (c *Carrier) Hold(ctx context.Context, key string, at int64, held bool) (left bool, err error) {
	s, err := c.call(ctx, http.MethodPost, key, "/hold", map[string]any{"at": at, "held": held})
	if err != nil && c.lacksHold(ctx, key, err) {
		err = fmt.Errorf("%w: it has no such call", shipping.ErrCannotHold)
	}

	if err != nil {
		return false, fmt.Errorf("hold %s: %w", key, err)
	}

	return hasLeft("hold "+key, s, shipping.Booked, shipping.Canceled)
}

// lacksHold reports whether the carrier itself, and no proxy, has answered a hold with a 404: it speaks about the
// shipment under the same address.
func (c *Carrier) lacksHold(ctx context.Context, key string, err error) bool {
	var answer *Error
	if !errors.As(err, &answer) || answer.Status != http.StatusNotFound || answer.Code != "" {
		return false
	}

	_, err = c.Get(ctx, key)

	return err == nil || errors.Is(err, shipping.ErrUnknownShipment)
}

// Get asks about the shipment, as shipping.Asker describes.
func (c *Carrier) Get(ctx context.Context, key string) (shipping.Shipment, error) {
	s, err := c.call(ctx, http.MethodGet, key, "", nil)
	if err != nil {
		return shipping.Shipment{}, fmt.Errorf("get %s: %w", key, err)
	}

	return s, nil
}

// call sends a request about the shipment and returns the answer.
func (c *Carrier) call(ctx context.Context, method, key, path string, body any) (s shipping.Shipment, err error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return s, err
		}
		content = bytes.NewReader(text)
	}

	// In the path "~" stands for the slashes of the key, because proxies and routers decode %2F.
	to := c.base.JoinPath("shipments", url.PathEscape(strings.ReplaceAll(key, "/", "~"))).String() + path

	request, err := http.NewRequestWithContext(ctx, method, to, content)
	if err != nil {
		return s, err
	}
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Accept", "application/json")

	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}

	if c.cfg.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}

	response, err := c.http.Do(request)
	if err != nil {
		return s, withoutURL(err)
	}
	defer response.Body.Close()

	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return s, fmt.Errorf("read the carrier's answer: %w", err)
	}

	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return s, c.answerError(response, text)
	}

	if err := json.Unmarshal(text, &s); err != nil || s.Status == "" {
		// The outcome is unknown: the carrier may have acted. A repeat finds out.
		return s, fmt.Errorf("the carrier answered %d without a shipment", response.StatusCode)
	}

	if !s.Status.IsKnown() {
		return s, fmt.Errorf("the carrier answered that the shipment is %.20q, which is none of its statuses", s.Status)
	}

	return s, nil
}

func (c *Carrier) answerError(response *http.Response, text []byte) error {
	e := &Error{Status: response.StatusCode}

	var problem struct{ Code, Detail string }
	if json.Unmarshal(text, &problem) == nil {
		e.Code, e.Detail = c.shown(problem.Code), c.shown(problem.Detail)
	}

	// Retry-After may also be a date. A date is ignored, because it depends on the clocks of both sides.
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 32); err == nil {
		e.After = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}

	return e
}

// shown returns the beginning of a text of the carrier. Errors are stored and logged, so the token is taken out of it: an
// answer may repeat the headers of the call.
func (c *Carrier) shown(text string) string {
	if c.cfg.Token != "" {
		text = strings.ReplaceAll(text, c.cfg.Token, "[redacted]")
	}

	// The cut may fall inside a character.
	return strings.ToValidUTF8(text[:min(len(text), maxDetail)], "")
}

// withoutURL removes the URL, which names the order, from an error of net/http.
func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return fmt.Errorf("call the carrier: %w", wrapped.Err)
	}

	return err
}
