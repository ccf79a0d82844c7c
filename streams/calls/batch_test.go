package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/streams"
)

func TestABatchWaitsForItsWindowOrUntilItIsFull(t *testing.T) {
	virtually(t, func(t *testing.T) {
		var sizes []int
		b := newBatcher(streams.Batch{Size: 3, Window: time.Second, Handle: func(_ context.Context, records []streams.Record) []error {
			sizes = append(sizes, len(records))
			return nil
		}})
		began := time.Now()

		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				if err := b.handle(t.Context(), streams.Record{}); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()

		if fmt.Sprint(sizes) != "[3 1]" || time.Since(began) != time.Second {
			t.Errorf("batches of %v after %v", sizes, time.Since(began))
		}
	})
}

func TestRecordsGatherWhileABatchRuns(t *testing.T) {
	virtually(t, func(t *testing.T) {
		var sizes []int
		b := newBatcher(streams.Batch{Handle: func(_ context.Context, records []streams.Record) []error {
			sizes = append(sizes, len(records))
			time.Sleep(time.Second)

			return nil
		}})

		var calls sync.WaitGroup
		for range 6 {
			calls.Go(func() { _ = b.handle(t.Context(), streams.Record{}) })
			synctest.Wait()
		}
		calls.Wait()

		if fmt.Sprint(sizes) != "[1 5]" {
			t.Errorf("batches of %v, want one record and then all others", sizes)
		}
	})
}

// TestALostRecordEndsItsBatch: another worker may act on the record whose lease is lost. The
// others are repeated and no attempt is counted.
func TestALostRecordEndsItsBatch(t *testing.T) {
	virtually(t, func(t *testing.T) {
		b := newBatcher(streams.Batch{Size: 2, Window: time.Hour, Handle: func(ctx context.Context, records []streams.Record) []error {
			<-ctx.Done()

			if !errors.Is(context.Cause(ctx), streams.ErrLeaseLost) {
				t.Errorf("cause %v", context.Cause(ctx))
			}

			return []error{ctx.Err(), ctx.Err()}
		}})
		lost, lose := context.WithCancelCause(t.Context())

		var results [2]error
		var calls sync.WaitGroup
		for i, ctx := range []context.Context{lost, t.Context()} {
			calls.Go(func() { results[i] = b.handle(ctx, streams.Record{}) })
			synctest.Wait()
		}
		lose(streams.ErrLeaseLost)
		calls.Wait()

		if streams.IsNotYet(results[0]) || !errors.Is(results[0], context.Canceled) || !streams.IsNotYet(results[1]) {
			t.Errorf("results %v", results)
		}
	})
}

func TestABatchThatPanicsOrMiscountsFailsAllOfItsRecords(t *testing.T) {
	for name, handle := range map[string]streams.BatchFunc{
		"panic":  func(context.Context, []streams.Record) []error { panic("no") },
		"result": func(context.Context, []streams.Record) []error { return make([]error, 3) },
	} {
		if err := newBatcher(streams.Batch{Handle: handle}).handle(t.Context(), streams.Record{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
