package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"ratchet/operate/audit"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/shipping"
	"ratchet/workflow"
)

// ask sends a request to the HTTP API and returns the status, the code of a problem, and the body.
func (s *stockedBackend) ask(t *testing.T, method, path, body, key string) (status int, code, text string) {
	t.Helper()

	handler, err := s.APIHandler(t.Context(), true, io.Discard)
	if err != nil {
		t.Fatal(err)
	}

	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Ratchet-Reason", "the address is right")

	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)

	var problem struct{ Code string }
	_ = json.Unmarshal(w.Body.Bytes(), &problem) // an answer that is no problem has no code

	return w.Code, problem.Code, w.Body.String()
}

// TestARequestThatSkipsWhatIsDueIsRefusedIfItAsks: by event and by parcel, and only while the effect is due.
// Its own repeat skips nothing. A request that does not ask moves the order.
func TestARequestThatSkipsWhatIsDueIsRefusedIfItAsks(t *testing.T) {
	carrier := &brokenCarrier{}
	carrier.down.Store(true)
	s := newStockedBackend(t, func(c *server.Config) { c.Parts.Carrier = carrier })
	s.env.Execute(mug)
	s.until(workflow.PaymentReceived)
	s.untilDue(t, "the booking to be tried again", func(d inspect.Due) bool { return d.Handler == "shipping" && d.Error != "" })

	const ship, parcel = `{"event":"ship","refuseSkipped":true}`, `{"lines":[{"sku":"mug","quantity":1}],"refuseSkipped":true}`
	post := func(body, key string) (int, string, string) {
		return s.ask(t, "POST", "/v1/orders/o-1/transitions", body, key)
	}

	status, code, text := post(ship, "k-1")
	if status != http.StatusConflict || code != "effects_due" || !strings.Contains(text, "is down") && !strings.Contains(text, "shipping") {
		t.Errorf("ship: %d %s", status, text)
	}

	if status, code, text = s.ask(t, "PUT", "/v1/orders/o-1/parcels/p-1", parcel, ""); code != "effects_due" {
		t.Errorf("the last parcel: %d %s", status, text)
	}

	if order := s.orderNow(t); order.State != workflow.PaymentReceived {
		t.Fatalf("it is %s", order.State)
	}

	// Neither an event that skips nothing nor a request that does not ask is refused.
	if status, _, text = post(`{"event":"hold","refuseSkipped":true}`, "k-2"); status != http.StatusOK {
		t.Errorf("hold: %d %s", status, text)
	}

	if status, _, text = post(`{"event":"release","refuseSkipped":true}`, "k-3"); status != http.StatusOK {
		t.Errorf("release: %d %s", status, text)
	}

	if status, _, text = post(`{"event":"ship"}`, "k-1"); status != http.StatusOK {
		t.Errorf("ship without looking: %d %s", status, text)
	}

	for _, body := range []string{ship, `{"event":"ship"}`} {
		if status, _, text = post(body, "k-1"); status != http.StatusOK {
			t.Errorf("its repeat %s: %d %s", body, status, text)
		}
	}
}

// cancelingCarrier cancels every shipment with one of its keys by itself.
type cancelingCarrier struct {
	mu       sync.Mutex
	canceled []string // keys
	booked   []string
	down     bool
}

func (c *cancelingCarrier) Book(_ context.Context, key, _ string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	switch {
	case c.down:
		return "", errors.New("the carrier is down")
	case slices.Contains(c.canceled, key):
		return "", shipping.ErrCanceled
	case !slices.Contains(c.booked, key):
		c.booked = append(c.booked, key)
	}

	return "trk-" + key, nil
}

func (c *cancelingCarrier) Cancel(_ context.Context, key string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if !slices.Contains(c.canceled, key) {
		c.canceled = append(c.canceled, key)
	}

	return false, nil
}

func (c *cancelingCarrier) Get(_ context.Context, key string) (shipping.Shipment, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	switch {
	case slices.Contains(c.canceled, key):
		return shipping.Shipment{Status: shipping.Canceled}, nil
	case slices.Contains(c.booked, key):
		return shipping.Shipment{Status: shipping.Booked, Tracking: "trk-" + key}, nil
	}

	return shipping.Shipment{}, shipping.ErrUnknownShipment
}

// setDown takes the carrier down, or brings it back.
func (c *cancelingCarrier) setDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.down = down
}

// TestAShipmentIsBookedAgainOverTheAPI once per key, after the carrier has canceled it, with the person's
// reason in the list of acts.
func TestAShipmentIsBookedAgainOverTheAPI(t *testing.T) {
	carrier := &cancelingCarrier{}
	s := newStockedBackend(t, func(c *server.Config) { c.Parts.Carrier = carrier })
	const path, body = "/v1/orders/o-1/shipment/book-again", ""

	if _, code, text := s.ask(t, "POST", path, body, ""); code != "order_not_found" {
		t.Errorf("without an order: %s", text)
	}
	s.env.Execute(mug)
	s.until(workflow.PaymentReceived)
	key := s.orderNow(t).EffectKey(2, shipping.Effect)
	s.env.Wait("the booking", func() (bool, string, error) {
		booked, err := s.Booker.Booked(t.Context(), key, string(mug.ID))

		return booked, "nothing is stored", err
	})

	if status, code, text := s.ask(t, "POST", path, body, "k-1"); status != http.StatusConflict || code != "shipment_not_canceled" {
		t.Errorf("beside a booking: %d %s", status, text)
	}

	if _, err := carrier.Cancel(t.Context(), key); err != nil {
		t.Fatal(err)
	}

	carrier.setDown(true)

	if status, code, text := s.ask(t, "POST", path, body, "k-2"); status != http.StatusServiceUnavailable || code != "carrier_unavailable" {
		t.Errorf("the carrier is down: %d %s", status, text)
	}
	carrier.setDown(false)

	want := fmt.Sprintf(`"tracking":"trk-%s/2"`, key)
	for range 2 {
		if status, _, text := s.ask(t, "POST", path, body, "k-2"); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("booked again: %d %s", status, text)
		}
	}

	if carrier.booked[len(carrier.booked)-1] != key+"/2" || len(carrier.booked) != 2 {
		t.Errorf("booked %q", carrier.booked)
	}
	s.env.Move(mug.ID, workflow.Cancel)

	if _, err := carrier.Cancel(t.Context(), key+"/2"); err != nil {
		t.Fatal(err)
	}

	if status, code, text := s.ask(t, "POST", path, body, "k-3"); status != http.StatusConflict || code != "not_to_ship" && code != "shipment_canceled" {
		t.Errorf("after the order was canceled: %d %s", status, text)
	}

	acts, _, err := s.Audit.List(t.Context(), audit.Filter{Act: "book-shipment-again", On: "o-1", Since: s.orderNow(t).CreatedAt.AddDate(0, 0, -1)}, "", 100)
	if err != nil || !slices.ContainsFunc(acts, func(e audit.Entry) bool { return e.Reason == "the address is right" && e.Result == audit.Done }) {
		t.Errorf("acts %+v, %v", acts, err)
	}
}
