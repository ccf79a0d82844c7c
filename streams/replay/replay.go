package replay

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/leases"
	"ratchet/streams/lineage"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// Replay delivers records of the stream to handlers again. It reads the shards itself and puts the
// records into the handlers' retry queues, where the workers deliver them; see retryqueue.Queue for their
// order. Queue, Streams and Handlers must be set.
//
// Only records up to the checkpoint of each shard are replayed. The workers have finished these;
// they will deliver the later records in any case.
//
// A Replay reads one shard after the other, with a pause between pages. While it reads a shard, it
// is a second reader of the shard beside the workers; see ErrTooManyGroups.
type Replay struct {
	Queue   retryqueue.Queue
	Streams lineage.API
	// Handlers get the records that their filters accept; a filter that panics accepts nothing.
	// Only Name and Filter count.
	Handlers []streams.Handler
	// Select chooses the records; nil takes all.
	Select func(streams.Record) bool
	// Since leaves out records that were created before it. Zero leaves out none.
	Since time.Time
	// Again is passed on as Replayed.Again: without it, effects that have happened are not
	// repeated.
	Again string
	// DryRun counts the records and puts none into the queue.
	DryRun bool
	// MaxWaiting is how many records may wait in a handler's queue: while there are more, the
	// Replay waits for the workers. Default: 10,000.
	MaxWaiting int
	// Progress is called after each page; optional.
	Progress func(Count)
}

// Count counts the work of a Replay.
type Count struct {
	Shards   int `json:"shards"`   // read to the checkpoint
	Read     int `json:"read"`     // records read
	Selected int `json:"selected"` // records read that were selected
	// Queued is, by handler, how many of the selected records are in its queue; in a DryRun, how many
	// the handler's filter accepts.
	Queued map[string]int `json:"queued"`
	// Oldest is when the oldest record that was read was created, zero if none was read.
	Oldest time.Time `json:"oldest,omitzero"`
	// Waiting says that the Replay waits until the workers have handled some of the items.
	Waiting bool `json:"-"`
}

const (
	replayPause       = 250 * time.Millisecond // between two pages of a shard
	defaultMaxWaiting = 10_000

	// After replayEmptyPages empty pages in a row, an open shard counts as having no further record
	// up to its checkpoint.
	replayEmptyPages = 20
)

func (r Replay) check() error {
	switch {
	case r.Streams == nil || r.Queue.DynamoDB == nil:
		return errors.New("streams: Replay.Streams and Replay.Queue.DynamoDB must be set")
	case len(r.Handlers) == 0:
		return errors.New("streams: Replay.Handlers is empty")
	case r.MaxWaiting < 0:
		return errors.New("streams: Replay.MaxWaiting must not be negative")
	}

	return nil
}

// Run replays the records. If it ends early, it returns the count together with the error. Records
// that are in the queues by then will be delivered.
func (r Replay) Run(ctx context.Context) (Count, error) {
	count := Count{Queued: map[string]int{}}
	if err := r.check(); err != nil {
		return count, err
	}

	r.MaxWaiting = cmp.Or(r.MaxWaiting, defaultMaxWaiting)

	if r.Progress == nil {
		r.Progress = func(Count) {}
	}

	arn, err := lineage.CurrentStream(ctx, r.Queue.DynamoDB, r.Queue.LeaseTable, store.GroupKey(r.Queue.Group, r.Queue.TableName))
	if err != nil {
		return count, err
	}

	if arn == "" {
		return count, nil // no worker has handled a record yet
	}

	l, err := lineage.ListShards(ctx, r.Streams, arn)
	if err != nil {
		return count, err
	}

	leases, err := leases.Read(ctx, r.Queue.DynamoDB, r.Queue.LeaseTable, store.GroupKey(r.Queue.Group, arn))
	if err != nil {
		return count, err
	}

	// Parents first, so that the records of an item are queued in their order.
	for _, lease := range parentsFirst(leases) {
		// Before its first checkpoint a shard has no finished record.
		if _, listed := l.Shards[lease.Shard]; !listed || (lease.Checkpoint == "" && !lease.Finished()) {
			continue
		}

		if err := r.readShard(ctx, arn, lease, &count); err != nil {
			return count, err
		}
		count.Shards++
	}

	return count, nil
}

