package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// capture is an SDK client that keeps the last UpdateItem input sent through it, so that a
// baseline can send exactly that call.
type capture struct {
	*dynamodb.Client
	last *dynamodb.UpdateItemInput
	// lastTransaction is the last TransactWriteItems input.
	lastTransaction *dynamodb.TransactWriteItemsInput
	// discard answers every update with a failed condition and every transaction with success.
	// Nothing is sent.
	discard bool
}

// UpdateItem keeps the input and sends it. With discard nothing is sent, and the caller gets
// a ConditionalCheckFailedException without an item.
func (c *capture) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.last = in
	if c.discard {
		return nil, &types.ConditionalCheckFailedException{}
	}

	return c.Client.UpdateItem(ctx, in, opts...)
}

// TransactWriteItems keeps the input and sends it. With discard nothing is sent, and the
// transaction counts as written.
func (c *capture) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.lastTransaction = in
	if c.discard {
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}

	return c.Client.TransactWriteItems(ctx, in, opts...)
}
