package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// serveEcho serves an operation that answers with the length of its body.
func serveEcho(t *testing.T) (*Handler, *httptest.Server) {
	t.Helper()

	h := NewHandler(slog.New(slog.DiscardHandler), Service{Target: "Echo_1", Operations: map[string]Operation{
		"Length": func(_ context.Context, body []byte) (any, error) { return len(body), nil },
	}})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)

	return h, s
}

// half begins a request with a large body, sends some of it, and keeps the connection.
func half(t *testing.T, s *httptest.Server, sent int) net.Conn {
	t.Helper()

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: Echo_1.Length\r\nContent-Length: %d\r\n\r\n%s", maxBody, strings.Repeat("x", sent))
	if err != nil {
		t.Fatal(err)
	}

	return conn
}

// length sends a whole body and returns the answer.
func length(t *testing.T, s *httptest.Server, size int) string {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "Echo_1.Length")

	answer, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// TestBodiesTakeMemoryAsTheyArrive: many clients announce much and send little.
func TestBodiesTakeMemoryAsTheyArrive(t *testing.T) {
	h, s := serveEcho(t)

	for range 300 {
		half(t, s, 100)
	}

	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)

	if memory.HeapAlloc > 100<<20 {
		t.Errorf("%d MB of memory for 300 clients that have sent 100 bytes each", memory.HeapAlloc>>20)
	}

	for _, size := range []int{1, freeBody, freeBody + 1, 1 << 20, maxBody} {
		if got := length(t, s, size); got != fmt.Sprint(size) {
			t.Errorf("a body of %d bytes: %s", size, got)
		}
	}

	if got := length(t, s, maxBody+1); !strings.Contains(got, "more than") {
		t.Errorf("a body that is too large: %s", got)
	}

	if h.arrivals.used != 0 || len(h.arrivals.bodies) != 0 {
		t.Errorf("%d bytes and %d bodies are left", h.arrivals.used, len(h.arrivals.bodies))
	}
}

// TestSlowBodiesGiveWay: clients that have stopped in the middle hold all memory, until someone else needs some.
func TestSlowBodiesGiveWay(t *testing.T) {
	h, s := serveEcho(t)
	h.arrivals.max = 1 << 20

	for range 40 {
		half(t, s, 64<<10)
	}

	// 200 KB do not fit beside them.
	for range 3 {
		if got := length(t, s, 200<<10); got != fmt.Sprint(200<<10) {
			t.Errorf("a body beside slow ones: %s", got)
		}
	}
}

// TestMemoryForBodies: who waits gets memory when someone leaves, an end comes to the slowest first, and to no one who
// is fast enough.
func TestMemoryForBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArrivals(100 << 20)
		ended := []string{}
		begin := func(name string, held int) *arrival {
			b := &arrival{}
			b.end = func() {
				ended = append(ended, name)
				go a.leave(b)
			}

			if err := a.grow(b, held); err != nil {
				t.Fatalf("%s: %v", name, err)
			}

			return b
		}

		fast, slow, slower := begin("fast", 40<<20), begin("slow", 30<<20), begin("slower", 30<<20)
		time.Sleep(2 * time.Second)
		a.progress(fast, 40<<20)
		a.progress(slow, 1<<10+freeBody)
		a.progress(slower, freeBody)

		next := begin("next", 50<<20)

		if fmt.Sprint(ended) != "[slower slow]" {
			t.Errorf("ended: %v", ended)
		}

		if err := a.grow(slow, 1); !errors.Is(err, errSlow) {
			t.Errorf("a body that was ended: %v", err)
		}

		// All are fast enough, and none leaves: who needs more has to give up.
		var going sync.WaitGroup
		defer going.Wait()
		going.Go(func() {
			for range 20 {
				a.progress(fast, 100<<20)
				a.progress(next, 100<<20)
				time.Sleep(time.Second)
			}
		})

		if err := a.grow(&arrival{end: func() {}}, 50<<20); !errors.Is(err, errSlow) {
			t.Errorf("without memory: %v", err)
		}

		time.AfterFunc(time.Second, func() { a.leave(fast) })

		if err := a.grow(&arrival{end: func() {}}, 40<<20); err != nil {
			t.Errorf("after one has left: %v", err)
		}
	})
}
