package actions

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// client is the DynamoDB of the configuration. It tells the clock the time in every answer, and
// sends writes without the SDK's retries.
type client struct {
	db    dynamoDB
	clock *dynamo.Clock
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

func (c client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	began := c.clock.LocalNow()

	out, err := c.db.GetItem(ctx, in, options...)
	if out == nil {
		out = &dynamodb.GetItemOutput{}
	}
	c.clock.Hear(began, out.ResultMetadata, err)

	return out, err
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

// learn asks for the service's time if no answer has stated it so far. It comes before a write that
// compares the end of an action.
func (a *Actions) learn(ctx context.Context) error {
	err := a.clock.Learn(ctx, func(ctx context.Context) error {
		_, err := a.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &a.cfg.Table, Key: image{keyAttribute: dynamo.S("clock")}})
		return err
	})

	return unavailable(ctx, err)
}

// writeAttempts is how often a write is sent until DynamoDB has decided.
const writeAttempts = 8
