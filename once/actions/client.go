package actions

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

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
