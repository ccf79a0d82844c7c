package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/api"
	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/streams/status"
)

// TestNoPageWaitsForTheStatus, which takes until the test ends here, nor for the stream. One read is under way, however many look.
func TestNoPageWaitsForTheStatus(t *testing.T) {
	reads := atomic.Int64{}
	hang := func(ctx context.Context) error {
		reads.Add(1)
		<-ctx.Done()

		return ctx.Err()
	}
	draining := make(chan struct{})

	s := newAPIServer(t, func(c *api.Config) {
		dev(c)
		c.Status = func(ctx context.Context) (inspect.SystemStatus, error) { return inspect.SystemStatus{}, hang(ctx) }
		c.Stream = func(ctx context.Context) (status.Status, error) { return status.Status{}, hang(ctx) }
		c.LastHour = func() (processes.Hour, error) { return processes.Hour{}, nil }
	})
	p := s.pagesUntil(draining)
	by := whose(auth.DefaultTenant, auth.Admin)

	// A page that waits would end with the time-out of its request, which is longer than the patience of a test.
	for range 5 {
		for _, page := range []string{"/", "/stream", "/dead-letters", "/quotas"} {
			p.wantPage(by, console.Path+page)
		}
	}
	p.wantPage(by, console.Path+"/", "What needs a person is being read", "No order is here yet")

	if n := reads.Load(); n > 2 {
		t.Errorf("%d reads for one status and one stream", n)
	}
	close(draining)
}

// TestManyViewersCostWhatOneCosts: in a minute, the reads of the database are those of one viewer.
func TestManyViewersCostWhatOneCosts(t *testing.T) {
	for _, page := range []string{"/", "/stream", "/orders", "/refusals", "/deliveries"} {
		one, ten := readsOf(t, page, 1), readsOf(t, page, 10)

		// Each viewer who comes reads the page once, before it follows.
		first := readsOf(t, page, 0)
		if ten > one+9*first {
			t.Errorf("%s: %d requests for one viewer, %d for ten, %d for a page without followers", page, one, ten, first)
		}
	}
}

// readsOf returns how many requests the API gets in a minute in which so many people follow a page. 0: one person looks once.
func readsOf(t *testing.T, page string, viewers int) (reads int64) {
	t.Helper()

	asked := atomic.Int64{}
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"status":"x","at":"2026-11-29T12:00:00Z"}`)
	})

	synctest.Test(t, func(t *testing.T) {
		draining := make(chan struct{})
		pages := newPages(t, answers, draining)
		by := whose(auth.DefaultTenant, auth.Admin)

		ctx, stop := context.WithCancel(context.WithValue(t.Context(), viewerKey{}, by))
		ended := make(chan bool)

		look := func(path string) {
			pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+console.Path+path, nil))
		}

		for range max(viewers, 1) {
			look(page)
		}

		for range viewers {
			go func() {
				look("/live" + page)
				ended <- true
			}()
		}
		time.Sleep(time.Minute)
		stop()

		for range viewers {
			<-ended
		}
		close(draining)
		synctest.Wait()
	})

	return asked.Load()
}

// TestPagesAreSmall: with a full database, the first visit has less than 100 KB compressed, the next page less than 30 KB.
func TestPagesAreSmall(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) {
		dev(c)
		c.LastHour = busyHour
	})
	for i := range 60 {
		s.must("PUT", fmt.Sprintf("/v1/orders/o-%d", i), mugs)
	}
	p, by := s.pages(), whose(auth.DefaultTenant, auth.Admin)

	for _, page := range []string{"/", "/orders", "/orders/o-1", "/workflow", "/refusals", "/audit", "/money", "/stock", "/jobs", "/docs/"} {
		a := p.wantPage(by, console.Path+page)
		next := compressed(t, a.text)
		first := next

		for _, asset := range regexp.MustCompile(`(?:href|src)="(/console/static/[^"]+)"`).FindAllStringSubmatch(a.text, -1) {
			first += compressed(t, p.wantPage(by, asset[1]).text)
		}

		if first >= 100_000 || next >= 30_000 {
			t.Errorf("%s: %d bytes at first, then %d", page, first, next)
		}
		t.Logf("%s: %d bytes at first, then %d", page, first, next)
	}
}

// busyHour has all events with all verdicts, in each minute.
func busyHour() (processes.Hour, error) {
	end := time.Now().UTC().Truncate(time.Minute)
	h := processes.Hour{Since: end.Add(-time.Hour), UpTo: end}

	for i := range 60 {
		m := processes.Minute{At: end.Add(time.Duration(i-59) * time.Minute), Counters: map[string]int64{"readUnits": int64(i * 7919 % 5000), "writeUnits": int64(i * 104729 % 9000), "placed": int64(i)}}
		for _, event := range []string{"pay", "ship", "deliver", "cancel", "hold", "release", "chargeback", "fail_payment"} {
			for _, verdict := range []string{"Applied", "Replayed", "WrongState", "Conflict", "NotFound", "Illegal", "Superseded"} {
				m.Decided = append(m.Decided, processes.Decided{Event: event, Verdict: verdict, Count: int64(i * len(event) * len(verdict))})
			}
		}
		h.Minutes = append(h.Minutes, m)
	}

	return h, nil
}

func compressed(t *testing.T, text string) int {
	t.Helper()

	var b bytes.Buffer
	w := gzip.NewWriter(&b)

	if _, err := strings.NewReader(text).WriteTo(w); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.Len()
}

// firstWrite is an answer that says when it begins.
type firstWrite struct {
	httptest.ResponseRecorder
	once  sync.Once
	began chan<- bool
}

func (w *firstWrite) Write(text []byte) (int, error) {
	w.once.Do(func() { w.began <- true })
	return len(text), nil
}

// TestFollowedPagesTakeNoPlaceOfTheEventStreams: a caller with one place has it while twenty pages of theirs are followed.
func TestFollowedPagesTakeNoPlaceOfTheEventStreams(t *testing.T) {
	s := newAPIServer(t, func(c *api.Config) { dev(c); c.Watches = 1 })
	s.must("PUT", "/v1/orders/o-1", mugs)
	p := s.pages()

	ctx, leave := context.WithCancel(context.WithValue(t.Context(), viewerKey{}, whose(auth.DefaultTenant, auth.Admin)))

	var all sync.WaitGroup
	defer all.Wait()
	defer leave()

	began := make(chan bool)
	for i := range 20 {
		page := []string{"/orders/o-1", "/orders", "/"}[i%3]

		all.Go(func() {
			w := &firstWrite{ResponseRecorder: *httptest.NewRecorder(), began: began}
			p.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/console/live"+page, nil))
		})
	}

	for range 20 {
		<-began
	}

	ids, status, _ := stream(ctx, t, onWire(t, s), "o-1", "")
	if status != http.StatusOK {
		t.Fatalf("the event stream of the API is answered with %d", status)
	}
	next(t, ids)
	s.want(s.ask("GET", "/v1/orders/o-1/events", ""), http.StatusTooManyRequests, "too_many_watches")
}
