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
// sends writes without the SDK's retries. Package txn does both for transactions.
type client struct {
	dynamo.Client
	db dynamoDB
}

func (c client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return c.db.TransactWriteItems(ctx, in, options...)
}

func (c client) Scan(ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	began := c.Clock.LocalNow()

	out, err := c.db.Scan(ctx, in, options...)
	if out == nil {
		out = &dynamodb.ScanOutput{}
	}
	c.Clock.Hear(began, out.ResultMetadata, err)

	return out, err
}

// learn asks for the service's time if no answer has stated it so far. It comes before a step that
// cannot be taken back and that stores or compares an end.
func (c *Claims) learn(ctx context.Context) error {
	return c.clock.LearnFrom(ctx, c.cfg.DynamoDB.GetItem, c.cfg.Table, recordKey(probePrefix+"clock"))
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
