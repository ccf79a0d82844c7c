package leases

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// CheckOwner returns a part of a transaction that fails unless the owner holds the lease of the shard under
// the epoch.
func (t *Table) CheckOwner(shard, owner string, epoch int64) *ddbtypes.ConditionCheck {
	return &ddbtypes.ConditionCheck{
		TableName:                &t.Table,
		Key:                      Key(t.Stream, shard),
		ConditionExpression:      aws.String("#owner = :owner AND #epoch = :epoch"),
		ExpressionAttributeNames: map[string]string{"#owner": leaseOwner, "#epoch": leaseEpoch},
		ExpressionAttributeValues: dynamo.Item{
			":owner": dynamo.S(owner),
			":epoch": dynamo.N(epoch),
		},
	}
}

// Get returns the lease or the tombstone of a shard. ok is false if there is none.
func (t *Table) Get(ctx context.Context, shard string) (_ Lease, ok bool, err error) {
	for _, stream := range []string{t.Stream, t.Stream + tombstonesSuffix} {
		out, err := t.API.GetItem(ctx, &dynamodb.GetItemInput{
			TableName:      &t.Table,
			Key:            Key(stream, shard),
			ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return Lease{}, false, fmt.Errorf("streams: read lease %s: %w", shard, err)
		}

		if len(out.Item) > 0 {
			return Decode(out.Item), true, nil
		}
	}

	return Lease{}, false, nil
}
