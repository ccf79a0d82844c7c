package httpcarrier_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/httpcarrier"
	"ratchet/shipping/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ shipping.Carrier = (*httpcarrier.Carrier)(nil)
	_ shipping.Asker   = (*httpcarrier.Carrier)(nil)
)

const key = "o-1/2/shipping"

// newCarrier returns a client of a server on this machine.
func newCarrier(t *testing.T, token string, handler http.Handler) *httpcarrier.Carrier {
	t.Helper()

	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)

	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)

	c, err := httpcarrier.New(httpcarrier.Config{URL: server.URL + "/v1", Token: token, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}

	return c
}

func newSandbox(t *testing.T, faults sandbox.Faults) *sandbox.Carrier {
	t.Helper()

	c, err := sandbox.New(sandbox.Config{
		DynamoDB: embeddedtest.DynamoDB(t, sandbox.Table("carrier")), Table: "carrier",
		Track: true, Faults: faults, Log: embeddedtest.Quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// TestAShipmentOverHTTP makes every call twice.
func TestAShipmentOverHTTP(t *testing.T) {
	far := newSandbox(t, sandbox.Faults{})
	c := newCarrier(t, "secret", http.StripPrefix("/v1", far.Handler("secret")))

	if _, err := c.Get(t.Context(), key); !errors.Is(err, shipping.ErrUnknownShipment) {
		t.Errorf("unknown: %v", err)
	}

	for range 2 {
		if tracking, err := c.Book(t.Context(), key, "o-1"); err != nil || tracking != "trk-o-1-2-shipping" {
			t.Errorf("booked: %q, %v", tracking, err)
		}
	}

	if s, err := c.Get(t.Context(), key); err != nil || s.Status != shipping.Booked || s.Tracking == "" {
		t.Errorf("got %+v, %v", s, err)
	}

	for _, id := range []string{key, "o-2/2/shipping"} {
		for range 2 {
			if left, err := c.Cancel(t.Context(), id); err != nil || left {
				t.Errorf("%s canceled: %v, %v", id, left, err)
			}
		}

		if _, err := c.Book(t.Context(), id, strings.Split(id, "/")[0]); !errors.Is(err, shipping.ErrCanceled) || errors.Is(err, shipping.ErrRefused) {
			t.Errorf("%s booked after the cancellation: %v", id, err)
		}
	}
}

// TestAParcelThatHasLeftIsNotCanceled.
func TestAParcelThatHasLeftIsNotCanceled(t *testing.T) {
	far := newSandbox(t, sandbox.Faults{})
	c := newCarrier(t, "", http.StripPrefix("/v1", far.Handler("")))

	if _, err := c.Book(t.Context(), key, "o-1"); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	far.Wrap(func(sandbox.DeliverFunc) sandbox.DeliverFunc {
		return func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			if r.Milestone == shipping.Delivered {
				stop()
			}

			return shipping.Accepted, nil
		}
	})

	if err := far.Run(ctx); err != nil {
		t.Fatal(err)
	}

	if left, err := c.Cancel(t.Context(), key); err != nil || !left {
		t.Errorf("left %v, %v", left, err)
	}

	if s, err := c.Get(t.Context(), key); err != nil || s.Status != shipping.Delivered {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAnswersAreClassified: what passes, what does not, and what to wait for.
func TestAnswersAreClassified(t *testing.T) {
	var status int
	var body string
	c := newCarrier(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Idempotency-Key"); got != key || r.URL.EscapedPath() != "/v1/shipments/o-1~2~shipping" {
			t.Errorf("key %q, path %s", got, r.URL.EscapedPath())
		}

		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))

	for _, row := range []struct {
		status            int
		body              string
		refused, canceled bool
	}{
		{200, `{"status":"canceled"}`, false, true},
		{200, `{}`, false, false},
		{200, `not json`, false, false},
		{302, ``, false, false},
		{400, `{"code":"bad_order","detail":"no such country"}`, true, false},
		{401, ``, false, false},
		{401, `{"code":"expired_token"}`, false, false},
		{403, ``, false, false},
		{403, `<html>`, false, false},
		{403, `{"code":"embargo"}`, true, false},
		{404, ``, false, false},
		{404, `{"code":"no_such_service"}`, true, false},
		{408, ``, false, false},
		{409, `{"code":"shipment_canceled"}`, false, true},
		{409, `{"code":"other"}`, true, false},
		{422, ``, true, false},
		{425, ``, false, false},
		{429, ``, false, false},
		{500, `<html>`, false, false},
		{503, ``, false, false},
	} {
		status, body = row.status, row.body

		_, err := c.Book(t.Context(), key, "o-1")
		if err == nil || errors.Is(err, shipping.ErrRefused) != row.refused || errors.Is(err, shipping.ErrCanceled) != row.canceled {
			t.Errorf("%d %s: %v", row.status, row.body, err)
		}

		// An answer without the carrier's code says nothing about its shipments.
		if _, err := c.Get(t.Context(), key); errors.Is(err, shipping.ErrUnknownShipment) != (row.status == 404 && row.body != "") {
			t.Errorf("%d %s, to a question: %v", row.status, row.body, err)
		}

		var answered *httpcarrier.Error
		if errors.As(err, &answered) && answered.RetryAfter() != 7*time.Second {
			t.Errorf("%d: to wait %v", row.status, answered.RetryAfter())
		}
	}
}

// TestTheTokenIsRequired and is in no error. A wrong one is no verdict on the order.
func TestTheTokenIsRequired(t *testing.T) {
	c := newCarrier(t, "wrong", http.StripPrefix("/v1", newSandbox(t, sandbox.Faults{}).Handler("right")))

	if _, err := c.Book(t.Context(), key, "o-1"); err == nil || errors.Is(err, shipping.ErrRefused) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("got %v", err)
	}
}

// TestAnAnswerThatRepeatsTheTokenIsRedacted: errors of the carrier are stored and logged.
func TestAnAnswerThatRepeatsTheTokenIsRedacted(t *testing.T) {
	c := newCarrier(t, "marked-token", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]string{"code": r.Header.Get("Authorization"), "detail": strings.Repeat("x", 190) + r.Header.Get("Authorization")})
	}))

	_, err := c.Book(t.Context(), key, "o-1")
	if err == nil || strings.Contains(err.Error(), "marked") || !strings.Contains(err.Error(), "Bearer [redacted]") {
		t.Errorf("got %v", err)
	}
}

