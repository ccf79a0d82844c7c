package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/calls"
	"ratchet/streams/retryqueue"
	"ratchet/streams/store"
)

// scanAPI has the method of *dynamodb.Client that a Rebuild calls, but a poller does not.
type scanAPI interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Version is one version of an item: a change that the item, as it is now, can still prove.
type Version struct {
	// Number grows from version to version of an item.
	Number int64
	// Old and New are the item before and after the change. Old is nil for the first
	// version.
	Old, New map[string]ddbtypes.AttributeValue
	// CreatedAt is when the change was made.
	CreatedAt time.Time
}

// Expander turns an item into the versions that it can still prove, oldest first. lost says
// that the item had older versions that it cannot prove. An error leaves the item out, unless it is one that
// passes, like throttling: then the Rebuild ends early.
type Expander func(ctx context.Context, item map[string]ddbtypes.AttributeValue) (versions []Version, lost bool, err error)

// Rebuild gives handlers the changes that the table's items still prove: after a gap, or for a new
// handler. It reads all items and puts a record for each version of an item into the handlers'
// retry queues, where the workers deliver the records; see retryqueue.Queue for their order. Pollers go
// on meanwhile. All fields up to Expand must be set.
//
// Each handler gets an item's versions in order: a mark for the item and handler has the newest
// version that a Rebuild has queued, and that version and older ones are not queued again. If the
// handler has Handler.Version, records of the stream that are not newer than the mark are not
// delivered either. For that, workers read the mark for every record that was created before the
// last page of the newest Rebuild, or up to 10 minutes after it. Other records cost no read.
//
// A Rebuild notes its position in the lease table, so that the next run continues there if this run
// ends early.
type Rebuild struct {
	Queue    retryqueue.Queue
	DynamoDB scanAPI
	// Name is the name of the position: Rebuilds with the same name continue each other. 1 to 64
	// letters, digits, '.', '_' and '-'.
	Name string
	// Handlers get the records that their filters accept; a filter that panics accepts nothing.
	// Only Name and Filter count.
	Handlers []streams.Handler
	Expand   Expander
	// Since leaves out versions that are older.
	Since time.Time
	// Again is passed on as Replayed.Again.
	Again string
	// Repeat also queues versions that the marks would refuse.
	Repeat bool
	// Keys is the primary key of the only item to read; nil reads all items. With Keys, no position
	// is noted.
	Keys map[string]ddbtypes.AttributeValue
	// Restart begins with the first item, although an earlier run ended early.
	Restart bool
	// DryRun counts and puts nothing into the queue.
	DryRun bool
	// MaxWaiting is how many records may wait in a handler's queue: while there are more, the
	// Rebuild waits for the workers. Default: 10,000.
	MaxWaiting int
	// Progress is called after each page; optional.
	Progress func(RebuildCount)
	// Failed is called for each item that Expand has returned an error for; optional.
	Failed func(keys map[string]ddbtypes.AttributeValue, err error)

	PageSize int // items that are read at once; fewer in tests
}

// RebuildCount counts the work of a Rebuild, including earlier runs from the same start.
type RebuildCount struct {
	Items    int `json:"items"`    // read
	Failed   int `json:"failed"`   // items for which Expand returned an error
	Lost     int `json:"lost"`     // items that have lost older versions
	Versions int `json:"versions"` // that the items can prove
	Queued   int `json:"queued"`   // deliveries, over all handlers
	Refused  int `json:"refused"`  // deliveries of versions that were queued before
	// Resumed says that this run continued at the position of an earlier run.
	Resumed bool `json:"resumed,omitempty"`
	// Waiting says that the Rebuild waits until the workers have handled some of the items.
	Waiting bool `json:"-"`
}

const (
	rebuildPause = 100 * time.Millisecond // between two pages of the table
	rebuildPage  = 100
)

// ErrTakenOver ends a Rebuild when another Rebuild of the same name was started.
var ErrTakenOver = errors.New("streams: another rebuild of the same name goes on from here")

