package lists

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/workflow"
)

// Unerased returns the owner's orders that have been in the state since before the given time, as the
// lists show them, in no particular order. It leaves out orders that [Lists.Erase] has erased, but not
// orders that were erased in another way. It costs half a read unit for about 40 orders, including the
// orders that it leaves out. The orders themselves are not read: they may have left the state, or be
// gone.
func (l *Lists) Unerased(ctx context.Context, owner string, state workflow.State, before time.Time) iter.Seq2[transitions.OrderID, error] {
	return func(yield func(transitions.OrderID, error) bool) {
		// A place with an empty id sorts before every other place of its millisecond.
		for shard := range shards {
			if !l.unerasedOf(ctx, stateShard(owner, state, shard), placeAt("", before), yield) {
				return
			}
		}
	}
}

// unerasedOf yields the orders of one shard below the bound. It reports whether to go on.
func (l *Lists) unerasedOf(ctx context.Context, list, bound string, yield func(transitions.OrderID, error) bool) bool {
	in := &dynamodb.QueryInput{
		TableName:                 &l.cfg.Table,
		KeyConditionExpression:    aws.String(listAttribute + " = :list AND " + placeAttribute + " < :bound"),
		FilterExpression:          aws.String("attribute_not_exists(" + erasedAttribute + ")"),
		ExpressionAttributeValues: dynamo.Item{":list": dynamo.S(list), ":bound": dynamo.S(bound)},
	}

	for {
		out, err := l.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			yield("", fmt.Errorf("list orders that are not erased: %w", err))
			return false
		}

		for _, item := range out.Items {
			if !yield(orderAt(dynamo.Text(item, placeAttribute)), nil) {
				return false
			}
		}

		// An empty page is not the end: the filter may drop all rows of a page that is not the
		// last.
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return true
		}
	}
}
