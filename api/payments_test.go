package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratchet/payments"
	"ratchet/transitions"
)

var orderInBody = regexp.MustCompile(`"orderId":"([^"]+)"`)

// authorize opens the accounts and authorizes a payment.
func (s *apiServer) authorize(id string) {
	s.t.Helper()
	s.open("processor", `,"overdraft":true,"side":"debit"`)
	s.open("shop", "")
	s.want(s.ask("PUT", "/v1/payments/"+id, `{"orderId":"o-1","payer":"processor","payee":"shop","amount":1000,"currency":"EUR"}`), http.StatusOK, "")
}

func TestCapturesAndRefundsAreIdempotent(t *testing.T) {
	s := newAPIServer(t, dev)
	s.authorize("p-1")

	for range 2 {
		a := s.want(s.ask("PUT", "/v1/payments/p-1/captures/c-1", `{"amount":600}`), http.StatusOK, "")
		if a.field("captured") != "600" || a.field("capturable") != "400" {
			t.Errorf("%s", a.text)
		}
	}
	s.want(s.ask("PUT", "/v1/payments/p-1/captures/c-1", `{"amount":601}`), http.StatusConflict, "conflict")
	s.want(s.ask("PUT", "/v1/payments/p-1/captures/c-2", `{"amount":401}`), http.StatusConflict, "payment_exceeded")
	s.want(s.ask("PUT", "/v1/payments/p-1/refunds/r-1", `{"amount":100}`), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/payments/p-1", `{"orderId":"o-1","payer":"processor","payee":"shop","amount":1001,"currency":"EUR"}`), http.StatusConflict, "conflict")

	if a := s.want(s.ask("GET", "/v1/accounts/shop", ""), http.StatusOK, ""); a.field("balance") != "500" {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("GET", "/v1/payments/p-2", ""), http.StatusNotFound, "payment_not_found")
	s.want(s.ask("POST", "/v1/payments/p-2/void", ""), http.StatusNotFound, "payment_not_found")

	if a := s.want(s.ask("GET", "/v1/payments", ""), http.StatusOK, ""); !strings.Contains(a.text, `"p-1"`) {
		t.Errorf("%s", a.text)
	}
}

// What an order's life names can be asked for, also with the longest id of an order.
func TestThePaymentAndReservationOfALifeHavePaths(t *testing.T) {
	s := newAPIServer(t, dev)

	for _, order := range []string{"o-1", strings.Repeat("o", 46), strings.Repeat("o", 47), strings.Repeat("o", 96)} {
		life := transitions.OrderID(order).Life(transitions.NewIncarnation(time.Now()))
		s.authorize(payments.IDForOrder(life))
		s.want(s.ask("GET", "/v1/payments/"+payments.IDForOrder(life), ""), http.StatusOK, "")
		s.want(s.ask("GET", "/v1/reservations/"+life, ""), http.StatusNotFound, "reservation_not_found")
	}
}

func TestHoldsAndTransfersCannotUseThePaymentsMoney(t *testing.T) {
	s := newAPIServer(t, dev)
	s.open("processor", `,"overdraft":true,"side":"debit"`)
	s.open("shop", "")
	s.want(s.ask("PUT", "/v1/accounts/processor/holds/p-1", `{"amount":1,"currency":"EUR"}`), http.StatusCreated, "")
	s.want(s.ask("PUT", "/v1/payments/p-1", `{"orderId":"o-1","payer":"processor","payee":"shop","amount":1000,"currency":"EUR"}`), http.StatusOK, "")
	s.want(s.ask("PUT", "/v1/payments/p-2", `{"orderId":"o-2","payer":"processor","payee":"shop","amount":1000,"currency":"EUR"}`), http.StatusOK, "")
	s.want(s.ask("POST", "/v1/accounts/processor/holds/p-2/release", ""), http.StatusNotFound, "hold_not_found")
	s.want(s.ask("POST", "/v1/accounts/processor/holds/p-2%23payment/release", ""), http.StatusUnprocessableEntity, "invalid_request")
	s.want(s.ask("PUT", "/v1/transfers/t-1", legs(`{"account":"processor","amount":-1000,"hold":"p-2"},{"account":"shop","amount":1000}`)), http.StatusNotFound, "hold_not_found")
	s.want(s.ask("PUT", "/v1/transfers/t-1", legs(`{"account":"processor","amount":-1000,"hold":"p-2#payment"},{"account":"shop","amount":1000}`)), http.StatusUnprocessableEntity, "invalid_request")
	s.want(s.ask("POST", "/v1/accounts/processor/holds/p-1/release", ""), http.StatusOK, "") // a hold of the caller's own

	for _, id := range []string{"p-1", "p-2"} {
		s.want(s.ask("PUT", "/v1/payments/"+id+"/captures/c-1", `{"amount":1000}`), http.StatusOK, "")
	}

	if a := s.want(s.ask("GET", "/v1/accounts/shop", ""), http.StatusOK, ""); a.field("balance") != "2000" {
		t.Errorf("%s", a.text)
	}
}

func TestAnImpossiblePaymentIsRefusedBeforeItIsStored(t *testing.T) {
	s := newAPIServer(t, dev)
	s.open("processor", `,"overdraft":true,"side":"debit"`)
	s.open("shop", "")
	body := func(payee, more string) string {
		return `{"orderId":"o-1","payer":"processor","payee":"` + payee + `","amount":1000,"currency":"EUR"` + more + `}`
	}
	s.want(s.ask("PUT", "/v1/payments/p-1", body("ghost", "")), http.StatusNotFound, "account_not_found")
	s.want(s.ask("PUT", "/v1/payments/p-1", body("shop", `,"expiresAt":"2020-01-01T00:00:00Z"`)), http.StatusUnprocessableEntity, "invalid_request")

	if a := s.want(s.ask("PUT", "/v1/payments/p-1", body("processor", "")), http.StatusUnprocessableEntity, "invalid_request"); !strings.Contains(a.text, "another account than the payer") {
		t.Errorf("%s", a.text)
	}
	s.want(s.ask("GET", "/v1/payments/p-1", ""), http.StatusNotFound, "payment_not_found")
	s.want(s.callback("evt-1", `{"type":"payout.paid","data":"any"}`, nil), http.StatusOK, "")
}

// callback sends a callback that the processor signed. change may forge it afterwards.
func (s *apiServer) callback(id, body string, change func(h http.Header, body []byte) []byte) answer {
	s.t.Helper()

	return s.callbackTo("/v1/callbacks/payments", id, body, change)
}

// callbackTo sends a signed callback to a path.
func (s *apiServer) callbackTo(path, id, body string, change func(h http.Header, body []byte) []byte) answer {
	s.t.Helper()

	// {life} is the incarnation of the order that the body names.
	if order := orderInBody.FindStringSubmatch(body); order != nil {
		life := strings.Repeat("0", 13)
		if o, found, err := s.cfg.Orders.Get(s.t.Context(), transitions.OrderID(order[1])); err != nil {
			s.t.Fatal(err)
		} else if found {
			life = string(o.Incarnation)
		}
		body = strings.ReplaceAll(body, "{life}", life)
	}

	signed, err := s.signer.Sign(id, []byte(body))
	if err != nil {
		s.t.Fatal(err)
	}

	sent := []byte(body)
	if change != nil {
		sent = change(signed, sent)
	}
	r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(string(sent)))
	r.Header = signed
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, r)

	return s.explained(path, answer{rec.Result(), rec.Body.String()})
}

