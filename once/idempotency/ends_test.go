package idempotency_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"ratchet/once"
	"ratchet/once/idempotency"
)

// brokenResults stores nothing.
type brokenResults struct{}

func (brokenResults) Put(context.Context, string, []byte, time.Time) error {
	return errors.New("s3: AccessDenied")
}

func (brokenResults) Get(context.Context, string) ([]byte, error) {
	return nil, once.ErrResultUnavailable
}

// What is known of a run of the handler decides about the next one, as the table of the package says.
func TestTheEndOfTheHandlerIsWhatTheNextOneHears(t *testing.T) {
	const unknown = "unknown_outcome"
	hangUpThen := func(then func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request, func()) {
		return func(w http.ResponseWriter, r *http.Request, hangUp func()) {
			hangUp()
			<-r.Context().Done()
			then(w)
		}
	}

	for about, row := range map[string]struct {
		handle         func(w http.ResponseWriter, r *http.Request, hangUp func())
		config         func(*once.Config)
		heard, careful string // the outcome of the next claim, or the code of the answer
	}{
		"a response that is stored":                  {handle: func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusCreated) }, heard: "replayed", careful: "replayed"},
		"a response that is not stored":              {handle: func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusBadGateway) }, heard: "taken_over", careful: "taken_over"},
		"a response without an effect":               {handle: func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusTooEarly) }, heard: "acquired", careful: "acquired"},
		"an unknown outcome":                         {handle: func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusGatewayTimeout) }, heard: unknown, careful: unknown},
		"the client goes":                            {handle: hangUpThen(func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }), heard: "taken_over", careful: unknown},
		"the client goes before there was an effect": {handle: hangUpThen(func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooEarly) }), heard: "acquired", careful: "acquired"},
		"the client goes, and the work is done":      {handle: hangUpThen(func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) }), heard: "replayed", careful: "replayed"},
		"the lease ends": {handle: func(w http.ResponseWriter, r *http.Request, _ func()) {
			<-r.Context().Done()
			w.WriteHeader(http.StatusBadGateway)
		}, config: func(c *once.Config) { c.Lease = 50 * time.Millisecond }, heard: "taken_over", careful: unknown},
		"a panic": {handle: func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) }, heard: "taken_over", careful: unknown},
		"Goexit":  {handle: func(http.ResponseWriter, *http.Request, func()) { runtime.Goexit() }, heard: "taken_over", careful: unknown},
		"a response that cannot be stored": {handle: func(w http.ResponseWriter, _ *http.Request, hangUp func()) {
			_, _ = w.Write(make([]byte, 100<<10))
			hangUp()
		}, config: func(c *once.Config) { c.Results, c.Lease = brokenResults{}, time.Second }, heard: "result_unavailable", careful: "result_unavailable"},
	} {
		for _, careful := range []bool{false, true} {
			var outcomes []once.Outcome

			clock := noon
			ctx, hangUp := context.WithCancel(t.Context())
			a := newAPI(t, func(a *api, c *once.Config) {
				c.ExpiredIsUnknown, c.Now = careful, func() time.Time { return clock }
				a.cfg.Decide = func(status int) idempotency.Decision {
					switch status {
					case http.StatusTooEarly:
						return idempotency.Free
					case http.StatusGatewayTimeout:
						return idempotency.Unknown
					case http.StatusBadGateway:
						return idempotency.Release
					}

					return idempotency.Keep
				}

				if row.config != nil {
					row.config(c)
				}
				a.do = func(w http.ResponseWriter, r *http.Request) {
					outcomes = append(outcomes, idempotency.ClaimFrom(r.Context()).Outcome)
					if len(outcomes) == 1 {
						row.handle(w, r, hangUp)
					}
				}
			})
			request := func(ctx context.Context) *http.Request {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/charge", strings.NewReader("{}"))
				r.Header.Set(idempotency.Header, `"k"`)

				return r
			}

			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				a.ServeHTTP(httptest.NewRecorder(), request(ctx))
			}()
			<-done
			hangUp()

			clock = clock.Add(2 * time.Minute) // beyond any lease, in which the end may not have been stored
			answer := a.send(request(t.Context()))

			want, got := row.heard, "replayed"
			if careful {
				want = row.careful
			}

			switch {
			case len(outcomes) == 2:
				got = string(outcomes[1])
			case answer.status == http.StatusConflict && strings.Contains(answer.body, unknown):
				got = unknown
			case answer.status == http.StatusConflict:
				got = "result_unavailable"
			}

			if got != want {
				t.Errorf("%s, ExpiredIsUnknown %t: the next request hears %q, want %q: %d %s", about, careful, got, want, answer.status, answer.body)
			}
		}
	}
}
