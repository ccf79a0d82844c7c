package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
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

// insertOutcome says what insertLease found.
type insertOutcome int

const (
	insertedLease insertOutcome = iota
	hasLease
	hasTombstone
)

// insertLease stores the lease of a shard and returns it. If the shard has a lease or a tombstone,
// insertLease stores nothing and returns that one.
func (t *leaseTable) insertLease(ctx context.Context, l Lease) (Lease, insertOutcome, error) {
	l.Stream = t.stream
	absent := aws.String("attribute_not_exists(#s)")
	names := map[string]string{"#s": leaseShard}

	_, err := t.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []ddbtypes.TransactWriteItem{
		leasePart: {Put: &ddbtypes.Put{
			TableName:                           &t.table,
			Item:                                l.encode(),
			ConditionExpression:                 absent,
			ExpressionAttributeNames:            names,
			ReturnValuesOnConditionCheckFailure: ddbtypes.ReturnValuesOnConditionCheckFailureAllOld,
		}},
		tombstonePart: {ConditionCheck: &ddbtypes.ConditionCheck{
			TableName:                           &t.table,
			Key:                                 leaseKey(t.stream+tombstonesSuffix, l.Shard),
			ConditionExpression:                 absent,
			ExpressionAttributeNames:            names,
			ReturnValuesOnConditionCheckFailure: ddbtypes.ReturnValuesOnConditionCheckFailureAllOld,
		}},
	}})

	var canceled *ddbtypes.TransactionCanceledException
	switch {
	case err == nil:
		return l, insertedLease, nil
	case !errors.As(err, &canceled) || len(canceled.CancellationReasons) <= tombstonePart:
		return Lease{}, 0, fmt.Errorf("streams: store lease %s: %w", l.Shard, err)
	}

	if old := canceled.CancellationReasons[tombstonePart].Item; len(old) > 0 {
		return t.decode(old), hasTombstone, nil
	}

	// The SDK repeats a call whose answer was lost. If the stored lease has this call's owner and
	// epoch, the first try has stored it.
	if old := canceled.CancellationReasons[leasePart].Item; len(old) > 0 {
		stored := t.decode(old)
		if l.Owner != "" && stored.Owner == l.Owner && stored.Epoch == l.Epoch {
			return stored, insertedLease, nil
		}

		return stored, hasLease, nil
	}

	return Lease{}, 0, fmt.Errorf("streams: store lease %s: %w", l.Shard, err)
}

// bury moves the lease of a finished shard to the tombstones.
func (t *leaseTable) bury(ctx context.Context, l Lease) error {
	// After a crash between the two writes, the next bury replaces the copy and deletes the lease.
	row := l.encode()
	row[leaseStream] = dynamo.S(t.stream + tombstonesSuffix)

	if _, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.table, Item: row}); err != nil {
		return fmt.Errorf("streams: store the tombstone of %s: %w", l.Shard, err)
	}

	return t.deleteLease(ctx, l)
}

// unbury deletes a tombstone.
func (t *leaseTable) unbury(ctx context.Context, shard string) error {
	_, err := t.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.table,
		Key:       leaseKey(t.stream+tombstonesSuffix, shard),
	})

	return err
}

// queryTombstones reads the moved tombstones of a stream.
func queryTombstones(ctx context.Context, client queryAPI, table, stream string) ([]Lease, error) {
	rows, err := queryRows(ctx, client, table, stream+tombstonesSuffix)
	if err != nil {
		return nil, fmt.Errorf("streams: read the finished shards of %s: %w", stream, err)
	}

	out := make([]Lease, len(rows))
	for i, row := range rows {
		out[i] = decodeLease(row)
		out[i].Stream = stream
	}

	return out, nil
}
