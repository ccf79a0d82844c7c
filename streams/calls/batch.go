package calls

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ratchet/internal/worker"
	"ratchet/streams"
)

const defaultBatchSize = 25

// batcher gathers the records of a handler's calls.
type batcher struct {
	cfg streams.Batch

	mu        sync.Mutex
	gathering *gathered   // takes more records; nil if there is none
	ready     []*gathered // closed, oldest first; each has a record, so at most Handler.Concurrency
	running   int
}

// gathered is the records of one batch.
type gathered struct {
	records  []streams.Record
	contexts []context.Context
	timer    *time.Timer
	done     chan struct{} // closed when results is set
	results  []error
}

func newBatcher(b streams.Batch) *batcher {
	if b.Size == 0 {
		b.Size = defaultBatchSize
	}
	b.Parallel = max(b.Parallel, 1)

	return &batcher{cfg: b}
}

// handle puts the record into a batch and returns its result.
func (b *batcher) handle(ctx context.Context, r streams.Record) error {
	b.mu.Lock()

	g := b.gathering
	if g == nil {
		g = &gathered{done: make(chan struct{})}
		b.gathering = g

		if b.cfg.Window > 0 {
			g.timer = time.AfterFunc(b.cfg.Window, func() { b.windowOver(g) })
		}
	}

	n := len(g.records)
	g.records, g.contexts = append(g.records, r), append(g.contexts, ctx)

	if len(g.records) >= b.cfg.Size || (b.cfg.Window == 0 && b.running < b.cfg.Parallel) {
		b.close(g)
	}
	b.mu.Unlock()

	<-g.done

	return g.results[n]
}

func (b *batcher) windowOver(g *gathered) {
	b.mu.Lock()
	defer b.mu.Unlock()

	// The timer may fire after the batch was closed because it was full.
	if b.gathering == g {
		b.close(g)
	}
}

// close takes no more records into the batch, and runs it as soon as it may. The caller
// holds mu.
func (b *batcher) close(g *gathered) {
	b.gathering = nil

	if g.timer != nil {
		g.timer.Stop()
	}

	b.ready = append(b.ready, g)
	b.startReady()
}

// startReady runs as many batches as may run. The caller holds mu.
func (b *batcher) startReady() {
	for b.running < b.cfg.Parallel && len(b.ready) > 0 {
		g := b.ready[0]
		b.ready = b.ready[1:]
		b.running++

		go b.run(g)
	}
}

func (b *batcher) run(g *gathered) {
	g.results = b.call(g)
	close(g.done)

	b.mu.Lock()
	defer b.mu.Unlock()

	b.running--
	// Records that came while this batch ran have waited for its end.
	if b.gathering != nil && b.cfg.Window == 0 && len(b.ready) == 0 {
		b.close(b.gathering)
	}
	b.startReady()
}

// call calls the function. Its context ends as soon as the context of any record
// ends: another worker may then act on that record. The other records of the batch are
// repeated without counting the attempt.
func (b *batcher) call(g *gathered) []error {
	// The batch gets the values of the first record's context, and ends with any of the contexts.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(g.contexts[0]))
	defer cancel(nil)

	for _, c := range g.contexts {
		stop := context.AfterFunc(c, func() { cancel(context.Cause(c)) })
		defer stop()
	}

	var results []error

	err := worker.Call(func() error {
		results = b.cfg.Handle(ctx, g.records)
		if results != nil && len(results) != len(g.records) {
			return fmt.Errorf("streams: the batch handler returned %d results for %d records", len(results), len(g.records))
		}

		return nil
	})

	out := make([]error, len(g.records))
	for i := range out {
		switch {
		case err != nil:
			out[i] = err
		case results != nil:
			out[i] = results[i]
		}

		// The batch ended because of another record, so this failure does not count.
		if out[i] != nil && ctx.Err() != nil && g.contexts[i].Err() == nil {
			out[i] = streams.NotYet(out[i])
		}
	}

	return out
}