func (r Rebuild) check() error {
	switch {
	case r.DynamoDB == nil || r.Queue.DynamoDB == nil:
		return errors.New("streams: Rebuild.DynamoDB and Rebuild.Queue.DynamoDB must be set")
	case !store.GroupName.MatchString(r.Name):
		return fmt.Errorf("streams: Rebuild.Name is %q, want 1 to 64 letters, digits, '.', '_' and '-'", r.Name)
	case len(r.Handlers) == 0 || r.Expand == nil:
		return errors.New("streams: Rebuild.Handlers and Rebuild.Expand must be set")
	case r.MaxWaiting < 0:
		return errors.New("streams: Rebuild.MaxWaiting must not be negative")
	}

	return nil
}

// Run reads the items from the stored position on, or from the first item. It returns the count
// together with the error if it ends early; the next run continues there. ErrTakenOver says that another
// Rebuild of the name has begun.
func (r Rebuild) Run(ctx context.Context) (RebuildCount, error) {
	if err := r.check(); err != nil {
		return RebuildCount{}, err
	}

	r.PageSize = cmp.Or(r.PageSize, rebuildPage)
	r.MaxWaiting = cmp.Or(r.MaxWaiting, defaultMaxWaiting)

	if r.Progress == nil {
		r.Progress = func(RebuildCount) {}
	}

	arn, keyNames, err := r.describeTable(ctx)
	if err != nil {
		return RebuildCount{}, err
	}

	if r.Keys != nil {
		return r.runOne(ctx, arn, keyNames)
	}

	cursor, err := r.openCursor(ctx)
	if err != nil {
		return RebuildCount{}, err
	}
	count := &cursor.count

	in := &dynamodb.ScanInput{
		TableName:         &r.Queue.TableName,
		ConsistentRead:    aws.Bool(true),
		Limit:             aws.Int32(int32(r.PageSize)),
		ExclusiveStartKey: cursor.position,
	}

	for {
		page, err := r.DynamoDB.Scan(ctx, in)
		if err != nil {
			return *count, fmt.Errorf("streams: read table %s: %w", r.Queue.TableName, err)
		}

		if err := r.addItems(ctx, arn, keyNames, page.Items, count); err != nil {
			return *count, err
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey

		// After the page's records are queued: after a crash the page is read again, and the marks
		// refuse its versions.
		if err := cursor.store(ctx, page.LastEvaluatedKey); err != nil {
			return *count, err
		}

		r.Progress(*count)

		if len(page.LastEvaluatedKey) == 0 {
			return *count, nil
		}

		if !worker.Wait(ctx, rebuildPause) {
			return *count, ctx.Err()
		}
	}
}

// runOne reads the item with the primary key r.Keys.
func (r Rebuild) runOne(ctx context.Context, arn string, keyNames []string) (RebuildCount, error) {
	var count RebuildCount

	out, err := r.Queue.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &r.Queue.TableName,
		Key:            r.Keys,
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return count, fmt.Errorf("streams: read an item of table %s: %w", r.Queue.TableName, err)
	}

	if len(out.Item) > 0 {
		err = r.addItems(ctx, arn, keyNames, []map[string]ddbtypes.AttributeValue{out.Item}, &count)
	}

	return count, err
}

// describeTable returns the ARN of the table's stream, for the ids of dead letters, and the
// names of the key attributes.
func (r Rebuild) describeTable(ctx context.Context) (arn string, keys []string, err error) {
	out, err := r.Queue.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &r.Queue.TableName})
	if err != nil {
		return "", nil, fmt.Errorf("streams: describe table %s: %w", r.Queue.TableName, err)
	}

	for _, k := range out.Table.KeySchema {
		keys = append(keys, aws.ToString(k.AttributeName))
	}

	return cmp.Or(aws.ToString(out.Table.LatestStreamArn), aws.ToString(out.Table.TableArn)+"/stream/none"), keys, nil
}

