package auth

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

const secretBytes = 32

// Secret returns 32 random bytes that all instances share under the name. The first call
// creates them. They protect values that the API hands out and takes back, such as cursors.
// They are stored in plain text: anyone who can read this table can read the data anyway.
func (k *Keys) Secret(ctx context.Context, name string) ([]byte, error) {
	created := make([]byte, secretBytes)
	_, _ = rand.Read(created) // never fails since Go 1.24

	_, err := k.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &k.cfg.Table,
		Item: dynamo.Item{
			"keyId":  dynamo.S("secret#" + name), // the id of an API key has no #
			"secret": dynamo.B(created),
		},
		ConditionExpression:                 &ifAbsent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if err == nil {
		return created, nil
	}

	// Another instance was first, or this write was made and its answer was lost.
	existing, failed := dynamo.FailedCondition(err)
	if secret := dynamo.Bytes(existing, "secret"); failed && len(secret) == secretBytes {
		return secret, nil
	}

	return nil, fmt.Errorf("secret %q: %w", name, err)
}
