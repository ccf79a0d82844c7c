package api_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratchet/api"
)

// stream opens the event stream of an order. The channel receives the ids of the events, and
// "end".
func stream(ctx context.Context, t *testing.T, address, order, last string) (ids <-chan string, status int, kind string) {
	t.Helper()

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/orders/"+order+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}

	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}

	answer, err := http.DefaultClient.Do(r) //nolint:bodyclose // the reading goroutine closes it
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer answer.Body.Close()

		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if id, found := strings.CutPrefix(lines.Text(), "id: "); found {
				out <- id
			}

			if lines.Text() == "event: end" {
				out <- "end"
			}
		}
	}()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	return out, answer.StatusCode, answer.Header.Get("Content-Type")
}

// next returns the next event. It fails the test after two minutes.
func next(t *testing.T, ids <-chan string) string {
	t.Helper()

	select {
	case id := <-ids:
		return id
	case <-time.After(2 * time.Minute):
		t.Fatal("no event arrived")
		return ""
	}
}

// move applies the event to the order.
func (s *apiServer) move(order, event, key string) {
	s.t.Helper()
	s.want(s.ask("POST", "/v1/orders/"+order+"/transitions", `{"event":"`+event+`"}`, "Idempotency-Key", key), http.StatusOK, "")
}

func TestAnEventStreamShowsEveryTransitionUntilTheEnd(t *testing.T) {
	s := newAPIServer(t, dev)
	address := onWire(t, s)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	ids, _, kind := stream(t.Context(), t, address, "o-1", "")
	if kind != "text/event-stream" {
		t.Errorf("Content-Type %q", kind)
	}

	if id := next(t, ids); id != "1" {
		t.Errorf("first event %s, want 1", id)
	}
	s.move("o-1", "hold", "a")

	if id := next(t, ids); id != "2" {
		t.Errorf("second event %s, want 2", id)
	}
	s.move("o-1", "cancel", "b")

	if a, b := next(t, ids), next(t, ids); a != "3" || b != "end" {
		t.Errorf("last events %s, %s, want 3, end", a, b)
	}

	if _, open := <-ids; open {
		t.Error("the stream continues after the end")
	}
}

// The client missed more transitions than the order's ring remembers.
func TestAReconnectedStreamMissesNothing(t *testing.T) {
	s := newAPIServer(t, dev)
	address := onWire(t, s)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")

	for i := range 20 {
		s.move("o-1", []string{"hold", "release"}[i%2], strconv.Itoa(i))
	}

	ids, _, _ := stream(t.Context(), t, address, "o-1", "3")
	var got []string
	for range 18 {
		got = append(got, next(t, ids))
	}

	if got[0] != "4" || got[17] != "21" || !slices.IsSortedFunc(got, func(a, b string) int { return len(a)*100 - len(b)*100 + strings.Compare(a, b) }) {
		t.Errorf("events %v, want 4 to 21", got)
	}
}

func TestEventStreamsAreBoundedAndEndWithTheServer(t *testing.T) {
	stopping := make(chan struct{})
	s := newAPIServer(t, func(cfg *api.Config) { dev(cfg); cfg.Watches, cfg.Draining = 2, stopping })
	address := onWire(t, s)
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	s.want(s.ask("GET", "/v1/orders/o-2/events", ""), http.StatusNotFound, "order_not_found")
	ctx, leave := context.WithCancel(t.Context())
	first, _, _ := stream(ctx, t, address, "o-1", "")
	second, _, _ := stream(t.Context(), t, address, "o-1", "")
	next(t, first)
	next(t, second)
	s.want(s.ask("GET", "/v1/orders/o-1/events", ""), http.StatusTooManyRequests, "too_many_watches")
	leave()

	// The place is free as soon as the server notices that the first client is gone.
	for {
		r, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		third, status, _ := stream(r, t, address, "o-1", "")
		if status == http.StatusOK {
			next(t, third)
			cancel()
			break
		}
		cancel()
	}
	close(stopping)

	for range second { // until the stream ends
	}
}
