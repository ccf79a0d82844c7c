package activities

import (
	"context"
	"sync"
	"testing"
)

// BenchmarkWorker measures executions of one task each, from start to answer,
// with a handler that does nothing.
func BenchmarkWorker(b *testing.B) {
	m := newTaskMachine(b, `"HeartbeatSeconds":30,`)
	var left sync.WaitGroup
	left.Add(b.N)
	r := m.start(m.config(func(context.Context, Task) (any, error) { return nil, nil }, func(c *Config) {
		c.Rates = Rates{-1, -1, -1, -1}
		c.SFN = m.sfn
		c.Activities[0].Slots, c.Activities[0].Pollers = 64, 4
		c.Activities[0].Heartbeat = 30e9
		c.Events.Done = func(Done) { left.Done() }
	}))
	b.ResetTimer()

	var starters sync.WaitGroup
	for i := range 8 {
		starters.Go(func() {
			for n := i; n < b.N; n += 8 {
				m.execute(`{}`)
			}
		})
	}
	starters.Wait()
	left.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.StopTimer()

	if err := r.stop(); err != nil {
		b.Error(err)
	}
}

// BenchmarkTask measures the worker's own work for a task: the service answers from memory.
func BenchmarkTask(b *testing.B) {
	s := newScript()
	s.quiet = true
	var left sync.WaitGroup
	left.Add(b.N)
	go func() {
		for range b.N {
			s.tokens <- "t"
		}
	}()
	b.ReportAllocs()
	r := begin(b, s.config(func(context.Context, Task) (any, error) { return nil, nil }, func(c *Config) {
		c.Rates = Rates{-1, -1, -1, -1}
		c.Activities[0].Slots, c.Activities[0].Pollers = 64, 4
		c.Events.Done = func(Done) { left.Done() }
	}))
	left.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
	b.StopTimer()

	if err := r.stop(); err != nil {
		b.Error(err)
	}
}
