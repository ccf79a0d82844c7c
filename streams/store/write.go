package store

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
)

// API has the methods of *dynamodb.Client that the poller calls.
type API interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Write makes the writes together, in a transaction if there are several. Only the first one may have a
// condition. If it fails, Write returns false with the row as it is. A check, which may be nil, fences the
// writes: Write returns ErrLeaseLost if it fails.
func Write(ctx context.Context, api API, check *ddbtypes.ConditionCheck, writes []ddbtypes.TransactWriteItem, opts ...func(*dynamodb.Options)) (old dynamo.Item, applied bool, err error) {
	if check == nil && len(writes) == 1 {
		err := writeAlone(ctx, api, writes[0], opts)
		if old, failed := dynamo.FailedCondition(err); failed {
			return old, false, nil
		}

		return nil, err == nil, err
	}

	if check != nil {
		writes = append(writes, ddbtypes.TransactWriteItem{ConditionCheck: check})
	}

	for try := 1; ; try++ {
		_, err = api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes}, opts...)
		if dynamo.InTheWay(err) == nil || try == transactTries || !WriteBackoff.Wait(ctx, try) {
			break
		}
	}

	if err == nil {
		return nil, true, nil
	}

	// The check is the last part.
	if _, failed := dynamo.FailedPart(err, len(writes)-1); failed && check != nil {
		return nil, false, streams.ErrLeaseLost
	}

	if old, failed := dynamo.FailedPart(err, 0); failed {
		return old, false, nil
	}

	// The text of the error names no codes.
	if codes := dynamo.InTheWay(err); codes != nil {
		err = fmt.Errorf("%v: %w", codes, err)
	}

	return nil, false, err
}

// transactTries is how often a transaction is tried that another write was in the way of, or that was
// throttled. The SDK does not repeat it.
const transactTries = 3

// writeAlone makes a write that could be a part of a transaction: half as many write units.
func writeAlone(ctx context.Context, api API, write ddbtypes.TransactWriteItem, opts []func(*dynamodb.Options)) (err error) {
	switch {
	case write.Put != nil:
		_, err = api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           write.Put.TableName,
			Item:                                write.Put.Item,
			ConditionExpression:                 write.Put.ConditionExpression,
			ExpressionAttributeNames:            write.Put.ExpressionAttributeNames,
			ExpressionAttributeValues:           write.Put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: write.Put.ReturnValuesOnConditionCheckFailure,
		}, opts...)
	case write.Update != nil:
		_, err = api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                           write.Update.TableName,
			Key:                                 write.Update.Key,
			UpdateExpression:                    write.Update.UpdateExpression,
			ConditionExpression:                 write.Update.ConditionExpression,
			ExpressionAttributeNames:            write.Update.ExpressionAttributeNames,
			ExpressionAttributeValues:           write.Update.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: write.Update.ReturnValuesOnConditionCheckFailure,
		}, opts...)
	case write.Delete != nil:
		_, err = api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName:                 write.Delete.TableName,
			Key:                       write.Delete.Key,
			ConditionExpression:       write.Delete.ConditionExpression,
			ExpressionAttributeNames:  write.Delete.ExpressionAttributeNames,
			ExpressionAttributeValues: write.Delete.ExpressionAttributeValues,
		}, opts...)
	}

	return err
}

// Querier has the method of *dynamodb.Client that leases.Read calls.
type Querier interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Apply sends the update. If the update's condition holds, Apply returns the new row
// and true. If the condition fails, it returns the row as it is, nil if there is none, and false.
func Apply(ctx context.Context, api API, update *dynamo.Update, opts ...func(*dynamodb.Options)) (row dynamo.Item, applied bool, err error) {
	out, err := api.UpdateItem(ctx, update.Input(), opts...)
	if old, failed := dynamo.FailedCondition(err); failed {
		return old, false, nil
	}

	if err != nil {
		return nil, false, err
	}

	return out.Attributes, true, nil
}

// Backoff is the pause after failed calls to DynamoDB Streams.
var Backoff = worker.Backoff{Base: 200 * time.Millisecond, Max: 10 * time.Second}

// Count returns how many items a query finds.
func Count(ctx context.Context, api Querier, in *dynamodb.QueryInput) (int, error) {
	in.Select = ddbtypes.SelectCount
	count := 0

	pages := dynamodb.NewQueryPaginator(api, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		count += int(page.Count)
	}

	return count, nil
}

// WriteBackoff is the pause between tries of a write that is wanted soon.
var WriteBackoff = worker.Backoff{Base: 10 * time.Millisecond, Max: 200 * time.Millisecond}
