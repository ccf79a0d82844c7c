package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ratchet/notify/webhooks"
)

// TestTheReceiverActsOnce: it gets each message three times, the last time after a crash that has
// cut off the ledger's last line.
func TestTheReceiverActsOnce(t *testing.T) {
	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "ledger")

	post := func(l *ledger, id string, sign bool) int {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"a":1}`))

		if sign {
			headers, err := keys.Sign(id, []byte(`{"a":1}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = headers
		}
		w := httptest.NewRecorder()
		handler(keys, l).ServeHTTP(w, r)

		return w.Code
	}

	for range 2 {
		l, err := openLedger(name)
		if err != nil {
			t.Fatal(err)
		}

		for range 2 {
			for _, id := range []string{"ntf_1", "ntf_2"} {
				if code := post(l, id, true); code != http.StatusNoContent {
					t.Errorf("%s: %d", id, code)
				}
			}
		}

		if code := post(l, "ntf_3", false); code != http.StatusUnauthorized {
			t.Errorf("without a signature: %d", code)
		}
		_, _ = l.file.WriteString("ntf_9 {\"cut")
		l.file.Close()
	}

	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"ntf_1 ", "ntf_2 "} {
		if n := strings.Count(string(text), id); n != 1 {
			t.Errorf("%s%d effects", id, n)
		}
	}
}