// succeeded returns the body of a callback about a successful step.
func succeeded(key string, amount int) string {
	return fmt.Sprintf(`{"type":"payment.succeeded","timestamp":"2026-11-21T12:00:00Z","data":{"key":%q,"amount":%d,"currency":"EUR"}}`, key, amount)
}

func TestACallbackIsHandledOnceAndNotTrusted(t *testing.T) {
	s := newAPIServer(t, dev)
	s.authorize("p-1")

	for _, c := range []struct{ id, body, effect string }{
		{"evt-1", succeeded("p-1/authorize", 1000), "none"}, // the outcome was known
		{"evt-1", succeeded("p-1/authorize", 1000), "none"},
		{"evt-2", succeeded("p-1/authorize", 9999), "parked"},
		{"evt-3", succeeded("p-1/c-9", 5), "parked"},
		{"evt-4", succeeded("p-9/authorize", 5), "parked"},
	} {
		if a := s.want(s.callback(c.id, c.body, nil), http.StatusOK, ""); a.field("effect") != c.effect {
			t.Errorf("%s: %s, want %s", c.id, a.text, c.effect)
		}
	}

	if a := s.want(s.ask("GET", "/v1/callbacks/payments/parked", ""), http.StatusOK, ""); strings.Count(a.text, `"eventId"`) != 3 {
		t.Errorf("%s", a.text)
	}

	if a := s.want(s.ask("GET", "/v1/payments/p-1", ""), http.StatusOK, ""); a.field("state") != "AUTHORIZED" || a.field("captured") != "0" {
		t.Errorf("a callback moved money: %s", a.text)
	}
}

// The test changes each byte of the body, and bytes of each header of the signature.
func TestAForgedCallbackIsRefused(t *testing.T) {
	s := newAPIServer(t, nil)
	body := succeeded("p-1/authorize", 1000)
	for i := range body {
		a := s.callback("evt-1", body, func(_ http.Header, b []byte) []byte { b[i] ^= 1; return b })
		s.want(a, http.StatusUnauthorized, "signature_refused")
	}

	for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		for i := range 12 {
			a := s.callback("evt-1", body, func(h http.Header, b []byte) []byte {
				text := []byte(h.Get(name))
				text[i%len(text)] ^= 1
				h.Set(name, string(text))
				return b
			})
			s.want(a, http.StatusUnauthorized, "signature_refused")
		}
		a := s.callback("evt-1", body, func(h http.Header, b []byte) []byte { h.Del(name); return b })
		s.want(a, http.StatusUnauthorized, "signature_refused")
	}
	s.want(s.callback("evt-1", `{"type":1}`, nil), http.StatusUnprocessableEntity, "malformed_callback")
	s.want(s.callback("evt-1", strings.Repeat("a", 300<<10), nil), http.StatusRequestEntityTooLarge, "body_too_large")
}