// parentsFirst returns the leases in an order in which each comes after its parent.
func parentsFirst(stored []leases.Lease) []leases.Lease {
	byShard := leases.ByShard(stored)
	out := make([]leases.Lease, 0, len(stored))
	done := map[string]bool{}

	for _, l := range stored {
		var lineage []leases.Lease
		for known := true; known && !done[l.Shard]; l, known = byShard[l.Parent] {
			done[l.Shard] = true
			lineage = append(lineage, l)
		}
		slices.Reverse(lineage)
		out = append(out, lineage...)
	}

	return out
}

// readShard replays the shard's records up to its checkpoint.
func (r Replay) readShard(ctx context.Context, arn string, lease leases.Lease, count *Count) error {
	var failed error

	empty := replayEmptyPages
	if lease.Finished() {
		empty = math.MaxInt // a finished shard is closed, so reading it comes to its end
	}

	err := lineage.Position{}.Read(ctx, r.Streams, arn, lease.Shard, lineage.MaxPageSize, empty, func(page []streamtypes.Record) bool {
		records, past := r.selected(page, arn, lease, count)

		if failed = r.queueRecords(ctx, records, count); failed != nil {
			return false
		}
		r.Progress(*count)

		return !past && worker.Wait(ctx, replayPause)
	})

	// Records that were trimmed during the read can no longer be replayed.
	if lineage.IsTrimmed(err) {
		err = nil
	}

	return errors.Join(err, failed, ctx.Err())
}

// selected returns the selected records of a page up to the shard's checkpoint. past says that the
// page reaches the checkpoint.
func (r Replay) selected(page []streamtypes.Record, arn string, lease leases.Lease, count *Count) (records []streams.Record, past bool) {
	for i := range page {
		record := lineage.FromSDK(&page[i])
		record.StreamARN, record.ShardID = arn, lease.Shard

		if !lease.Finished() {
			order := store.CompareSequence(record.SequenceNumber, lease.Checkpoint)
			past = order >= 0

			if order > 0 {
				break
			}
		}

		count.Read++
		if count.Oldest.IsZero() || record.CreatedAt.Before(count.Oldest) {
			count.Oldest = record.CreatedAt
		}

		if !record.CreatedAt.Before(r.Since) && (r.Select == nil || r.Select(record)) {
			records = append(records, record)
		}
	}
	count.Selected += len(records)

	return records, past
}

// queueRecords puts records into the queues of the handlers that accept them.
func (r Replay) queueRecords(ctx context.Context, records []streams.Record, count *Count) error {
	for i := range r.Handlers {
		h := &r.Handlers[i]

		// The records of one item go into its row together.
		var order []string
		items := map[string][]streams.Record{}

		for _, record := range records {
			if accepted, err := calls.Accept(h, record); !accepted || err != nil {
				continue
			}

			key := store.ItemKey(record)
			if items[key] == nil {
				order = append(order, key)
			}
			record.Group, record.Handler, record.Replay = r.Queue.Group, h.Name, &streams.Replayed{Again: r.Again}
			items[key] = append(items[key], record)
		}

		// A dry run only counts.
		if r.DryRun {
			for _, records := range items {
				count.Queued[h.Name] += len(records)
			}
		}

		if r.DryRun || len(order) == 0 {
			continue
		}

		err := r.Queue.WaitForRoom(ctx, h.Name, r.MaxWaiting, func() {
			count.Waiting = true
			r.Progress(*count)
		})
		if err != nil {
			return err
		}
		count.Waiting = false

		for _, key := range order {
			if err := r.Queue.Feed(ctx, items[key]); err != nil {
				return err
			}
			count.Queued[h.Name] += len(items[key])
		}

		if err := retryqueue.NoteAddition(ctx, r.Queue.Leases()); err != nil {
			return err
		}
	}

	return nil
}
