package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

const (
	// deliveryTimeout bounds one delivery.
	deliveryTimeout = 15 * time.Second

	dialTimeout   = 5 * time.Second
	maxAnswer     = 20 << 10 // bytes of the answer's body that are read beyond maxText
	maxText       = 4 << 10  // bytes of the answer's body that are returned
	maxHeaders    = 16 << 10 // bytes of the answer's headers
	maxRetryAfter = 24 * time.Hour

	// Idle connections that stay open, to one host and in all. Many deliveries to an endpoint run at a time, and each that finds no idle
	// connection opens one.
	keptPerHost     = 64
	keptConnections = 256
)

// ErrGone means that the endpoint answered 410: it wants no more webhooks. Do not retry.
var ErrGone = errors.New("the webhook's endpoint is gone (410)")

// StatusError is the error for an answer that is not 2xx. A redirect is such an answer: the client
// does not follow it.
type StatusError struct {
	Status int
	// RetryAfter is the pause that the endpoint asks for, at most a day. It is 0 if the answer has
	// no valid Retry-After.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the webhook's endpoint answered %d", e.Status)
}

// Is reports whether target is ErrGone and the status is 410.
func (e *StatusError) Is(target error) bool { return target == ErrGone && e.Status == http.StatusGone }

// ClientConfig configures a [Client].
type ClientConfig struct {
	// Keys signs the messages. Required.
	Keys *Keys
	// Reach limits the addresses of deliveries. Default ReachPublic.
	Reach Reach
	// Dialing is called with each address before a connection is opened to it, for example for an
	// audit. An error keeps the connection from being opened. It is not called for addresses
	// outside of Reach. Optional.
	Dialing func(netip.AddrPort) error
}

func (c *ClientConfig) check() error {
	c.Reach = cmp.Or(c.Reach, ReachPublic)

	var faults []error
	if c.Keys == nil {
		faults = append(faults, fmt.Errorf("%w: ClientConfig.Keys: must be set", ErrInvalid))
	}

	if err := c.Reach.validate(); err != nil {
		faults = append(faults, err)
	}

	return errors.Join(faults...)
}

// Client delivers signed messages. It is safe for concurrent use.
type Client struct {
	cfg  ClientConfig
	http *http.Client
}

// NewClient returns a Client. The error names every field that breaks a rule. The client
// uses no proxy of the environment. Close it after use.
func NewClient(cfg ClientConfig) (*Client, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	// Timeout also bounds the reading of the answer's body, which an endpoint could send byte by
	// byte. Compression is disabled, so that a small answer cannot unpack to a large one.
	return &Client{cfg: cfg, http: &http.Client{
		Timeout:       deliveryTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            cfg.Reach.dialer(cfg.Dialing).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    dialTimeout,
			ResponseHeaderTimeout:  deliveryTimeout,
			IdleConnTimeout:        time.Minute,
			MaxIdleConns:           keptConnections,
			MaxIdleConnsPerHost:    keptPerHost,
			MaxResponseHeaderBytes: maxHeaders,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		},
	}}, nil
}

// Close closes idle connections. It never fails.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()

	return nil
}

// CheckURL checks a URL as Deliver does; see [Reach.CheckURL].
func (c *Client) CheckURL(raw string) error {
	_, err := c.cfg.Reach.CheckURL(raw)

	return err
}

// Deliver signs the body and posts it to the URL. The id must be the same for every delivery of the
// message. more has further headers, which may be nil. For an answer that is not 2xx, Deliver
// returns a [*StatusError]. No error contains the URL or the answer: both may contain secrets.
func (c *Client) Deliver(ctx context.Context, rawURL, id string, body []byte, more http.Header) error {
	_, err := c.Post(ctx, Post{URL: rawURL, ID: id, Body: body, Header: more})

	return err
}

// Post is a message to deliver.
type Post struct {
	URL string
	// ID must be the same for every delivery of the message.
	ID   string
	Body []byte
	// ContentType is the type of Body. Default application/json.
	ContentType string
	// Header are further headers.
	Header http.Header
}

// Answer is an answer of an endpoint. It may contain secrets.
type Answer struct {
	Status int
	// Text is the first 4 KiB of the body at most.
	Text string
}

// Post does the same as Deliver and also returns the endpoint's answer, zero if there was none.
func (c *Client) Post(ctx context.Context, p Post) (Answer, error) {
	// Checked before each delivery, because Reach may have changed since the URL was stored.
	u, err := c.cfg.Reach.CheckURL(p.URL)
	if err != nil {
		return Answer{}, fmt.Errorf("deliver webhook %s: %w", p.ID, err)
	}

	signed, err := c.cfg.Keys.Sign(p.ID, p.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("deliver webhook: %w", err)
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(p.Body))
	if err != nil {
		return Answer{}, fmt.Errorf("deliver webhook %s: %w", p.ID, withoutURL(err))
	}

	own := http.Header{"Content-Type": {cmp.Or(p.ContentType, "application/json")}, "User-Agent": {"ratchet-webhooks"}}
	// The headers of the signature come last, so that nothing replaces them.
	for _, h := range []http.Header{own, p.Header, signed} {
		for name, values := range h {
			request.Header[name] = values
		}
	}

	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("deliver webhook %s to %s: %w", p.ID, u.Hostname(), withoutURL(err))
	}
	defer response.Body.Close()

	answer := Answer{Status: response.StatusCode, Text: readAnswer(response.Body)}
	if response.StatusCode/100 == 2 {
		return answer, nil
	}

	return answer, fmt.Errorf("deliver webhook %s to %s: %w", p.ID, u.Hostname(),
		&StatusError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now())})
}

// readAnswer returns the beginning of the body. It reads more of the body than it returns, because a
// connection can be used again only if the answer was read. A body that ends early is no failure: the
// status says whether the endpoint has the message.
func readAnswer(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, maxText))
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxAnswer))

	return string(text)
}

// withoutURL removes the URL from an error of net/http.
func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}

	return err
}

// retryAfter reads a Retry-After header: seconds, or a date. It returns 0 for anything else.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}

	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}

	// A date may have passed already, by the clock of this side.
	return min(max(0, at.Sub(now)), maxRetryAfter)
}
