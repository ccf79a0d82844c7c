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
	"net/url"
	"strconv"
	"time"
)

const (
	// Timeout bounds one delivery.
	Timeout = 15 * time.Second

	dialTimeout   = 5 * time.Second
	maxAnswer     = 20 << 10 // bytes of the answer's body that are read
	maxHeaders    = 16 << 10 // bytes of the answer's headers
	maxRetryAfter = 24 * time.Hour
)

// ErrGone means that the endpoint answered 410: it wants no more webhooks. Do not retry.
var ErrGone = errors.New("the webhook's endpoint is gone (410)")

// StatusError is an answer that is not 2xx. A redirect is one, because none is followed.
type StatusError struct {
	Status int
	// RetryAfter is how long the endpoint asks to wait, at most a day. It is 0 if the
	// answer does not say so in seconds.
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

	return &Client{cfg: cfg, http: &http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            cfg.Reach.dialer().DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    dialTimeout,
			ResponseHeaderTimeout:  Timeout,
			IdleConnTimeout:        time.Minute,
			MaxIdleConns:           64,
			MaxIdleConnsPerHost:    4,
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

// Deliver signs the body and posts it to the URL. The id must be the same for every
// delivery of the message. More are further headers. An answer of 2xx is success, any other
// a [*StatusError]. No error contains the URL or the answer: both may contain secrets.
func (c *Client) Deliver(ctx context.Context, rawURL, id string, body []byte, more http.Header) error {
	u, err := c.cfg.Reach.CheckURL(rawURL)
	if err != nil {
		return fmt.Errorf("deliver webhook %s: %w", id, err)
	}

	signed, err := c.cfg.Keys.Sign(id, body)
	if err != nil {
		return fmt.Errorf("deliver webhook: %w", err)
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("deliver webhook %s: %w", id, withoutURL(err))
	}

	for _, h := range []http.Header{{"Content-Type": {"application/json"}, "User-Agent": {"ratchet-webhooks"}}, more, signed} {
		for name, values := range h {
			request.Header[name] = values
		}
	}

	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("deliver webhook %s to %s: %w", id, u.Hostname(), withoutURL(err))
	}
	defer response.Body.Close()

	// A connection can be used again only if the answer was read.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))

	if response.StatusCode/100 == 2 {
		return nil
	}

	return fmt.Errorf("deliver webhook %s to %s: %w", id, u.Hostname(),
		&StatusError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"))})
}

// withoutURL removes the URL from an error of net/http.
func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}

	return err
}

// retryAfter reads a Retry-After header. It returns 0 for a date.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}

	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}
