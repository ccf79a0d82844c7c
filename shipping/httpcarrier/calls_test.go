package httpcarrier_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/shipping"
	"ratchet/shipping/httpcarrier"
)

// roundTrip carries calls without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns a carrier that answers every call with 200 and the body, and notes the calls.
func answering(t *testing.T, body io.Reader, calls *[]*http.Request) *httpcarrier.Carrier {
	t.Helper()

	c, err := httpcarrier.New(httpcarrier.Config{URL: "https://carrier.example/v1", Token: "secret", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if calls != nil {
			*calls = append(*calls, r)
		}

		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Header: http.Header{}, Request: r}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// TestACallSaysWhatItHasAndWants: every call has the key and the token and wants JSON; only a booking and
// a hold have a body, which is JSON.
func TestACallSaysWhatItHasAndWants(t *testing.T) {
	var calls []*http.Request
	c := answering(t, strings.NewReader(""), &calls)

	_, _ = c.Book(t.Context(), key, "o-1")
	_, _ = c.Cancel(t.Context(), key)
	_, _ = c.Get(t.Context(), key)
	_, _ = c.Hold(t.Context(), key, 3, true)

	for i, row := range []struct{ call, kind, body string }{
		{"PUT https://carrier.example/v1/shipments/o-1~2~shipping", "application/json", `{"orderId":"o-1"}`},
		{"POST https://carrier.example/v1/shipments/o-1~2~shipping/cancel", "", ""},
		{"GET https://carrier.example/v1/shipments/o-1~2~shipping", "", ""},
		{"POST https://carrier.example/v1/shipments/o-1~2~shipping/hold", "application/json", `{"at":3,"held":true}`},
	} {
		var body []byte
		if calls[i].Body != nil {
			body, _ = io.ReadAll(calls[i].Body)
		}

		h := calls[i].Header
		if got := calls[i].Method + " " + calls[i].URL.String(); got != row.call || h.Get("Content-Type") != row.kind || string(body) != row.body {
			t.Errorf("%s, %v, %s; want %+v", got, h, body, row)
		}

		if h.Get("Accept") != "application/json" || h.Get("Idempotency-Key") != key || h.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s: %v", row.call, h)
		}
	}
}

// TestACancellationIsAnsweredWithAnEnd: a shipment that is still booked may leave or not.
func TestACancellationIsAnsweredWithAnEnd(t *testing.T) {
	for status, want := range map[shipping.Milestone]string{
		shipping.Canceled: "", shipping.Shipped: "left", shipping.Delivered: "left", shipping.Lost: "left", shipping.Returned: "left",
		shipping.Booked: `the shipment is "booked"`, "SHIPPED": `the shipment is "SHIPPED"`,
	} {
		c := answering(t, strings.NewReader(`{"status":"`+string(status)+`"}`), nil)
		left, err := c.Cancel(t.Context(), key)

		switch {
		case err != nil && (want == "" || want == "left" || left || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: left %t, %v", status, left, err)
		case err == nil && (want != "" && want != "left" || left != (want == "left")):
			t.Errorf("%s: left %t", status, left)
		}
	}
}

// TestAnUnknownStatusIsNoAnswer: a shipment that the carrier calls rejected is not booked.
func TestAnUnknownStatusIsNoAnswer(t *testing.T) {
	for _, status := range []string{"rejected", "BOOKED"} {
		for call, run := range map[string]func(*httpcarrier.Carrier) error{
			"Book": func(c *httpcarrier.Carrier) error { _, err := c.Book(t.Context(), key, "o-1"); return err },
			"Get":  func(c *httpcarrier.Carrier) error { _, err := c.Get(t.Context(), key); return err },
		} {
			err := run(answering(t, strings.NewReader(`{"status":"`+status+`","tracking":"JJD-1"}`), nil))
			if err == nil || errors.Is(err, shipping.ErrRefused) || !strings.Contains(err.Error(), `the shipment is "`+status+`"`) {
				t.Errorf("%s, %s: %v", call, status, err)
			}
		}
	}
}

// TestAHoldIsAnswered: with a status, or with the code of a carrier that cannot hold.
func TestAHoldIsAnswered(t *testing.T) {
	for status, want := range map[shipping.Milestone]bool{shipping.Booked: false, shipping.Canceled: false, shipping.Shipped: true, shipping.Returned: true} {
		left, err := answering(t, strings.NewReader(`{"status":"`+string(status)+`"}`), nil).Hold(t.Context(), key, 3, true)
		if err != nil || left != want {
			t.Errorf("%s: left %t, %v", status, left, err)
		}
	}

	if _, err := answering(t, strings.NewReader(`{"status":"held"}`), nil).Hold(t.Context(), key, 3, true); err == nil {
		t.Error("another status is taken for an answer")
	}

	cannot := &httpcarrier.Error{Status: http.StatusConflict, Code: "cannot_hold"}
	if !cannot.Is(shipping.ErrCannotHold) || (&httpcarrier.Error{Status: http.StatusNotFound}).Is(shipping.ErrCannotHold) {
		t.Error("only its code says that a carrier cannot hold")
	}
}

// A carrier without the call of a hold says so itself, by its method, or with a 404 while it speaks about the
// shipment. A proxy's 404 is an outage.
func TestACarrierWithoutHolds(t *testing.T) {
	for about, row := range map[string]struct {
		hold, get int
		body      string
		cannot    bool
	}{
		"another method":          {hold: http.StatusMethodNotAllowed, cannot: true},
		"not made":                {hold: http.StatusNotImplemented, cannot: true},
		"the shipment is known":   {hold: http.StatusNotFound, get: http.StatusOK, body: `{"status":"booked"}`, cannot: true},
		"the shipment is unknown": {hold: http.StatusNotFound, get: http.StatusNotFound, body: `{"code":"unknown_shipment"}`, cannot: true},
		"a proxy answers":         {hold: http.StatusNotFound, get: http.StatusNotFound},
		"it is down":              {hold: http.StatusServiceUnavailable, get: http.StatusServiceUnavailable},
	} {
		c, err := httpcarrier.New(httpcarrier.Config{URL: "https://carrier.example", Token: "secret", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			status, body := row.hold, ""
			if r.Method == http.MethodGet {
				status, body = row.get, row.body
			}

			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: r}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := c.Hold(t.Context(), key, 3, true); err == nil || errors.Is(err, shipping.ErrCannotHold) != row.cannot {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// TestAnAnswerThatBreaksOffIsNone, even if it could be read so far.
func TestAnAnswerThatBreaksOffIsNone(t *testing.T) {
	c := answering(t, io.MultiReader(strings.NewReader(`{"status":"booked"}`), broken{}), nil)

	if tracking, err := c.Book(t.Context(), key, "o-1"); err == nil || !strings.Contains(err.Error(), "read the carrier's answer") {
		t.Errorf("booked %q, %v", tracking, err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestAnAnswerIsOneErrorOfShipping, and none of another package.
func TestAnAnswerIsOneErrorOfShipping(t *testing.T) {
	for _, target := range []error{context.Canceled, shipping.ErrInvalidReport, nil} {
		if refused := (&httpcarrier.Error{Status: http.StatusBadRequest}); refused.Is(target) {
			t.Errorf("an answer is taken for %v", target)
		}
	}
}

func TestACallEndsAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := httpcarrier.New(httpcarrier.Config{URL: "https://carrier.example", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(time.Hour):
				return nil, io.EOF
			}
		})})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()

		if _, err := c.Book(t.Context(), key, "o-1"); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("after %v, %v", time.Since(began), err)
		}
	})
}
