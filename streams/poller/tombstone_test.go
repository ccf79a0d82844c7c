package poller

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/streams"
	"ratchet/streams/holders"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
)

func TestAFinishedShardIsNeverTakenForANewOne(t *testing.T) {
	virtually(t, func(t *testing.T) {
		w := newTestEnv(t, 1)
		table := w.table()
		ctx := t.Context()
		finished := leases.Lease{Shard: "s", FinishedAt: time.Now(), Gaps: 2}
		w.insert(finished)

		if err := table.Bury(ctx, w.lease("s")); err != nil {
			t.Fatal(err)
		}

		if leases, _, err := table.Read(ctx); err != nil || len(leases) != 0 {
			t.Errorf("%d leases are watched: %v", len(leases), err)
		}

		if got := w.lease("s"); got.Gaps != 2 || !got.Finished() {
			t.Errorf("tombstone %+v", got)
		}

		stored, outcome, err := table.InsertShard(ctx, leases.Lease{Shard: "s", Epoch: 9})
		if err != nil || outcome != leases.HasTombstone || stored.Gaps != 2 {
			t.Errorf("a finished shard got a lease: %v, %+v, %v", outcome, stored, err)
		}

		// A worker that was paused for hours does not find its lease, and must not store it again.
		paused := holders.Hold(table, leases.Lease{Shard: "s", Owner: "paused", Epoch: 1}, time.Now(), time.Second)
		if err := paused.Write(ctx, leases.Progress{Checkpoint: "7"}); err != streams.ErrLeaseLost { //nolint:errorlint // exactly this one
			t.Errorf("write: %v", err)
		}

		// A listing that comes late still has the shard, and a child that was not found before.
		d := w.newTestDiscovery()
		l := lineage.Listing{Shards: map[string]streamtypes.Shard{
			"s":     {ShardId: aws.String("s")},
			"child": {ShardId: aws.String("child"), ParentShardId: aws.String("s")},
		}}

		if err := d.Reconcile(ctx, l, map[string]leases.Lease{}); err != nil {
			t.Fatal(err)
		}

		if child := w.lease("child"); !child.ParentDone {
			t.Errorf("child %+v", child)
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
			leases, _, err := w.table().Read(context.Background())
			return err == nil && len(leases) == 1
		})

		if n := len(w.leases()); n != generations+1 {
			t.Errorf("%d leases and tombstones, want %d", n, generations+1)
		}

		// They are listed for a day, and are not read again.
		listings := func() int64 {
			_, state, err := w.table().Read(context.Background())
			if err != nil || state == nil {
				return 0
			}

			return state.Listings
		}
		before := listings()
		w.until("the stream was listed again", func() bool { return listings() >= before+2 })
		w.stopped(p)

		if l.count() != generations {
			t.Errorf("%d calls for %d records", l.count(), generations)
		}
	})
}
