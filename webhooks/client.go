package webhooks

import (
	"bytes"
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

	dialTimeout = 5 * time.Second
	maxAnswer   = 20 << 10
	maxHeaders  = 16 << 10
	maxWait     = 24 * time.Hour
)

// ErrGone: the endpoint answered 410: it wants no more webhooks. Do not try again.
var ErrGone = errors.New("the webhook's endpoint is gone (410)")

// StatusError is an answer that is not 2xx. A redirect is one: none is followed.
type StatusError struct {
	Status int
	// RetryAfter is how long the endpoint asks to be left alone, at most a day; 0 when
	// it does not say, or not in seconds.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the webhook's endpoint answered %d", e.Status)
}

// Is reports whether target is ErrGone and so is the endpoint.
func (e *StatusError) Is(target error) bool { return target == ErrGone && e.Status == http.StatusGone }

// Client delivers signed messages. Its methods may be called from many goroutines.
type Client struct {
	keys  *Keys
	reach Reach
	http  *http.Client
}

// NewClient returns a client that signs with the keys and goes as far as the reach.
// Close it after use. It uses no proxy from the environment.
func NewClient(keys *Keys, reach Reach) (*Client, error) {
	if err := reach.validate(); err != nil {
		return nil, err
	}

	return &Client{keys: keys, reach: reach, http: &http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: reach.dialer().DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: Timeout, IdleConnTimeout: time.Minute,
			MaxIdleConns: 64, MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: maxHeaders,
			DisableCompression: true, ForceAttemptHTTP2: true,
		},
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// CheckURL checks a URL as Deliver does.
func (c *Client) CheckURL(raw string) error {
	_, err := c.reach.CheckURL(raw)
	return err
}

// Deliver posts the body, signed now, under an id that stays the same when it is
// delivered again. An answer of 2xx is success; another one is a [*StatusError]. No
// error holds the URL or what the endpoint said: both may hold secrets.
func (c *Client) Deliver(ctx context.Context, rawURL, id string, body []byte, more http.Header) error {
	u, err := c.reach.CheckURL(rawURL)
	if err != nil {
		return fmt.Errorf("deliver webhook %s: %w", id, err)
	}

	signed, err := c.keys.Sign(id, body)
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

	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	if response.StatusCode/100 == 2 {
		return nil
	}

	return fmt.Errorf("deliver webhook %s to %s: %w", id, u.Hostname(),
		&StatusError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header.Get("Retry-After"))})
}

// withoutURL takes the URL out of what net/http says.
func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}

	return min(time.Duration(seconds)*time.Second, maxWait)
}
