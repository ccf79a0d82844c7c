package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// listening passes calls on, and lets the clock hear their answers: the end of a lease is compared by other machines.
type listening struct {
	to    dynamoDB
	clock *dynamo.Clock
}

func (l listening) options(o []func(*dynamodb.Options)) []func(*dynamodb.Options) {
	return append(slices.Clip(o), l.clock.Listen)
}

func (l listening) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return l.to.GetItem(ctx, in, l.options(o)...)
}

func (l listening) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return l.to.PutItem(ctx, in, l.options(o)...)
}

func (l listening) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return l.to.UpdateItem(ctx, in, l.options(o)...)
}

func (l listening) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return l.to.DeleteItem(ctx, in, l.options(o)...)
}

func (l listening) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return l.to.Query(ctx, in, l.options(o)...)
}

func (l listening) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return l.to.TransactWriteItems(ctx, in, l.options(o)...)
}

// now is the time of the service.
func (s *Store) now() time.Time { return s.clock.Now().UTC() }
