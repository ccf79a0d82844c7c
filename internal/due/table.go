package due

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Table is a table of rows, as [TableInput] describes it. It is safe for concurrent use.
type Table struct {
	Name     string
	DynamoDB dynamoDB
	// Clock tells the time by which rows are due. It hears the answers of sweeps.
	Clock *dynamo.Clock
	// First is how long a row is postponed that could not be handled; the wait doubles with every further time
	// up to Most. Default a minute, and First.
	First, Most time.Duration
}

// PutPart is the part of a transaction that writes the row.
func (t *Table) PutPart(r Row) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &t.Name, Item: r.item()}}
}

// DeletePart is the part of a transaction that deletes the row, if it is there.
func (t *Table) DeletePart(r Row) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &t.Name, Key: r.key()}}
}

// Write writes the row.
func (t *Table) Write(ctx context.Context, r Row) error {
	_, err := t.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Name, Item: r.item()}, t.Clock.Listen)

	return err
}

// Delete deletes the row, if it is there and no later revision has written it.
func (t *Table) Delete(ctx context.Context, r Row) error {
	_, err := t.remove(ctx, r)

	return err
}

// remove is Delete. It reports whether the row was there.
func (t *Table) remove(ctx context.Context, r Row) (there bool, err error) {
	in := &dynamodb.DeleteItemInput{TableName: &t.Name, Key: r.key(), ReturnValues: types.ReturnValueAllOld}

	if r.Revision != "" {
		in.ConditionExpression = aws.String("attribute_not_exists(" + revision + ") OR " + revision + " <= :" + revision)
		in.ExpressionAttributeValues = dynamo.Item{":" + revision: &types.AttributeValueMemberN{Value: r.Revision}}
	}

	out, err := t.DynamoDB.DeleteItem(ctx, in, t.Clock.Listen)
	if _, later := dynamo.FailedCondition(err); later {
		return true, nil
	}

	return err == nil && len(out.Attributes) > 0, err
}

// move replaces the row by the same one at another time. The new one is there before the old one goes, so that
// no crash loses it. Two of one subject do no harm. It reports whether the old one was there.
func (t *Table) move(ctx context.Context, r Row, at time.Time, attempts int) (there bool, err error) {
	next := r
	next.At, next.Attempts, next.read = at, attempts, nil

	if err := t.Write(ctx, next); err != nil || next.At.UnixMilli() == r.At.UnixMilli() {
		return true, err
	}

	return t.remove(ctx, r)
}

// postponed returns when a row is due again that could not be handled at the time. The moments lie on a grid, so
// that the rows of two sweeps that postpone one row at once become one again.
func (t *Table) postponed(now time.Time, attempts int) time.Time {
	first := cmp.Or(t.First, time.Minute)
	wait, most := first, max(t.Most, first)

	for range attempts {
		if wait *= 2; wait >= most {
			wait = most
			break
		}
	}

	return now.Add(wait).Truncate(wait / grid)
}

// grid is how many moments a wait is divided into.
const grid = 60

// Has reports whether the row is there, at its time.
func (t *Table) Has(ctx context.Context, r Row) (bool, error) {
	out, err := t.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.Name, Key: r.key(), ConsistentRead: aws.Bool(true)}, t.Clock.Listen)

	return err == nil && len(out.Item) > 0, err
}

// Subjects returns the subjects and details of all rows of a kind, due or not.
func (t *Table) Subjects(ctx context.Context, kind string) (map[[2]string]bool, error) {
	found := map[[2]string]bool{}

	for n := range shards {
		in := &dynamodb.QueryInput{
			TableName:                 &t.Name,
			ConsistentRead:            aws.Bool(true),
			KeyConditionExpression:    aws.String("#shard = :shard"),
			ExpressionAttributeNames:  map[string]string{"#shard": shardKey},
			ExpressionAttributeValues: dynamo.Item{":shard": dynamo.S(partition(kind, n))},
		}

		for {
			out, err := t.DynamoDB.Query(ctx, in, t.Clock.Listen)
			if err != nil {
				return nil, err
			}

			for _, item := range out.Items {
				if row, ok := parse(item); ok {
					found[[2]string{row.Subject, row.Detail}] = true
				}
			}

			if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
				break
			}
		}
	}

	return found, nil
}
