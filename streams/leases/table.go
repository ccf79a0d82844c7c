package leases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// TableInput describes the lease table, on demand: one row per shard (see Lease) under the
// stream's ARN and the shard's id, and the further rows that the package comment lists. Pollers of
// several streams may share the table.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(streamKey), dynamo.TextKey(ShardKey))
}

// Read returns all leases of a stream in the order of the shards' ids, with
// strongly consistent reads. A finished shard's lease is returned for 26 hours. It changes
// nothing.
func Read(ctx context.Context, client store.Querier, table, streamARN string) ([]Lease, error) {
	leases, _, err := queryLeases(ctx, client, table, streamARN)
	if err != nil {
		return nil, err
	}

	tombstones, err := ReadTombstones(ctx, client, table, streamARN)
	if err != nil {
		return nil, err
	}

	// A lease that is being moved to the tombstones has two rows. The tombstone is later in the
	// list and replaces the lease.
	byShard := ByShard(slices.Concat(leases, tombstones))

	return slices.SortedFunc(maps.Values(byShard), func(a, b Lease) int { return cmp.Compare(a.Shard, b.Shard) }), nil
}

// queryLeases reads the rows of a stream that workers watch: the leases, and the stream's state.
// state is nil if it is not stored.
func queryLeases(ctx context.Context, client store.Querier, table, stream string) (leases []Lease, state *StreamState, err error) {
	rows, err := readRows(ctx, client, table, stream)
	if err != nil {
		return nil, nil, fmt.Errorf("streams: read leases of %s: %w", stream, err)
	}

	for _, row := range rows {
		if dynamo.Text(row, ShardKey) == StreamStateRow {
			state = decodeStreamState(row)
			continue
		}

		leases = append(leases, Decode(row))
	}

	return leases, state, nil
}

// readRows returns all rows under one partition key, with strongly consistent reads.
func readRows(ctx context.Context, client store.Querier, table, key string) ([]dynamo.Item, error) {
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(table),
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": streamKey},
		ExpressionAttributeValues: dynamo.Item{":s": dynamo.S(key)},
	}

	var rows []dynamo.Item
	for {
		out, err := client.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		rows = append(rows, out.Items...)

		if len(out.LastEvaluatedKey) == 0 {
			return rows, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Table is the part of the lease table that belongs to one stream.
type Table struct {
	API    store.API
	Table  string
	Stream string
	Clock  *dynamo.Clock // is set by the answers to take and to heartbeats; may be nil
	// Duration is how long this worker's leases last without a sign of life. 0 if no lease is taken.
	Duration time.Duration
}

func (t *Table) Read(ctx context.Context) ([]Lease, *StreamState, error) {
	return queryLeases(ctx, t.API, t.Table, t.Stream)
}

// Update begins an update of a row: a shard's lease, or another one under the stream's key.
func (t *Table) Update(row string) *dynamo.Update {
	return dynamo.NewUpdate(t.Table, Key(t.Stream, row))
}

// Insert stores a lease unless the shard has one. It reports whether the lease was stored.
func (t *Table) Insert(ctx context.Context, l Lease) (bool, error) {
	return t.InsertRow(ctx, l.encode(t.Stream))
}

// InsertRow stores a row unless there is one.
func (t *Table) InsertRow(ctx context.Context, row dynamo.Item) (bool, error) {
	_, err := t.API.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                &t.Table,
		Item:                     row,
		ConditionExpression:      aws.String("attribute_not_exists(#s)"),
		ExpressionAttributeNames: map[string]string{"#s": ShardKey},
	})
	if _, exists := dynamo.FailedCondition(err); exists {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("streams: store lease %s: %w", dynamo.Text(row, ShardKey), err)
	}

	return true, nil
}

