package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/api/auth"
	"ratchet/server"
)

const (
	pagesOrders   = 20_000 // make bench-large has a million
	pagesShort    = 5_000
	pagesRequests = 400 // of each page
)

// benchAPIPages fills a store with orders, with lists, and measures how long the API takes for a page of stored data, and how
// many read units it costs. BENCH_ORDERS is the number of orders, BENCH_STORE a folder that keeps them for the next run.
func benchAPIPages(ctx context.Context, work size) ([]figure, error) {
	return storedPages(ctx, work, measurePages)
}

// storedPages calls part with a store that has the orders, in the folder of BENCH_STORE, which stays, or else in one that goes
// with the part.
func storedPages(ctx context.Context, work size, part func(context.Context, *pagesBench) ([]figure, error)) ([]figure, error) {
	p := &pagesBench{orders: pagesOrders, requests: pagesRequests, reads: map[string]float64{}}
	if work.short() {
		p.orders, p.requests = pagesShort, pagesRequests/10
	}

	n, err := numberFrom("BENCH_ORDERS", p.orders, 100)
	if err != nil {
		return nil, err
	}
	p.orders = n

	measure := func(dir string) (figures []figure, err error) {
		if err := p.open(ctx, dir); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.b.Close()) }()

		if figures, err = p.fillOnce(ctx, dir); err != nil {
			return nil, err
		}
		measured, err := part(ctx, p)

		return append(figures, measured...), err
	}

	if dir := os.Getenv("BENCH_STORE"); dir != "" {
		return measure(dir)
	}

	return onDisk(measure)
}

func measurePages(ctx context.Context, p *pagesBench) (figures []figure, err error) {
	worst := 0.0
	for _, page := range p.pages() {
		took, err := p.measure(ctx, page, "", nextOf)
		if err != nil {
			return figures, err
		}
		worst = max(worst, took.p95)

		figures = append(figures,
			figure{"api_page_p50_ms_" + page.name, took.p50, "ms", ""},
			figure{"api_page_p95_ms_" + page.name, took.p95, "ms", ""},
			figure{"api_page_reads_" + page.name, took.reads, "", "read units"})
	}

	return append(figures, figure{"api_page_p95_ms", worst, "ms", "of the slowest of these pages; goal: at most 30 with a million orders"}), nil
}

// pagesBench is a store with the API over it.
type pagesBench struct {
	b       *server.Backend
	handler http.Handler
	token   string
	orders  int
	// requests is how often each page is asked for.
	requests int

	mu    sync.Mutex
	reads map[string]float64 // read units by table, since the last take
}

func (p *pagesBench) open(ctx context.Context, dir string) (err error) {
	events := server.Events{Billed: func(table string, read, _ float64) {
		p.mu.Lock()
		p.reads[table] += read
		p.mu.Unlock()
	}}

	p.b, err = server.Embed(server.Config{
		Data: filepath.Join(dir, "data"), Notify: "dir:" + filepath.Join(dir, "notices"), OrderLists: true,
		// No limit of the rate: it would be measured instead of the page.
		API: server.APIConfig{Rate: -1},
	}, slog.New(slog.DiscardHandler), events)
	if err != nil {
		return err
	}

	if err := p.prepare(ctx); err != nil {
		return errors.Join(err, p.b.Close())
	}

	return nil
}

func (p *pagesBench) prepare(ctx context.Context) error {
	if err := p.b.Init(ctx); err != nil {
		return err
	}

	_, token, err := p.b.APIKeys.Create(ctx, auth.NewKey{Name: "bench", Tenant: auth.DefaultTenant, Scope: auth.Admin, Personal: true})
	if err != nil {
		return err
	}
	p.token = string(token)
	p.handler, err = p.b.APIHandler(ctx, false, io.Discard)

	return err
}

// page is a request for stored data.
type page struct {
	name string
	// path is of the n-th request, if the requests are about one thing each. Otherwise they follow the pages of the list.
	path func(n int) string
	list string
	// paced says that the API bounds how often it asks Step Functions: fewer requests, and those that are refused come again.
	paced bool
}

