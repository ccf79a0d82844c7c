package streams

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/dynamo"
)

// rowsByKey returns how many leases are under each partition key of the stream.
func (w *testEnv) rowsByKey(arn string, keys int) []int {
	w.Helper()

	out := make([]int, keys)
	for n := range out {
		rows, err := queryRows(w.Context(), w.db, leasesTable, partitionKey(arn, n))
		if err != nil {
			w.Fatal(err)
		}

		for _, row := range rows {
			if dynamo.Text(row, leaseShard) != streamStateRow {
				out[n]++
			}
		}
	}

	return out
}

func TestLeasesAreSpreadOverMoreKeysAsTheStreamGrows(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		const few, many = 150, 450
		stream, inFleet := newFleet(few)

		p, err := New(w.config(newRecorder().handle, inFleet))
		if err != nil {
			t.Fatal(err)
		}
		d := p.newCoordinator(stream.arn, TrimHorizon).discovery
		ctx := t.Context()

		if err := d.bootstrap(ctx); err != nil {
			t.Fatal(err)
		}

		if got := w.rowsByKey(stream.arn, 3); !slices.Equal(got, []int{few, 0, 0}) {
			t.Fatalf("%v leases by key, want one key below %d shards", got, leasesPerPartition)
		}

		// Each generation of children is found by several workers at once.
		grow := func(generation string, parents, children int) {
			for i := range children {
				stream.shards = append(stream.shards, streamtypes.Shard{
					ShardId:       aws.String(fmt.Sprintf("%s-%04d", generation, i)),
					ParentShardId: stream.shards[i%parents].ShardId,
				})
			}

			l, err := d.stream.list(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if _, err := d.raiseSpread(ctx, d.state, len(l.shards)); err != nil {
				t.Fatal(err)
			}

			var workers sync.WaitGroup
			for range 3 {
				workers.Go(func() {
					other := p.newCoordinator(stream.arn, TrimHorizon).discovery

					leases, _, err := other.readState(ctx)
					if err != nil {
						t.Error(err)
						return
					}

					known := map[string]Lease{}
					for _, lease := range leases {
						known[lease.Shard] = lease
					}

					if err := other.reconcile(ctx, l, known); err != nil {
						t.Error(err)
					}
				})
			}
			workers.Wait()
		}

		grow("t", few, many-few)

		if got := w.rowsByKey(stream.arn, 3); !slices.Equal(got, []int{many, 0, 0}) {
			t.Fatalf("%v leases by key, want those of the second generation beside their parents", got)
		}

		stream.shards = stream.shards[few:] // their parents from now on
		grow("u", many-few, 300)

		leases, err := readLeases(ctx, w.db, leasesTable, stream.arn)
		if err != nil || len(leases) != many+300 || !slices.IsSortedFunc(leases, func(a, b Lease) int {
			if a.Shard < b.Shard {
				return -1
			}

			return 1
		}) {
			t.Fatalf("%d leases for %d shards: %v", len(leases), many+300, err)
		}

		got := w.rowsByKey(stream.arn, 4)
		if got[1] < 50 || got[2] < 50 || got[0]+got[1]+got[2]+got[3] != many+300 {
			t.Errorf("%v leases by key", got)
		}
	})
}

func TestAFinishedShardIsNeverTakenForANewOne(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table := w.table()
		ctx := t.Context()
		finished := Lease{Stream: w.arn, Shard: "s", FinishedAt: time.Now(), spread: 3, Gaps: 2}
		w.insert(finished)

		if err := table.bury(ctx, w.lease("s")); err != nil {
			t.Fatal(err)
		}

		if leases, _, err := table.read(ctx); err != nil || len(leases) != 0 {
			t.Errorf("%d leases are watched: %v", len(leases), err)
		}

		if got := w.lease("s"); got.spread != 3 || got.Gaps != 2 || !got.Finished() {
			t.Errorf("tombstone %+v", got)
		}

		stored, outcome, err := table.insertLease(ctx, Lease{Shard: "s", Epoch: 9})
		if err != nil || outcome != hasTombstone || stored.spread != 3 {
			t.Errorf("a finished shard got a lease: %v, %+v, %v", outcome, stored, err)
		}

		// A worker that was paused for hours does not find its lease, and must not store it again.
		paused := newHeldLease(table, Lease{Shard: "s", Owner: "paused", Epoch: 1}, time.Now(), time.Second)
		if err := paused.write(ctx, progress{checkpoint: "7"}); err != ErrLeaseLost { //nolint:errorlint // exactly this one
			t.Errorf("write: %v", err)
		}

		// A listing that comes late still has the shard, and a child that was not found before.
		d := w.newTestDiscovery()
		l := listing{shards: map[string]streamtypes.Shard{
			"s":     {ShardId: aws.String("s")},
			"child": {ShardId: aws.String("child"), ParentShardId: aws.String("s")},
		}}

		if err := d.reconcile(ctx, l, map[string]Lease{}); err != nil {
			t.Fatal(err)
		}

		if child := w.lease("child"); !child.ParentDone || child.partition != 0 {
			// Its row is under the key that its parent's lease selects.
			rows := w.rowsByKey(w.arn, 3)
			if rows[partitionOf("child", 3)] != 1 {
				t.Errorf("child %+v, rows %v", child, rows)
			}
		}

		if got := w.lease("s"); !got.Finished() {
			t.Errorf("the finished shard is read again: %+v", got)
		}
	})
}

// The leases of finished shards are not among the leases that workers read again and again.
func TestFinishedShardsCostNothingToWatch(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		l := newRecorder()
		const generations = 8
		p := w.start(w.config(l.handle))

		for v := 1; v <= generations; v++ {
			w.write("o-0", v)
			w.roll()
		}
		w.until("all are handled", func() bool { return l.count() == generations })
		w.until("the finished shards are not watched", func() bool {
			leases, _, err := w.table().read(context.Background())
			return err == nil && len(leases) == 1
		})

		if n := len(w.leases()); n != generations+1 {
			t.Errorf("%d leases and tombstones, want %d", n, generations+1)
		}

		// They are listed for a day, and are not read again.
		listings := func() int64 {
			_, state, err := w.table().read(context.Background())
			if err != nil || state == nil {
				return 0
			}

			return state.listings
		}
		before := listings()
		w.until("the stream was listed again", func() bool { return listings() >= before+2 })
		w.stopped(p)

		if l.count() != generations {
			t.Errorf("%d calls for %d records", l.count(), generations)
		}
	})
}