// Take makes owner the holder, if the epoch and the counter of the lease are still as in l: no
// holder has written it since l was read. It returns the lease as it is now, and whether owner
// holds it.
func (t *Table) Take(ctx context.Context, l Lease, owner string) (Lease, bool, error) {
	epoch := max(l.Epoch, l.ParentEpoch) + 1
	update := t.Update(l.Shard).
		IfEquals(leaseEpoch, dynamo.N(l.Epoch)).
		IfEquals(leaseCounter, dynamo.N(l.Counter)).
		IfAbsent(leaseFinishedAt).
		SetValue(leaseOwner, dynamo.S(owner)).
		SetValue(leaseEpoch, dynamo.N(epoch)).
		SetValue(leaseCounter, dynamo.N(l.Counter+1)).
		SetValue(leaseDuration, dynamo.N(t.Duration.Milliseconds())).
		SetValue(leaseParentDone, dynamo.Bool(true)).
		SetValue(leaseTakes, encodeTakes(l.takesWith(leaseTake{epoch, l.Checkpoint}))).
		RemoveAttribute(leaseRequestedBy)

	// The former owner has not given the lease back, so it counts as dead. An owner that takes its
	// own lease again is alive.
	if l.Owner != "" && l.Owner != owner {
		update.SetValue(leaseDeaths, dynamo.N(l.DeathsSoFar()+1))

		if l.Checkpoint != "" {
			update.SetValue(leaseDeathsAt, dynamo.S(l.Checkpoint))
		}
	}

	row, applied, err := store.Apply(ctx, t.API, update, t.Clock.Listen)
	if err != nil {
		return Lease{}, false, fmt.Errorf("streams: take lease %s: %w", l.Shard, err)
	}
	now := Decode(row)

	// The SDK repeats a call whose answer was lost, and the repeat fails the condition. Owner names
	// are unique, so owner and epoch prove that the first try was stored.
	ours := applied || (now.Owner == owner && now.Epoch == epoch)

	return now, ours, nil
}

// RequestHandOver asks the owner of the lease l to hand the lease over to worker. It reports
// whether the request is stored.
func (t *Table) RequestHandOver(ctx context.Context, l Lease, worker string) (bool, error) {
	update := t.Update(l.Shard).
		IfEquals(leaseEpoch, dynamo.N(l.Epoch)).
		IfEquals(leaseOwner, dynamo.S(l.Owner)).
		IfAbsent(leaseRequestedBy).
		SetValue(leaseRequestedBy, dynamo.S(worker))

	_, applied, err := store.Apply(ctx, t.API, update)
	if err != nil {
		return false, fmt.Errorf("streams: ask for lease %s: %w", l.Shard, err)
	}

	return applied, nil
}

// WithdrawRequest removes a request that was not met in time.
func (t *Table) WithdrawRequest(ctx context.Context, l Lease) error {
	// Only the request that was read: it may have been met since, and another worker may have made
	// a new request.
	update := t.Update(l.Shard).
		IfEquals(leaseRequestedBy, dynamo.S(l.RequestedBy)).
		RemoveAttribute(leaseRequestedBy)
	_, _, err := store.Apply(ctx, t.API, update)

	return err
}

// MarkParentDone notes that the shard does not have to wait for its parent. If the parent is not
// listed any more and was not handled, its records are lost, unless reading of the stream began at
// this shard. What was noted first stays.
func (t *Table) MarkParentDone(ctx context.Context, l Lease, handled bool) error {
	update := t.Update(l.Shard).
		// Without this condition the update would create a row for a lease that was deleted meanwhile.
		IfPresent(ShardKey).
		IfAbsent(leaseParentDone).
		SetValue(leaseParentDone, dynamo.Bool(true))
	if !handled && !l.AtHorizon && l.StartAt.IsZero() {
		update.SetValue(leaseParentLost, dynamo.Bool(true))
	}

	_, _, err := store.Apply(ctx, t.API, update)

	return err
}

// DeleteRow deletes a row.
func (t *Table) DeleteRow(ctx context.Context, row string) error {
	_, err := t.API.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.Table, Key: Key(t.Stream, row)})

	return err
}

// DeleteLease deletes the row of a lease unless another holder has begun since it was read.
func (t *Table) DeleteLease(ctx context.Context, l Lease) error {
	return t.deleteIf(ctx, Key(t.Stream, l.Shard), "attribute_not_exists(#epoch) OR #epoch = :epoch", leaseEpoch, l.Epoch)
}

// deleteIf deletes a row if the condition on the attribute and the value holds. It returns nil if it does not.
func (t *Table) deleteIf(ctx context.Context, key dynamo.Item, condition, attribute string, value int64) error {
	_, err := t.API.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName:                 &t.Table,
		Key:                       key,
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  map[string]string{"#" + attribute: attribute},
		ExpressionAttributeValues: dynamo.Item{":" + attribute: dynamo.N(value)},
	})
	if _, changed := dynamo.FailedCondition(err); changed {
		return nil
	}

	return err
}
