package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/faults"
	"ratchet/server"
)

// TestARefusalOfAFullDiskIsFinal: the API says at once, and for certain, that nothing was done.
func TestARefusalOfAFullDiskIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := initialized(t, server.Config{Data: t.TempDir()})

		handler, err := b.APIHandler(t.Context(), true, discard{})
		if err != nil {
			t.Fatal(err)
		}

		refusal := faults.Fail("UpdateItem", "PutItem", "TransactWriteItems")
		refusal.Err = &faults.Error{Code: "InsufficientStorage", Status: http.StatusInsufficientStorage}

		if _, err := b.Engine.Inject(refusal); err != nil {
			t.Fatal(err)
		}

		// Well below the time for which an unknown outcome is asked again.
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()

		r := httptest.NewRequestWithContext(ctx, http.MethodPut, "http://localhost/v1/orders/o-1", strings.NewReader(`{"total":{"amount":100,"currency":"EUR"},"execution":"none"}`))
		r.Header.Set("Content-Type", "application/json")

		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)

		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "disk_full") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
