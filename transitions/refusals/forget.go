package refusals

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// deleter has the method of a *dynamodb.Client that Forget calls.
type deleter interface {
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Forget deletes the stored refusals of an order. It returns nil if there are none. A refusal that a
// process has noted and not written yet, for up to 10 s, may still come.
func Forget(ctx context.Context, db deleter, table, order string) error {
	_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: dynamo.Item{attrOrder: dynamo.S(order)}})
	if err != nil {
		return fmt.Errorf("forget the refusals of order %s: %w", order, err)
	}

	return nil
}
