package lineage

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

// The row of a table's current stream, under "table/" and the table's name. Because of
// this row a replaced stream is read to its end: DescribeTable returns only the
// latest stream.
const (
	currentStreamRow    = "#current"
	currentStreamPrefix = "table/"
	CurrentStreamARN    = "streamArn"
)

// CurrentStream returns the ARN of the stream that the pollers of tableName read, ""
// if none has run yet.
func CurrentStream(ctx context.Context, client store.API, leaseTable, tableName string) (string, error) {
	row, err := CurrentRow(ctx, client, leaseTable, tableName)
	return dynamo.Text(row, CurrentStreamARN), err
}

// CurrentRow reads the row of the table's current stream, nil if there is none.
func CurrentRow(ctx context.Context, client store.API, leaseTable, tableName string) (dynamo.Item, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(leaseTable),
		Key:            CurrentStreamKey(tableName),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("streams: read the current stream of %s: %w", tableName, err)
	}

	return out.Item, nil
}

// CurrentStreamKey is the key of the row that names the current stream.
func CurrentStreamKey(tableName string) dynamo.Item {
	return leases.Key(currentStreamPrefix+tableName, currentStreamRow)
}

// LatestStream returns the ARN of a table's latest stream, "" if it has none.
func LatestStream(ctx context.Context, api store.API, table string) (string, error) {
	out, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return "", fmt.Errorf("streams: find the stream of table %s: %w", table, err)
	}

	if out.Table == nil {
		return "", nil
	}

	return aws.ToString(out.Table.LatestStreamArn), nil
}
