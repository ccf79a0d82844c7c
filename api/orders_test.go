package api_test

import (
	"net/http"
	"testing"
)

func TestAnOrderIsPlacedOnceUnderItsKey(t *testing.T) {
	w := newWorld(t, dev)
	first := w.want(w.ask("POST", "/v1/orders", mugs, "Idempotency-Key", "k1"), http.StatusCreated, "")
	again := w.want(w.ask("POST", "/v1/orders", mugs, "Idempotency-Key", "k1"), http.StatusOK, "")
	if first.field("orderId") != again.field("orderId") || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%s\n%s", first.text, again.text)
	}
	if first.Header.Get("Location") != "/v1/orders/"+first.field("orderId") || first.Header.Get("ETag") != `"t1.c0"` {
		t.Errorf("headers %v", first.Header)
	}
	w.want(w.ask("POST", "/v1/orders", `{"total":{"amount":1,"currency":"EUR"}}`, "Idempotency-Key", "k1"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	w.want(w.ask("POST", "/v1/orders", mugs), http.StatusBadRequest, "idempotency_key_missing")
	w.want(w.ask("GET", "/v1/orders/"+first.field("orderId"), ""), http.StatusOK, "")
}
