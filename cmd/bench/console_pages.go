package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/internal/worker"
)

const (
	consoleWatched      = time.Minute // how long an overview is watched
	consoleWatchedShort = 10 * time.Second
	consoleSettles      = 3 * time.Second // after it, pages that are watched have been read more than once
	kilobyte            = 1000.0
)

// benchConsolePages measures, over the store of the part api-pages, how long the console takes for a page of stored data, the
// bytes and read units of a page, and the processor time and read units of an overview that people watch.
func benchConsolePages(ctx context.Context, work size) ([]figure, error) {
	watched := consoleWatched
	if work.short() {
		watched = consoleWatchedShort
	}

	return storedPages(ctx, work, func(ctx context.Context, p *pagesBench) ([]figure, error) {
		c := &consoleBench{pagesBench: p, watched: watched}
		return c.measureAll(ctx)
	})
}

// consoleBench is a store with the console over it.
type consoleBench struct {
	*pagesBench
	watched time.Duration
}

func (c *consoleBench) measureAll(ctx context.Context) (figures []figure, err error) {
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

	if figures, err = c.measurePages(ctx); err != nil {
		return figures, err
	}
	watched, err := c.watchOverview(ctx)

	return append(figures, watched...), err
}

// consolePages are the pages of stored data. Each has what the store has most of.
func (c *consoleBench) consolePages() []page {
	// The same orders in each run.
	r := rand.New(rand.NewPCG(1, 2))

	return []page{
		{name: "overview", list: "/"},
		{name: "orders_by_state", list: "/orders?state=PENDING"},
		{name: "order", path: func(int) string { return "/orders/" + pagesOrder(r.IntN(c.rare())) }, paced: true},
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

func (c *consoleBench) measurePages(ctx context.Context) (figures []figure, err error) {
	var slowest, most, reads float64
	shared := 0.0

	for _, asked := range c.consolePages() {
		took, err := c.measure(ctx, asked, console.Path, nil)
		if err != nil {
			return figures, err
		}

		if shared == 0 {
			if shared, err = c.assets(ctx, took.largest); err != nil {
				return figures, err
			}
		}
		size := zipped(took.largest)
		slowest, most, reads = max(slowest, took.p95), max(most, size), max(reads, took.reads)

		figures = append(figures,
			figure{"console_page_p50_ms_" + asked.name, took.p50, "ms", ""},
			figure{"console_page_p95_ms_" + asked.name, took.p95, "ms", ""},
			figure{"console_page_reads_" + asked.name, took.reads, "", "read units"},
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

var assetOf = regexp.MustCompile(`"(` + console.Path + `/static/[^"]+)"`)

// assets returns the compressed size of the files that all pages share, and that a browser keeps.
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
// process without viewers.
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

	if !worker.Wait(ctx, consoleSettles) {
		return 0, 0, context.Cause(ctx)
	}
	c.take()
	before := now()

	if !worker.Wait(ctx, c.watched) {
		return 0, 0, context.Cause(ctx)
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
