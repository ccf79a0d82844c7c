package poller

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
)

// BenchmarkPoller measures a record's way from the stream through a handler
// that does nothing; the records are there when the clock starts.
func BenchmarkPoller(b *testing.B) {
	for _, shards := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d shards", shards), func(b *testing.B) {
			w := newTestEnv(b, shards)
			var writers sync.WaitGroup
			for i := range 8 {
				writers.Go(func() {
					for n := i; n < b.N; n += 8 {
						w.write("o-"+strconv.Itoa(n%500), n)
					}
				})
			}
			writers.Wait()
			var left atomic.Int64
			left.Store(int64(b.N))
			done := make(chan struct{})
			cfg := w.config(func(context.Context, streams.Record) error {
				if left.Add(-1) == 0 {
					close(done)
				}
				return nil
			}, func(c *Config) { c.checkpointEvery = time.Second })
			b.ReportAllocs()
			b.ResetTimer()
			p := w.start(cfg)
			<-done
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			b.StopTimer()
			w.stopped(p)
		})
	}
}

// BenchmarkLanes measures the lane scheduler alone, with a handler that does nothing.
func BenchmarkLanes(b *testing.B) {
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{})
	cfg := Config{Handlers: []streams.Handler{{Name: "h", Attempts: 1, Timeout: time.Minute, Handle: func(context.Context, streams.Record) error {
		if left.Add(-1) == 0 {
			close(done)
		}
		return nil
	}}}}.withDefaults()
	scheduler, _ := cfg.newScheduler()
	memory := lanes.Memory{Limit: 1 << 40}
	window := lanes.NewWindow(2000, 1<<20, &memory)
	lease := holders.Hold(nil, leases.Lease{}, time.Now(), time.Hour)
	lanes := scheduler.NewShard(context.Background(), lease, window)

	keys := make([]dynamo.Item, 300)
	for i := range keys {
		keys[i] = dynamo.Item{"id": dynamo.S(strconv.Itoa(i))}
	}
	page := make([]streams.Record, 1000)
	b.ReportAllocs()

	for n := 0; n < b.N; n += len(page) {
		page = page[:min(len(page), b.N-n)]
		for i := range page {
			page[i] = streams.Record{Keys: keys[i%len(keys)], SequenceNumber: "1"}
		}
		_ = window.WaitForRoom(context.Background())
		lanes.Submit(page)
	}
	<-done
	<-lanes.Stop()
	scheduler.Goroutines.Wait()
}

// BenchmarkReaction measures the time from a write to its handler, one after the
// other, woken by the engine.
func BenchmarkReaction(b *testing.B) {
	w := newTestEnv(b, 1)
	handled := make(chan struct{}, 1)

	hint, release, err := w.engine.WatchStream(w.arn)
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	p := w.start(w.config(func(context.Context, streams.Record) error { handled <- struct{}{}; return nil }, func(c *Config) {
		c.Hint, c.PollActive, c.PollIdle, c.checkpointEvery = hint, time.Second, time.Second, time.Second
	}))
	w.write("warm", 0)
	<-handled
	b.ResetTimer()

	var writing time.Duration
	for n := range b.N {
		began := time.Now()
		w.write("o-1", n)
		writing += time.Since(began)
		<-handled
	}
	b.ReportMetric(float64((b.Elapsed()-writing).Microseconds())/float64(b.N), "µs/reaction")
	b.StopTimer()
	w.stopped(p)
}