// addItems puts the versions of the items into the queues.
func (r Rebuild) addItems(ctx context.Context, arn string, keyNames []string, items []map[string]ddbtypes.AttributeValue, count *RebuildCount) error {
	// Before the first mark of the page moves (see retryqueue.NoteMarks). For every page, because this time
	// decides which records workers compare with the marks.
	if !r.DryRun && len(items) > 0 {
		if err := retryqueue.NoteMarks(ctx, r.Queue.Leases()); err != nil {
			return err
		}
	}

	for _, item := range items {
		keys := dynamo.Item{}
		for _, name := range keyNames {
			keys[name] = item[name]
		}
		count.Items++

		versions, lost, err := r.Expand(ctx, item)
		// A service that throttles says nothing about the item. The next run begins with the page again.
		if err != nil && (ctx.Err() != nil || dynamo.Retryable(err)) {
			return fmt.Errorf("streams: read the versions of an item: %w", err)
		}

		if err != nil {
			count.Failed++
			if r.Failed != nil {
				r.Failed(keys, err)
			}

			continue
		}

		if lost {
			count.Lost++
		}
		count.Versions += len(versions)

		for i := range r.Handlers {
			if err := r.addVersions(ctx, &r.Handlers[i], r.records(arn, keys, versions, &r.Handlers[i]), count); err != nil {
				return err
			}
		}
	}

	if r.DryRun || len(items) == 0 {
		return nil
	}

	if err := retryqueue.NoteAddition(ctx, r.Queue.Leases()); err != nil {
		return err
	}

	for i := range r.Handlers {
		err := r.Queue.WaitForRoom(ctx, r.Handlers[i].Name, r.MaxWaiting, func() {
			waiting := *count
			waiting.Waiting = true
			r.Progress(waiting)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// records returns a record for each version that the handler's filter accepts.
func (r Rebuild) records(arn string, keys dynamo.Item, versions []Version, h *streams.Handler) []streams.Record {
	var records []streams.Record
	for _, v := range versions {
		record := streams.Record{
			StreamARN:      arn,
			SequenceNumber: strconv.FormatInt(v.Number, 10),
			EventName:      streams.Modify,
			Keys:           keys,
			Old:            v.Old,
			New:            v.New,
			CreatedAt:      v.CreatedAt,
			Group:          r.Queue.Group,
			Handler:        h.Name,
			Replay:         &streams.Replayed{Again: r.Again, Repaired: true, Version: v.Number},
		}
		if v.Old == nil {
			record.EventName = streams.Insert
		}

		// The item stands in place of the shard, so that the ids of dead letters are unique.
		record.ShardID = "item-" + store.HashOf(store.ItemKey(record)).Text()

		if accepted, err := calls.Accept(h, record); accepted && err == nil && !v.CreatedAt.Before(r.Since) {
			records = append(records, record)
		}
	}

	return records
}

// addVersions puts the records of one item into the queue of the handler, with the mark, in
// one transaction. Versions up to the mark are refused.
func (r Rebuild) addVersions(ctx context.Context, h *streams.Handler, records []streams.Record, count *RebuildCount) error {
	table := r.Queue.Rows()

	for len(records) > 0 {
		hash := store.HashOf(store.ItemKey(records[0]))

		mark, known, err := table.Mark(ctx, h.Name, hash)
		if err != nil {
			return err
		}

		if !r.Repeat && known {
			before := len(records)
			records = slices.DeleteFunc(records, func(record streams.Record) bool { return record.Replay.Version <= mark })
			count.Refused += before - len(records)
		}

		if len(records) == 0 {
			return nil
		}

		added := len(records)
		if !r.DryRun {
			if added, err = table.AddMarked(ctx, h.Name, hash, records, mark, known); err != nil {
				return err
			}
		}
		count.Queued += added
		records = records[added:]
	}

	return nil
}
