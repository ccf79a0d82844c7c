package transitions

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// JournalTable describes the table of applied transitions: key orderId and entry, which is the
// order's incarnation and the transitionId.
func JournalTable(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("orderId"), dynamo.TextKey(entryAttribute))
}

// RequestsTable describes the table of requests that have left the rings of their orders:
// key orderId and a digest of incarnation and request id, no expiry.
func RequestsTable(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("orderId"), dynamo.BytesKey("req"))
}
