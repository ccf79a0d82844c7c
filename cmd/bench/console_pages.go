package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
)

const (
	consoleWatched      = time.Minute // how long an overview is watched
	consoleWatchedShort = 10 * time.Second
	consoleSettles      = 3 * time.Second // after it, pages that are watched have been read more than once
	kilobyte            = 1000.0
)

// benchConsolePages measures, over the store of the part api-pages, how long the console takes for a page of stored data, how many bytes
// it has and how many read units it costs, and what it costs that people watch the overview.
func benchConsolePages(ctx context.Context, work size) ([]figure, error) {
	c := &consoleBench{pagesBench: &pagesBench{orders: pagesOrders, reads: map[string]float64{}}, requests: pagesRequests, watched: consoleWatched}
	if work.short() {
		c.orders, c.requests, c.watched = pagesShort, pagesRequests/10, consoleWatchedShort
	}

	n, err := numberFrom("BENCH_ORDERS", c.orders, 100)
	if err != nil {
		return nil, err
	}
	c.orders = n

	return storedPages(func(dir string) ([]figure, error) { return c.measureAll(ctx, dir) })
}

// consoleBench is a store with the console over it.
type consoleBench struct {
	*pagesBench
	requests int // of each page
	watched  time.Duration
}

func (c *consoleBench) measureAll(ctx context.Context, dir string) (figures []figure, err error) {
	if err := c.open(ctx, dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.b.Close()) }()

	if figures, err = c.fillOnce(ctx, dir); err != nil {
		return nil, fmt.Errorf("fill with %d orders: %w", c.orders, err)
	}

	draining := make(chan struct{})
	defer close(draining)

	// From here on the requests are the console's.
	c.handler, err = console.New(console.Config{
		API: c.handler,
		Identify: func(*http.Request) (api.Identity, bool) {
			return api.Identity{Principal: auth.Dev, Via: "console"}, true
		},
		Log:      slog.New(slog.DiscardHandler),
		Draining: draining,
	})
	if err != nil {
		return nil, err
	}

	pages, err := c.measurePages(ctx)
	if figures = append(figures, pages...); err != nil {
		return figures, err
	}
	watched, err := c.watchOverview(ctx)

	return append(figures, watched...), err
}

// consolePages are the pages of stored data. Each has what the store has most of.
func (c *consoleBench) consolePages() []page {
	all := c.pages()
	order := all[slices.IndexFunc(all, func(p page) bool { return p.name == "time_line" })]

	return []page{
		{name: "overview", list: "/"},
		{name: "orders_by_state", list: "/orders?state=PENDING"},
		{name: "order", path: func(n int) string { return "/orders/" + orderOf(order.path(n)) }, paced: true},
		{name: "refusals", list: "/refusals"},
		{name: "executions", list: "/executions", paced: true},
		{name: "stream", list: "/stream"},
		{name: "dead_letters", list: "/dead-letters"},
		{name: "deliveries", list: "/deliveries?" + url.Values{"endpoint": {"shop"}, "status": {"PENDING"}}.Encode()},
		{name: "workflow", list: "/workflow"},
		{name: "money", list: "/money"},
		{name: "stock", list: "/stock"},
		{name: "audit", list: "/audit"},
		{name: "documents", list: "/docs/"},
	}
}

// orderOf is the order of a path of the API.
func orderOf(path string) string { return regexp.MustCompile(`o-\d+`).FindString(path) }

func (c *consoleBench) measurePages(ctx context.Context) (figures []figure, err error) {
	var slowest, most, reads float64
	shared := 0.0

	for _, asked := range c.consolePages() {
		p50, p95, units, body, err := c.measurePage(ctx, asked)
		if err != nil {
			return figures, err
		}

		if shared == 0 {
			if shared, err = c.assets(ctx, body); err != nil {
				return figures, err
			}
		}
		size := zipped(body)
		slowest, most, reads = max(slowest, p95), max(most, size), max(reads, units)

		figures = append(figures,
			figure{"console_page_p50_ms_" + asked.name, p50, "ms", ""},
			figure{"console_page_p95_ms_" + asked.name, p95, "ms", ""},
			figure{"console_page_reads_" + asked.name, units, "", "read units"},
			figure{"console_page_kb_" + asked.name, size, "KB", "compressed"},
		)
	}

	return append(figures,
		figure{"console_page_p95_ms", slowest, "ms", "of the slowest of these pages; goal: less than 50"},
		figure{"console_page_reads", reads, "", "read units of the most expensive of these pages"},
		figure{"console_first_visit_kb", shared + most, "KB", "compressed, of the largest page with script, style and icon; goal: less than 100"},
		figure{"console_next_visit_kb", most, "KB", "compressed, of the largest page; goal: less than 30"},
	), nil
}

