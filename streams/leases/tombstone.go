package leases

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// The leases of finished shards are kept as tombstones, so that a shard that is still listed is not
// taken for a new one. When no child waits for a tombstone's shard any more, the tombstone is moved
// to the partition key with this suffix, which workers do not watch. A lease is stored only if
// there is neither a lease nor a tombstone of its shard; a tombstone is stored before the lease is
// deleted.
const tombstonesSuffix = "#finished"

// The parts of the transaction that stores a lease.
const (
	leasePart = iota
	tombstonePart
)

// InsertOutcome says what insertLease found.
type InsertOutcome int

const (
	InsertedLease InsertOutcome = iota
	hasLease
	HasTombstone
)

// InsertShard stores the lease of a shard and returns it. If the shard has a lease or a tombstone,
// InsertShard stores nothing and returns that one.
func (t *Table) InsertShard(ctx context.Context, l Lease) (Lease, InsertOutcome, error) {
	absent := aws.String("attribute_not_exists(#s)")
	names := map[string]string{"#s": ShardKey}

	_, err := t.API.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []ddbtypes.TransactWriteItem{
		leasePart: {Put: &ddbtypes.Put{
			TableName:                           &t.Table,
			Item:                                l.encode(t.Stream),
			ConditionExpression:                 absent,
			ExpressionAttributeNames:            names,
			ReturnValuesOnConditionCheckFailure: ddbtypes.ReturnValuesOnConditionCheckFailureAllOld,
		}},
		tombstonePart: {ConditionCheck: &ddbtypes.ConditionCheck{
			TableName:                           &t.Table,
			Key:                                 Key(t.Stream+tombstonesSuffix, l.Shard),
			ConditionExpression:                 absent,
			ExpressionAttributeNames:            names,
			ReturnValuesOnConditionCheckFailure: ddbtypes.ReturnValuesOnConditionCheckFailureAllOld,
		}},
	}})
	if err == nil {
		return l, InsertedLease, nil
	}

	if old, failed := dynamo.FailedPart(err, tombstonePart); failed {
		return Decode(old), HasTombstone, nil
	}

	// The SDK repeats a call whose answer was lost. If the stored lease has this call's owner and
	// epoch, the first try has stored it.
	if old, failed := dynamo.FailedPart(err, leasePart); failed {
		stored := Decode(old)
		if l.Owner != "" && stored.Owner == l.Owner && stored.Epoch == l.Epoch {
			return stored, InsertedLease, nil
		}

		return stored, hasLease, nil
	}

	return Lease{}, 0, fmt.Errorf("streams: store lease %s: %w", l.Shard, err)
}

// Bury moves the lease of a finished shard to the tombstones.
func (t *Table) Bury(ctx context.Context, l Lease) error {
	// After a crash between the two writes, the next bury replaces the copy and deletes the lease.
	row := l.encode(t.Stream + tombstonesSuffix)
	if _, err := t.API.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Table, Item: row}); err != nil {
		return fmt.Errorf("streams: store the tombstone of %s: %w", l.Shard, err)
	}

	return t.DeleteLease(ctx, l)
}

// Unbury deletes a tombstone.
func (t *Table) Unbury(ctx context.Context, shard string) error {
	_, err := t.API.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.Table,
		Key:       Key(t.Stream+tombstonesSuffix, shard),
	})

	return err
}

// ReadTombstones reads the moved tombstones of a stream.
func ReadTombstones(ctx context.Context, client store.Querier, table, stream string) ([]Lease, error) {
	rows, err := readRows(ctx, client, table, stream+tombstonesSuffix)
	if err != nil {
		return nil, fmt.Errorf("streams: read the finished shards of %s: %w", stream, err)
	}

	out := make([]Lease, len(rows))
	for i, row := range rows {
		out[i] = Decode(row)
	}

	return out, nil
}