func (p *pagesBench) pages() []page {
	// The same numbers in each run.
	r := rand.New(rand.NewPCG(1, 2))

	// Orders with a number below few have what is rarer than an order: see fillRest.
	about := func(path string, below int) func(int) string {
		return func(int) string { return fmt.Sprintf(path, pagesOrder(r.IntN(below))) }
	}
	since := url.QueryEscape(time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339))
	until := url.QueryEscape(time.Now().UTC().Format(time.RFC3339))

	return []page{
		{name: "orders_by_state", list: "/v1/orders?state=PENDING"},
		{name: "orders_by_rarer_state", list: "/v1/orders?state=ON_HOLD"},
		{name: "orders_by_time", list: "/v1/orders"},
		{name: "orders_since_until", list: "/v1/orders?since=" + since + "&until=" + until},
		{name: "orders_of_customer", path: func(int) string { return "/v1/orders?customer=" + pagesCustomer(r.IntN(p.orders)) }},
		{name: "stuck_orders", list: "/v1/stuck-orders"},
		{name: "order", path: about("/v1/orders/%s", p.orders)},
		{name: "transitions", path: about("/v1/orders/%s/transitions", p.orders)},
		{name: "time_line", path: about("/v1/orders/%s/explanation", p.rare())},
		{name: "execution_of_order", path: about("/v1/orders/%s/executions", p.rare()), paced: true},
		{name: "executions", list: "/v1/executions", paced: true},
		{name: "payments_by_state", list: "/v1/payments?state=CAPTURED"},
		{name: "dead_letters", list: "/v1/dead-letters"},
		{name: "deliveries", list: "/v1/endpoints/shop/deliveries"},
		{name: "stock", list: "/v1/inventory"},
	}
}

// pageTook is what a page takes.
type pageTook struct {
	p50, p95 float64 // ms
	reads    float64 // read units
	largest  []byte  // of the answers
}

// nextOf returns the cursor of the next page, "" if there is none.
func nextOf(answer []byte) (string, error) {
	var list struct{ Next string }
	err := json.Unmarshal(answer, &list)

	return list.Next, err
}

// measure asks for the page below a root again and again. The first tenth is not counted. With nextOf it follows the pages of a list.
func (p *pagesBench) measure(ctx context.Context, asked page, root string, nextOf func(answer []byte) (string, error)) (out pageTook, err error) {
	requests := p.requests
	if asked.paced {
		requests = max(requests/10, 10)
	}

	var took []time.Duration
	next := ""

	for n := range requests + requests/10 {
		if n == requests/10 {
			p.take()
			took = nil
		}

		path := asked.list
		if asked.path != nil {
			path = asked.path(n)
		} else if next != "" {
			path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "cursor=" + next
		}

		body, once, err := p.answer(ctx, root+path)
		if err != nil {
			return out, err
		}
		took = append(took, once)

		if len(body) > len(out.largest) {
			out.largest = body
		}

		if nextOf == nil {
			continue
		}

		if next, err = nextOf(body); err != nil {
			return out, fmt.Errorf("%s: %w", path, err)
		}
	}
	out.reads = p.take() / float64(requests)

	slices.Sort(took)
	out.p50, out.p95 = rushMillis(took[len(took)/2]), rushMillis(took[len(took)*95/100])

	return out, nil
}

// answer repeats a request that the API answers with 429 Too Many Requests. The time is of the last request alone.
func (p *pagesBench) answer(ctx context.Context, path string) ([]byte, time.Duration, error) {
	for {
		began := time.Now()
		status, body, err := p.ask(ctx, path)
		took := time.Since(began)

		switch {
		case err != nil:
			return nil, 0, err
		case status == http.StatusOK:
			return body, took, nil
		case status != http.StatusTooManyRequests:
			return nil, 0, fmt.Errorf("%s: %d %s", path, status, body)
		}

		select {
		case <-time.After(time.Second / 2):
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// take returns the read units since the last call.
func (p *pagesBench) take() (units float64) {
	p.mu.Lock()
	defer p.mu.Unlock()

	for n := range maps.Values(p.reads) {
		units += n
	}
	clear(p.reads)

	return units
}

// ask gives the request to the API's handler.
func (p *pagesBench) ask(ctx context.Context, path string) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	// The handler reads the caller's address, which a request without a connection does not have.
	r.RemoteAddr = "127.0.0.1:1"

	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)

	return w.Code, w.Body.Bytes(), nil
}
