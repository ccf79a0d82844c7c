//go:build upgrade

package upgrade

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"ratchet/notify/webhooks"
)

// hookSecret signs the notifications.
const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver gets notifications, at one path for each endpoint. It honors their keys.
type receiver struct {
	server *httptest.Server

	mu      sync.Mutex
	got     map[string]map[string]string // bodies by path and key
	newest  map[string]int64             // the newest transition, by path and order
	repeats int
	faults  []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()

	secret, err := webhooks.ParseSecret(hookSecret)
	if err != nil {
		t.Fatal(err)
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	if err != nil {
		t.Fatal(err)
	}

	r := &receiver{got: map[string]map[string]string{}, newest: map[string]int64{}}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		message, err := keys.Read(request, 256<<10)
		if err == nil {
			err = r.take(request.URL.Path, message.Body)
		}

		if err != nil {
			r.fault("a request to %s: %v", request.URL.Path, err)
			http.Error(w, err.Error(), http.StatusBadRequest)

			return
		}
		_, _ = io.WriteString(w, "taken")
	}))
	t.Cleanup(r.server.Close)

	return r
}

// take stores a notification. A repeat must be the same as before. The first ones of an order come in
// its order, because both endpoints ask for that.
func (r *receiver) take(path string, body []byte) error {
	var n struct {
		Data struct {
			Key, OrderID string
			TransitionID int64
		}
	}
	if err := json.Unmarshal(body, &n); err != nil {
		return err
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	if r.got[path] == nil {
		r.got[path] = map[string]string{}
	}

	if before, repeated := r.got[path][n.Data.Key]; repeated {
		if before != string(body) {
			r.faults = append(r.faults, fmt.Sprintf("%s: %s\nbefore: %s", path, body, before))
		}
		r.repeats++

		return nil
	}
	r.got[path][n.Data.Key] = string(body)

	last := path + " " + n.Data.OrderID
	if n.Data.TransitionID <= r.newest[last] {
		r.faults = append(r.faults, fmt.Sprintf("%s: %s after transition %d", path, body, r.newest[last]))
	}
	r.newest[last] = n.Data.TransitionID

	return nil
}

func (r *receiver) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// count returns how many notifications, without repeats, have come to the path.
func (r *receiver) count(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return len(r.got[path])
}

// check compares what each endpoint has got with the number of notifications that were stored.
func (r *receiver) check(t *testing.T, want int, paths ...string) {
	t.Helper()

	r.mu.Lock()
	defer r.mu.Unlock()

	for _, path := range paths {
		if n := len(r.got[path]); n != want {
			t.Errorf("%s has %d notifications of %d", path, n, want)
		}
	}

	for _, fault := range r.faults {
		t.Error(fault)
	}
	t.Logf("%d notifications at each of %v, and %d repeats", want, paths, r.repeats)
}
