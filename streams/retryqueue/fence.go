package retryqueue

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/streams/store"
)

// Check returns a part of a transaction that fails unless the row's first record is the same, and no
// later holder of the queue's lease has begun with the row.
func (t *Table) Check(handler string, row Row) *ddbtypes.ConditionCheck {
	return &ddbtypes.ConditionCheck{
		TableName:           &t.Table,
		Key:                 store.RowKey(t.Source(handler), rowID(row.Hash)),
		ConditionExpression: aws.String(row.ifFirst() + " AND (" + ifHolder + ")"),
		ExpressionAttributeNames: map[string]string{
			"#" + row.names().list: row.names().list,
			"#sequence":            retrySequence,
			"#token":               retryToken,
			"#holder":              retryHolder,
		},
		ExpressionAttributeValues: dynamo.Item{
			":sequence": dynamo.S(row.First().Sequence),
			":token":    dynamo.S(row.First().Parts.Token),
			":holder":   dynamo.N(row.Holder),
		},
	}
}

// ifHolder is the condition that no holder of the queue's lease after :holder has begun with a row.
const ifHolder = "attribute_not_exists(#holder) OR #holder <= :holder"
