package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Secret returns 32 random bytes that all instances share, made by whoever asks first.
// They protect what we hand out and take back, like cursors; who can read this table
// can read the data anyway.
func (k *Keys) Secret(ctx context.Context, name string) ([]byte, error) {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails since Go 1.24
	id := "secret#" + name  // no key's id has a #

	_, err := k.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &k.cfg.Table,
		Item:                image{"keyId": dynamo.S(id), "secret": dynamo.B(fresh)},
		ConditionExpression: &absent, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	var made *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return fresh, nil
	case errors.As(err, &made) && len(dynamo.Bytes(made.Item, "secret")) == 32:
		return dynamo.Bytes(made.Item, "secret"), nil
	}

	return nil, fmt.Errorf("secret %q: %w", name, err)
}
