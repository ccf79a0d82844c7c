package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// errKeySetCurrent says that a request was not sent because the key set was fetched
// successfully a moment ago.
var errKeySetCurrent = errors.New("the issuer's keys were fetched a moment ago")

// throttledTransport limits how often an issuer's key set is fetched, whatever key ids the
// callers' tokens name: 3 times at once, then once in 10 seconds. A request beyond that is
// not sent. It fails with errKeySetCurrent if the last fetch succeeded, and with the error
// of the last fetch if it failed.
type throttledTransport struct {
	base  http.RoundTripper
	limit *rate.Limiter

	mu     sync.Mutex
	result error // of a request that is not sent
	// age is the max-age of the newest key set, negative if it had none.
	age time.Duration
}

func newThrottledTransport(base http.RoundTripper) *throttledTransport {
	if base == nil {
		base = http.DefaultTransport
	}

	return &throttledTransport{
		base:   base,
		limit:  rate.NewLimiter(rate.Every(10*time.Second), 3),
		result: errKeySetCurrent,
		age:    -1,
	}
}

// maxAge returns how long the issuer lets its newest key set be kept, or the given time if it does not say.
func (t *throttledTransport) maxAge(otherwise time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.age < 0 {
		return otherwise
	}

	return t.age
}

// ageOf returns the max-age of a Cache-Control header, 0 if it forbids to keep the answer, negative if it says
// nothing.
func ageOf(header http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")

		switch name {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
				return time.Duration(seconds) * time.Second
			}
		}
	}

	return -1
}

// RoundTrip sends the request if the limit allows it.
func (t *throttledTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.limit.AllowN(time.Now(), 1) {
		t.mu.Lock()
		defer t.mu.Unlock()

		return nil, t.result
	}

	// Sent without the lock: requests beyond the limit must not wait for a slow issuer.
	response, err := t.base.RoundTrip(r)

	t.mu.Lock()
	defer t.mu.Unlock()

	switch {
	case err != nil:
		t.result = err
	case response.StatusCode != http.StatusOK:
		t.result = fmt.Errorf("the issuer answered %s a moment ago", response.Status)
	default:
		t.result, t.age = errKeySetCurrent, ageOf(response.Header)
	}

	return response, err
}
