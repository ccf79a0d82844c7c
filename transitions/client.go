package transitions

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// client is the DynamoDB of the configuration. It tells the clock the time in every answer, and sends
// single writes without the SDK's retries. Package txn does both for transactions.
type client struct {
	dynamo.Client
	db DynamoDB
}

func (c client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return c.db.TransactWriteItems(ctx, in, options...)
}

func (c client) Query(ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return c.db.Query(ctx, in, append(options, c.Clock.Listen)...)
}

func (c client) Scan(ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return c.db.Scan(ctx, in, append(options, c.Clock.Listen)...)
}
