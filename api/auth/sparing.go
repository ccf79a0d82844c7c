package auth

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// errFresh: the issuer was asked for its keys a moment ago, and answered.
var errFresh = errors.New("the issuer's keys were fetched a moment ago")

// sparing fetches an issuer's keys only so often, whoever asks with whatever key id. In
// between, an answer is still good: errFresh; a failure is repeated.
type sparing struct {
	next  http.RoundTripper
	now   func() time.Time
	limit *rate.Limiter

	mu   sync.Mutex
	last error
}

func newSparing(next http.RoundTripper, now func() time.Time) *sparing {
	if next == nil {
		next = http.DefaultTransport
	}
	return &sparing{next: next, now: now, limit: rate.NewLimiter(rate.Every(10*time.Second), 3), last: errFresh}
}

// RoundTrip fetches, or says why it did not.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.limit.AllowN(s.now(), 1) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, s.last
	}
	answer, err := s.next.RoundTrip(r)
	s.mu.Lock()
	defer s.mu.Unlock()

	switch s.last = err; {
	case err != nil:
	case answer.StatusCode != http.StatusOK:
		s.last = fmt.Errorf("the issuer answered %s a moment ago", answer.Status)
	default:
		s.last = errFresh
	}

	return answer, err
}
