package streams

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// LeaseTableInput describes the lease table, on demand: one row per shard (see Lease) under the
// stream's ARN and the shard's id, and the further rows that the package comment lists. Pollers of
// several streams may share the table.
func LeaseTableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(leaseStream), dynamo.TextKey(leaseShard))
}

// queryAPI has the method of *dynamodb.Client that readLeases calls.
type queryAPI interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// readLeases returns all leases of a stream in the order of the shards' ids, with
// strongly consistent reads. A finished shard's lease is returned for 26 hours. It changes
// nothing.
func readLeases(ctx context.Context, client queryAPI, table, streamARN string) ([]Lease, error) {
	leases, _, err := queryLeases(ctx, client, table, streamARN)
	if err != nil {
		return nil, err
	}

	tombstones, err := queryTombstones(ctx, client, table, streamARN)
	if err != nil {
		return nil, err
	}

	// A lease that is being moved to the tombstones has two rows. The tombstone is later in the
	// list and replaces the lease.
	byShard := leasesByShard(slices.Concat(leases, tombstones))

	return slices.SortedFunc(maps.Values(byShard), func(a, b Lease) int { return cmp.Compare(a.Shard, b.Shard) }), nil
}

// queryLeases reads the rows of a stream that workers watch: the leases, and the stream's state.
// state is nil if it is not stored.
func queryLeases(ctx context.Context, client queryAPI, table, stream string) (leases []Lease, state *streamState, err error) {
	rows, err := queryRows(ctx, client, table, stream)
	if err != nil {
		return nil, nil, fmt.Errorf("streams: read leases of %s: %w", stream, err)
	}

	for _, row := range rows {
		if dynamo.Text(row, leaseShard) == streamStateRow {
			state = decodeStreamState(row)
			continue
		}

		l := decodeLease(row)
		l.Stream = stream
		leases = append(leases, l)
	}

	return leases, state, nil
}

// queryRows returns all rows under one partition key, with strongly consistent reads.
func queryRows(ctx context.Context, client queryAPI, table, key string) ([]dynamo.Item, error) {
	in := &dynamodb.QueryInput{
		TableName:                 aws.String(table),
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": leaseStream},
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

// leaseTable is the part of the lease table that belongs to one stream.
type leaseTable struct {
	api    dynamoAPI
	table  string
	stream string
	clock  *dynamo.Clock // is set by the answers to take and to heartbeats; may be nil
}

func (t *leaseTable) read(ctx context.Context) ([]Lease, *streamState, error) {
	return queryLeases(ctx, t.api, t.table, t.stream)
}

// update begins an update of a row that is not a shard's lease.
func (t *leaseTable) update(row string) *dynamo.Update {
	return dynamo.NewUpdate(t.table, leaseKey(t.stream, row))
}

// updateLease begins an update of a lease.
func (t *leaseTable) updateLease(l Lease) *dynamo.Update {
	return dynamo.NewUpdate(t.table, leaseKey(t.stream, l.Shard))
}

// decode decodes a lease of the stream.
func (t *leaseTable) decode(row dynamo.Item) Lease {
	out := decodeLease(row)
	out.Stream = t.stream

	return out
}

// insert stores a lease unless the shard has one. It reports whether the lease was stored.
func (t *leaseTable) insert(ctx context.Context, l Lease) (bool, error) {
	l.Stream = t.stream
	return t.insertRow(ctx, l.encode())
}

func (t *leaseTable) insertRow(ctx context.Context, row dynamo.Item) (bool, error) {
	_, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                &t.table,
		Item:                     row,
		ConditionExpression:      aws.String("attribute_not_exists(#s)"),
		ExpressionAttributeNames: map[string]string{"#s": leaseShard},
	})
	if _, exists := dynamo.FailedCondition(err); exists {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("streams: store lease %s: %w", dynamo.Text(row, leaseShard), err)
	}

	return true, nil
}