// measurePage asks for the page again and again. The first tenth is not counted.
func (c *consoleBench) measurePage(ctx context.Context, asked page) (p50, p95, reads float64, body []byte, err error) {
	requests := c.requests
	if asked.paced {
		requests = max(requests/10, 10)
	}

	var took []time.Duration
	for n := range requests + requests/10 {
		if n == requests/10 {
			c.take()
			took = nil
		}

		path := asked.list
		if asked.path != nil {
			path = asked.path(n)
		}

		answer, once, err := c.answer(ctx, console.Path+path)
		if err != nil {
			return 0, 0, 0, nil, err
		}
		took = append(took, once)

		if len(answer) > len(body) {
			body = answer
		}
	}
	reads = c.take() / float64(requests)
	slices.Sort(took)

	return rushMillis(took[len(took)/2]), rushMillis(took[len(took)*95/100]), reads, body, nil
}

var assetOf = regexp.MustCompile(`"(` + console.Path + `/static/[^"]+)"`)

// assets returns the size of what all pages share, compressed: a browser keeps it.
func (c *consoleBench) assets(ctx context.Context, body []byte) (size float64, err error) {
	for _, found := range assetOf.FindAllSubmatch(body, -1) {
		content, _, err := c.answer(ctx, string(found[1]))
		if err != nil {
			return 0, err
		}
		size += zipped(content)
	}

	if size == 0 {
		return 0, errors.New("the page has no script and no style")
	}

	return size, nil
}

// zipped is the size of the content in KB, as a proxy compresses it.
func zipped(content []byte) float64 {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content) // a buffer takes everything
	_ = w.Close()

	return float64(b.Len()) / kilobyte
}

// watchOverview measures the processor time and the read units of an overview that one person and ten people watch, less those of this
// process when nobody does.
func (c *consoleBench) watchOverview(ctx context.Context) (figures []figure, err error) {
	idleCPU, idleReads, err := c.watch(ctx, 0)
	if err != nil {
		return nil, err
	}

	for _, viewers := range []int{1, 10} {
		cpu, reads, err := c.watch(ctx, viewers)
		if err != nil {
			return figures, err
		}
		figures = append(figures,
			figure{fmt.Sprintf("console_watched_%d_cpu_percent", viewers), cpu - idleCPU, "%", "of a core, browsers' side of the connections included; goal: less than 1"},
			figure{fmt.Sprintf("console_watched_%d_reads_per_minute", viewers), reads - idleReads, "1/min", "read units; goal: the same for 1 and for 10"},
		)
	}

	return figures, nil
}

// watch lets viewers follow the overview, and returns the processor time of this process in percent of a core, and the read units a minute.
func (c *consoleBench) watch(ctx context.Context, viewers int) (cpu, reads float64, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	served := httptest.NewServer(c.handler)
	defer served.Close()
	// Before the server is closed, which waits for the streams.
	var group errgroup.Group
	defer func() {
		stop()
		err = errors.Join(err, group.Wait())
	}()

	connected := make(chan struct{}, viewers)
	for range viewers {
		group.Go(func() error {
			err := followOverview(ctx, served.URL, connected)
			if ctx.Err() != nil {
				return nil
			}

			return errors.Join(errors.New("a viewer's stream has ended"), err)
		})
	}

	for range viewers {
		select {
		case <-connected:
		case <-time.After(time.Minute):
			return 0, 0, errors.New("a viewer gets nothing")
		}
	}

	if err := pause(ctx, consoleSettles); err != nil {
		return 0, 0, err
	}
	c.take()
	before := now()

	if err := pause(ctx, c.watched); err != nil {
		return 0, 0, err
	}
	after := now()
	took := after.at.Sub(before.at)

	return 100 * (after.cpu - before.cpu).Seconds() / took.Seconds(), c.take() / took.Minutes(), nil
}

// followOverview reads what a browser gets that follows the overview, until ctx ends.
func followOverview(ctx context.Context, address string, connected chan<- struct{}) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+console.Path+"/live/", nil)
	if err != nil {
		return err
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()

	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}

	if _, err := io.CopyN(io.Discard, answer.Body, 1); err != nil {
		return err
	}
	connected <- struct{}{}
	_, err = io.Copy(io.Discard, answer.Body)

	return err
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
