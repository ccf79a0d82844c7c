package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/server"
	"ratchet/transitions"
)

// keyedPath is the part of the path on which a request id costs no read: while the order's ring has
// free slots, a new request id cannot have been forgotten.
var keyedPath = path[:8]

// benchHTTP compares three ways to make the same transitions: the Go call, the API's handler
// in this process (routing, credential, rate, strict JSON, schema, verdict to status), and
// HTTP over a socket with Go's client.
func benchHTTP(ctx context.Context, work size) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "ratchet-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	b, err := server.Embed(server.Config{
		Data:   filepath.Join(dir, "data"),
		Notify: "dir:" + filepath.Join(dir, "notices"),
		// No limit of the rate: it would be measured instead of the handler.
		API: server.APIConfig{Rate: -1},
	}, slog.New(slog.DiscardHandler), server.Events{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	if err := b.CreateTables(ctx); err != nil {
		return nil, err
	}

	_, token, err := b.APIKeys.Create(ctx, auth.NewKey{Name: "bench", Tenant: auth.DefaultTenant, Scope: auth.Act})
	if err != nil {
		return nil, err
	}

	handler, err := b.APIHandler(ctx, false, io.Discard)
	if err != nil {
		return nil, err
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return nil, err
	}

	web := api.Server(handler)
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	defer func() {
		err = errors.Join(err, web.Close())
		<-served
	}()

	transport := &http.Transport{MaxIdleConnsPerHost: 512}
	defer transport.CloseIdleConnections()
	h := &httpBench{
		b:       b,
		handler: handler,
		token:   string(token),
		address: "http://" + listener.Addr().String(),
		client:  &http.Client{Transport: transport},
	}

	const callers = 32
	orders := max(work.orders/20/callers, 1) * callers

	m, err := turns(ctx, work, callers, orders, h.way(orders, "go", h.call), h.way(orders, "handler", h.handle), h.way(orders, "socket", h.ask))
	if err != nil {
		return nil, fmt.Errorf("HTTP: %w", err)
	}
	steps := float64(len(keyedPath))

	// layer is the processor time that a way needs in addition to the way below it.
	layer := func(name, about string, upper, lower measure) figure {
		spent := make([]float64, len(upper.cpu))
		for i := range spent {
			// Round by round, because both ways of a round had the same disturbances.
			spent[i] = (upper.cpu[i] - lower.cpu[i]) / steps * 1e6
		}

		return figure{name: name, value: median(spent), unit: "µs", about: about}
	}

	return []figure{
		{
			name:  "http_transition_ratio",
			value: ratio(m[2].rates, m[0].rates),
			about: fmt.Sprintf("a transition over HTTP / the Go call, per second, %d callers, client and server on one machine", callers),
		},
		{
			name:  "http_handler_ratio",
			value: ratio(m[1].rates, m[0].rates),
			about: "the API's handler without a socket / the Go call",
		},
		{name: "http_transitions_per_second", value: median(m[2].rates) * steps, unit: "1/s", about: "over HTTP"},
		// Below the Go call there is nothing, so its layer is its whole time.
		layer("http_cpu_go_us", "processor time of the Go call: Apply, SDK, engine", m[0], measure{cpu: make([]float64, len(m[0].cpu))}),
		layer("http_cpu_handler_us", "what the API's handler adds: credential, limits, JSON, schema, answer", m[1], m[0]),
		layer("http_cpu_socket_us", "what the socket adds: net/http on both sides", m[2], m[1]),
	}, nil
}

// httpBench moves orders by Go call, by handler and by socket.
type httpBench struct {
	b       *server.Backend
	handler http.Handler
	client  *http.Client
	address string
	token   string
}

func (h *httpBench) way(orders int, name string, move step) way {
	id := func(round, order int) transitions.OrderID {
		return transitions.OrderID(fmt.Sprintf("%s-%d-%d", name, round, order))
	}

	return way{
		prepare: func(ctx context.Context, round int) error {
			return share(ctx, min(orders, 64), orders, func(ctx context.Context, order int) error {
				_, err := h.b.Orders.Create(ctx, transitions.NewOrder{
					ID:    id(round, order),
					Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 500}},
					Total: transitions.Money{Amount: 500, Currency: "EUR"},
				})

				return err
			})
		},
		do: func(ctx context.Context, round, order int) error {
			for n := range keyedPath {
				if err := move(ctx, id(round, order), transitions.TransitionID(n+2)); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

func requestID(id transitions.OrderID, n transitions.TransitionID) string {
	return fmt.Sprintf("%s-request-%d", id, n)
}

// call makes the Go call.
func (h *httpBench) call(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) error {
	r, err := h.b.Orders.Apply(ctx, transitions.Request{
		OrderID:      id,
		Event:        keyedPath[n-2],
		TransitionID: n,
		RequestID:    transitions.RequestID(requestID(id, n)),
	})
	if err == nil && r.Verdict != transitions.Applied {
		err = fmt.Errorf("order %s, transition %d: %s", id, n, r.Verdict)
	}

	return err
}

func (h *httpBench) request(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address+"/v1/orders/"+string(id)+"/transitions",
		bytes.NewReader(fmt.Appendf(nil, `{"event":%q,"transitionId":%d}`, keyedPath[n-2], n)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", requestID(id, n))

	return r, nil
}

// handle gives the request to the API's handler.
func (h *httpBench) handle(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) error {
	r, err := h.request(ctx, id, n)
	if err != nil {
		return err
	}
	// The handler reads the caller's address, which a request without a connection does not have.
	r.RemoteAddr = "127.0.0.1:1"

	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)

	if w.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", r.URL, w.Code, w.Body)
	}

	return nil
}

// ask sends the request over the socket.
func (h *httpBench) ask(ctx context.Context, id transitions.OrderID, n transitions.TransitionID) error {
	r, err := h.request(ctx, id, n)
	if err != nil {
		return err
	}

	response, err := h.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", r.URL, response.StatusCode, body)
	}

	return err
}
