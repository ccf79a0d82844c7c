package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"ratchet/api"
	"ratchet/api/auth"
)

// crawl opens a connection that sends the header of the request, the beginning of its body,
// and no more. It returns when the server reads the body, or has refused it.
func crawl(t *testing.T, address, header string) {
	t.Helper()

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n{", header); err != nil {
		t.Fatal(err)
	}

	// The server sends "100 Continue" when it begins to read the body.
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// authorized sends a GET with the credential and returns the status and the body.
func authorized(t *testing.T, address, credential string) (int, string) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", credential)

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}

	return answer.StatusCode, string(text)
}

// 256 connections of one address send the body of a callback, or of a request with an
// invalid credential, and do not finish it.
func TestSlowStrangersDoNotDelayOthers(t *testing.T) {
	for _, header := range []string{
		"POST /v1/callbacks/payments",
		"POST /v1/callbacks/carrier",
		"PUT /v1/orders/o-1",
	} {
		t.Run(header, func(t *testing.T) {
			s := newAPIServer(t, func(c *api.Config) { c.Rate = 0 }) // the default
			address := onWire(t, s)
			known, fresh := s.key("acme", auth.Read), s.key("acme", auth.Read)
			t.Cleanup(http.DefaultClient.CloseIdleConnections)

			if status, text := authorized(t, address, known); status != http.StatusOK {
				t.Fatalf("before: %d %s", status, text)
			}

			if strings.HasPrefix(header, "POST") {
				for range 256 {
					crawl(t, address, header)
				}
			} else {
				for range 19 { // one more would exhaust the limit of invalid credentials
					crawl(t, address, header)
				}
			}

			for about, key := range map[string]string{"a known key": known, "a key that the server has not seen": fresh} {
				if status, text := authorized(t, address, key); status != http.StatusOK {
					t.Errorf("%s: %d %s", about, status, text)
				}
			}
		})
	}
}

// More strangers than there are slots, of as many addresses, send a body and do not finish it.
func TestBodiesOfStrangersTakeNoSlotOfACaller(t *testing.T) {
	const slots = 4
	s := newAPIServer(t, func(c *api.Config) { dev(c); c.InFlight = slots })

	arriving, proceed := make(chan struct{}, 8*slots), make(chan struct{})
	var group sync.WaitGroup

	for i := range 8 * slots {
		group.Go(func() { s.callbackFrom(fmt.Sprintf("192.0.%d.1:1", i), &pausedBody{arriving, proceed}) })
	}

	for range 2 * slots {
		<-arriving
	}
	s.want(s.ask("PUT", "/v1/orders/o-1", mugs), http.StatusCreated, "")
	close(proceed)
	group.Wait()
}

// callbackFrom sends a callback from the address and returns the code of its problem.
func (s *apiServer) callbackFrom(address string, body io.Reader) string {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/callbacks/payments", body)
	r.RemoteAddr = address
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, r)

	return answer{text: rec.Body.String()}.code()
}

// pausedBody ends when proceed is closed.
type pausedBody struct {
	arriving chan<- struct{}
	proceed  <-chan struct{}
}

func (b *pausedBody) Read([]byte) (int, error) {
	b.arriving <- struct{}{}
	<-b.proceed

	return 0, io.EOF
}

// A caller takes three of the four slots. The fourth is for others.
func TestOneCallerDoesNotTakeAllSlots(t *testing.T) {
	t.Parallel() // a refused request has waited for a second

	entered, proceed := make(chan struct{}, 10), make(chan struct{})
	s := newAPIServer(t, func(cfg *api.Config) {
		cfg.InFlight = 4
		cfg.Start = blockingStart(entered, proceed)
	})
	busy, other := s.key("acme", auth.Act), s.key("acme", auth.Act)

	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			s.want(s.ask("PUT", fmt.Sprintf("/v1/orders/o-%d", i), mugs, "Authorization", busy), http.StatusCreated, "")
		})
		<-entered
	}

	s.want(s.ask("GET", "/v1/orders/z", "", "Authorization", busy), http.StatusServiceUnavailable, "overloaded")
	s.want(s.ask("GET", "/v1/orders/z", "", "Authorization", other), http.StatusNotFound, "order_not_found")
	close(proceed)
	group.Wait()
}

func TestTheBurstFollowsFromTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for rate, want := range map[float64]int{5: 10, 0.5: 1, 0.1: 1} {
			s := newAPIServer(t, func(cfg *api.Config) { cfg.Rate = rate })
			key := s.key("acme", auth.Read)

			served := 0
			for range 50 {
				if s.ask("GET", "/v1/orders/z", "", "Authorization", key).StatusCode == http.StatusNotFound {
					served++
				}
			}

			if served != want {
				t.Errorf("rate %v: %d requests at once, want %d", rate, served, want)
			}
		}
	})
}
