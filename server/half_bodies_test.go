package server_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ratchet/server"
)

var flagHalves = flag.Int("halves", 300, "how many clients send half a body to the engine; from 3000 on the rate of writers beside them is compared")

// TestHalfBodiesTakeNothingFromWriters: clients that announce 16 MB each and send a byte cost memory for what they have
// sent, and every write beside them is made. A write takes at most twice the processor time that it takes undisturbed,
// which a busy machine does not change; beside thousands of clients, writers also have half their undisturbed rate.
func TestHalfBodiesTakeNothingFromWriters(t *testing.T) {
	const (
		writers, writes = 4, 25
		mostMemory      = 400 << 20 // bytes
	)

	ctx, stop := context.WithCancel(context.Background())
	b := initialized(t, server.Config{Data: filepath.Join(t.TempDir(), "data")})

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- b.ServeEngine(ctx, listener) }()

	defer func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	row := `{"TableName":"` + b.Tables.Once + `","Item":{"idempotencyKey":{"S":"k"},"d":{"S":"` + strings.Repeat("x", 200_000) + `"}}}`
	write := func() (took, worked time.Duration) {
		began, before := time.Now(), processorTime(t)

		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range writes {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String(), strings.NewReader(row))
					if err != nil {
						t.Error(err)
						return
					}
					r.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")

					answer, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Error(err)
						return
					}
					_ = answer.Body.Close()

					if answer.StatusCode != http.StatusOK {
						t.Errorf("a write: %d", answer.StatusCode)
					}
				}
			})
		}
		all.Wait()

		return time.Since(began), processorTime(t) - before
	}
	write() // opens connections and the store's files
	undisturbed, undisturbedWork := write()

	for range *flagHalves {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()

		if _, err := fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Length: 16777216\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	disturbed, disturbedWork := write()

	var m runtime.MemStats
	runtime.ReadMemStats(&m)

	if used := m.HeapInuse + m.StackInuse; used > mostMemory {
		t.Errorf("%d MB of memory beside %d half bodies", used>>20, *flagHalves)
	}

	if disturbedWork > 2*undisturbedWork+100*time.Millisecond {
		t.Errorf("%d writes took %v of processor time, and %v beside half bodies", writers*writes, undisturbedWork, disturbedWork)
	}

	if *flagHalves >= 3000 && disturbed > 2*undisturbed+time.Second {
		t.Errorf("%d writes took %v, and %v beside half bodies", writers*writes, undisturbed, disturbed)
	}

	t.Logf("%d half bodies: %d writes in %v (%v of processor time), before in %v (%v); %d MB",
		*flagHalves, writers*writes, disturbed, disturbedWork, undisturbed, undisturbedWork, (m.HeapInuse+m.StackInuse)>>20)
	http.DefaultClient.CloseIdleConnections()
}

// processorTime returns the processor time that the process has taken.
func processorTime(t *testing.T) time.Duration {
	t.Helper()

	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}

	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
