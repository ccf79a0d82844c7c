package once

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// client is the DynamoDB of the configuration. It tells the clock the time in every answer, and
// sends writes without the SDK's retries.
type client struct {
	db    dynamoDB
	clock *dynamo.Clock
}

func (c client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	began := c.clock.LocalNow()

	out, err := c.db.UpdateItem(ctx, in, append(options, dynamo.WithoutRetries)...)
	if out == nil {
		out = &dynamodb.UpdateItemOutput{}
	}
	c.clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

func (c client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	began := c.clock.LocalNow()

	out, err := c.db.PutItem(ctx, in, append(options, dynamo.WithoutRetries)...)
	if out == nil {
		out = &dynamodb.PutItemOutput{}
	}
	c.clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

func (c client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	began := c.clock.LocalNow()

	out, err := c.db.TransactWriteItems(ctx, in, append(options, dynamo.WithoutRetries)...)
	if out == nil {
		out = &dynamodb.TransactWriteItemsOutput{}
	}
	c.clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

func (c client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	began := c.clock.LocalNow()

	out, err := c.db.GetItem(ctx, in, options...)
	if out == nil {
		out = &dynamodb.GetItemOutput{}
	}
	c.clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

func (c client) Scan(ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	began := c.clock.LocalNow()

	out, err := c.db.Scan(ctx, in, options...)
	if out == nil {
		out = &dynamodb.ScanOutput{}
	}
	c.clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

// learn asks for the service's time if no answer has stated it so far. It comes before a step that
// cannot be taken back and that stores or compares an end.
func (c *Claims) learn(ctx context.Context) error {
	return c.clock.Learn(ctx, func(ctx context.Context) error {
		_, err := c.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &c.cfg.Table, Key: recordKey(probePrefix + "clock")})
		return err
	})
}

// writeAttempts is how often a write is sent until DynamoDB has decided.
const writeAttempts = 8

// unanswered returns the error of a write. It marks a write that may have been made.
func unanswered(err error) error {
	if errors.Is(err, dynamo.ErrUnanswered) || errors.Is(err, txn.ErrUnknown) {
		return fmt.Errorf("%w: %w", ErrUnanswered, err)
	}

	return err
}
