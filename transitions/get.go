package transitions

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Get returns the order as it is now (a strongly consistent read), and whether there is
// one. A read that DynamoDB did not answer is ErrUnavailable.
func (o *Orders) Get(ctx context.Context, id OrderID) (*Order, bool, error) {
	if err := id.Validate(); err != nil {
		return nil, false, fmt.Errorf("get order: %w", err)
	}

	return o.get(ctx, id)
}

// get is Get of an id that has been validated.
func (o *Orders) get(ctx context.Context, id OrderID) (*Order, bool, error) {
	out, err := o.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &o.cfg.Table,
		Key:            orderKey(id),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, false, fmt.Errorf("get order %s: %w", id, asUnavailable(ctx, err))
	}

	if len(out.Item) == 0 {
		return nil, false, nil
	}
	order, err := decode(out.Item)

	return order, err == nil, err
}

// orderKey is the key of an order's item.
func orderKey(id OrderID) image { return image{"orderId": dynamo.S(string(id))} }

// asUnavailable marks a read, or a write beside the order, that failed in a way that may pass.
func asUnavailable(ctx context.Context, err error) error {
	if dynamo.OutcomeUnknown(ctx, err) || dynamo.Retryable(err) || errors.Is(err, dynamo.ErrUnanswered) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}

	return err
}