// take makes owner the holder, if the epoch and the counter of the lease are still as in l: no
// holder has written it since l was read. It returns the lease as it is now, and whether owner
// holds it.
func (t *leaseTable) take(ctx context.Context, l Lease, owner string) (Lease, bool, error) {
	epoch := max(l.Epoch, l.parentEpoch) + 1
	update := t.updateLease(l).
		IfEquals(leaseEpoch, dynamo.N(l.Epoch)).
		IfEquals(leaseCounter, dynamo.N(l.Counter)).
		IfAbsent(leaseFinishedAt).
		SetValue(leaseOwner, dynamo.S(owner)).
		SetValue(leaseEpoch, dynamo.N(epoch)).
		SetValue(leaseCounter, dynamo.N(l.Counter+1)).
		SetValue(leaseParentDone, dynamo.Bool(true)).
		SetValue(leaseTakes, encodeTakes(l.takesWith(leaseTake{epoch, l.Checkpoint}))).
		RemoveAttribute(leaseRequestedBy)

	// The former owner has not given the lease back, so it counts as dead. An owner that takes its
	// own lease again is alive.
	if l.Owner != "" && l.Owner != owner {
		update.SetValue(leaseDeaths, dynamo.N(l.deathsSoFar()+1))

		if l.Checkpoint != "" {
			update.SetValue(leaseDeathsAt, dynamo.S(l.Checkpoint))
		}
	}

	row, applied, err := applyUpdate(ctx, t.api, update, t.clock.Listen)
	if err != nil {
		return Lease{}, false, fmt.Errorf("streams: take lease %s: %w", l.Shard, err)
	}
	now := t.decode(row)

	// The SDK repeats a call whose answer was lost, and the repeat fails the condition. Owner names
	// are unique, so owner and epoch prove that the first try was stored.
	ours := applied || (now.Owner == owner && now.Epoch == epoch)

	return now, ours, nil
}

// requestHandOver asks the owner of the lease l to hand the lease over to worker. It reports
// whether the request is stored.
func (t *leaseTable) requestHandOver(ctx context.Context, l Lease, worker string) (bool, error) {
	update := t.updateLease(l).
		IfEquals(leaseEpoch, dynamo.N(l.Epoch)).
		IfEquals(leaseOwner, dynamo.S(l.Owner)).
		IfAbsent(leaseRequestedBy).
		SetValue(leaseRequestedBy, dynamo.S(worker))

	_, applied, err := applyUpdate(ctx, t.api, update)
	if err != nil {
		return false, fmt.Errorf("streams: ask for lease %s: %w", l.Shard, err)
	}

	return applied, nil
}

// withdrawRequest removes a request that was not met in time.
func (t *leaseTable) withdrawRequest(ctx context.Context, l Lease) error {
	// Only the request that was read: it may have been met since, and another worker may have made
	// a new request.
	update := t.updateLease(l).
		IfEquals(leaseRequestedBy, dynamo.S(l.RequestedBy)).
		RemoveAttribute(leaseRequestedBy)
	_, _, err := applyUpdate(ctx, t.api, update)

	return err
}

// markParentDone notes that the shard does not have to wait for its parent. If the parent is not
// listed any more and was not handled, its records are lost, unless reading of the stream began at
// this shard.
func (t *leaseTable) markParentDone(ctx context.Context, l Lease, handled bool) error {
	update := t.updateLease(l).
		// Without this condition the update would create a row for a lease that was deleted meanwhile.
		IfPresent(leaseShard).
		SetValue(leaseParentDone, dynamo.Bool(true))
	if !handled && !l.AtHorizon && l.StartAt.IsZero() {
		update.SetValue(leaseParentLost, dynamo.Bool(true))
	}

	_, _, err := applyUpdate(ctx, t.api, update)

	return err
}

func (t *leaseTable) deleteRow(ctx context.Context, row string) error {
	return t.deleteLease(ctx, Lease{Shard: row})
}

func (t *leaseTable) deleteLease(ctx context.Context, l Lease) error {
	_, err := t.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.table,
		Key:       leaseKey(t.stream, l.Shard),
	})

	return err
}

// updateAPI has the method of *dynamodb.Client that applyUpdate calls.
type updateAPI interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// applyUpdate sends the update. If the update's condition holds, applyUpdate returns the new row
// and true. If the condition fails, it returns the row as it is, nil if there is none, and false.
func applyUpdate(ctx context.Context, api updateAPI, update *dynamo.Update, opts ...func(*dynamodb.Options)) (row dynamo.Item, applied bool, err error) {
	out, err := api.UpdateItem(ctx, update.Input(), opts...)
	if old, failed := dynamo.FailedCondition(err); failed {
		return old, false, nil
	}

	if err != nil {
		return nil, false, err
	}

	return out.Attributes, true, nil
}
