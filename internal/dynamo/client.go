package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// itemCalls has the methods of a *dynamodb.Client that read or write one item.
type itemCalls interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Client reads and writes single items. It tells the clock the time in every answer, and sends writes
// [WithoutRetries]. The output is never nil.
type Client struct {
	DB    itemCalls
	Clock *Clock
}

// GetItem reads an item.
func (c Client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	began := c.Clock.LocalNow()

	out, err := c.DB.GetItem(ctx, in, options...)
	if out == nil {
		out = &dynamodb.GetItemOutput{}
	}
	c.Clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

// PutItem writes an item.
func (c Client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	began := c.Clock.LocalNow()

	out, err := c.DB.PutItem(ctx, in, append(options, WithoutRetries)...)
	if out == nil {
		out = &dynamodb.PutItemOutput{}
	}
	c.Clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

// UpdateItem updates an item.
func (c Client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	began := c.Clock.LocalNow()

	out, err := c.DB.UpdateItem(ctx, in, append(options, WithoutRetries)...)
	if out == nil {
		out = &dynamodb.UpdateItemOutput{}
	}
	c.Clock.Hear(began, out.ResultMetadata, err)

	return out, err
}