func TestACarrierThatIsDownIsAskedAgain(t *testing.T) {
	c := newCarrier(t, "", http.StripPrefix("/v1", newSandbox(t, sandbox.Faults{Down: time.Hour}).Handler("")))

	_, err := c.Book(t.Context(), key, "o-1")
	if errors.Is(err, shipping.ErrRefused) || err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("down: %v", err)
	}

	hung := newCarrier(t, "", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	if _, err := hung.Cancel(ctx, key); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "http://") {
		t.Errorf("hung: %v", err)
	}
}

func TestNewNamesTheFieldThatBreaksARule(t *testing.T) {
	for _, cfg := range []httpcarrier.Config{
		{}, {URL: "carrier.example"}, {URL: "ftp://carrier.example"}, {URL: "https://user:pw@carrier.example"}, {URL: "https://carrier.example?x=1"},
	} {
		if _, err := httpcarrier.New(cfg); err == nil || !strings.Contains(err.Error(), "URL") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", cfg.URL, err)
		}
	}
}

// TestTheDocumentDescribesTheCalls: the client calls and the sandbox serves every path and method of
// the document, and the code has the same codes and milestones.
func TestTheDocumentDescribesTheCalls(t *testing.T) {
	var document struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas struct {
				Status struct{ Enum []string }
			}
		}
	}
	if err := yaml.Unmarshal(httpcarrier.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}

	var described []string
	for path, methods := range document.Paths {
		for method := range methods {
			if method != "parameters" {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(described)

	var called []string
	far := newSandbox(t, sandbox.Faults{}).Handler("")
	c := newCarrier(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called = append(called, r.Method+" "+strings.Replace(strings.TrimPrefix(r.URL.Path, "/v1"), "o-1~2~shipping", "{id}", 1))
		http.StripPrefix("/v1", far).ServeHTTP(w, r)
	}))

	_, bookErr := c.Book(t.Context(), key, "o-1")
	_, getErr := c.Get(t.Context(), key)
	_, holdErr := c.Hold(t.Context(), key, 3, true)
	_, cancelErr := c.Cancel(t.Context(), key)
	slices.Sort(called)

	if err := errors.Join(bookErr, getErr, holdErr, cancelErr); err != nil || !slices.Equal(described, called) {
		t.Errorf("described %q, called %q, %v", described, called, err)
	}

	want := []string{"booked", "shipped", "delivered", "lost", "returned", "canceled"}
	if got := document.Components.Schemas.Status.Enum; !slices.Equal(got, want) {
		t.Errorf("statuses %q, want %q", got, want)
	}
}
