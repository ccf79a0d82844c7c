package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// Rotate makes a key of the same name, tenant and scope, and ends the old one after
// the grace, or earlier where it would have ended earlier. The new key ends at
// expires; zero: never. It fails with ErrNoKey or ErrEnded.
func (k *Keys) Rotate(ctx context.Context, id string, grace time.Duration, expires time.Time) (Key, Token, error) {
	key, token, err := k.rotate(ctx, id, grace, expires)
	if err != nil {
		return Key{}, "", fmt.Errorf("rotate api key %s: %w", id, err)
	}

	return key, token, nil
}

func (k *Keys) rotate(ctx context.Context, id string, grace time.Duration, expires time.Time) (Key, Token, error) {
	if grace < 0 {
		return Key{}, "", fmt.Errorf("%w: grace: must not be negative", ErrInvalid)
	}

	out, err := k.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &k.cfg.Table, Key: image{"keyId": dynamo.S(id)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Key{}, "", err
	}

	now, old := k.cfg.Now(), decode(out.Item)
	switch {
	case out.Item["hash"] == nil:
		return Key{}, "", ErrNoKey
	case !old.Live(now) || old.ReplacedBy != "":
		return Key{}, "", ErrEnded
	}

	n := NewKey{Name: old.Name, Tenant: old.Tenant, Scope: old.Scope, Expires: expires}
	if err := n.validate(now); err != nil {
		return Key{}, "", err
	}
	key, token, item := n.build(now)

	end := now.Add(grace)
	if !old.ExpiresAt.IsZero() && old.ExpiresAt.Before(end) {
		end = old.ExpiresAt
	}
	// What was read only proposes the end; the condition decides that nobody has revoked
	// or rotated the key since. Its expiry changes with a rotation only.
	var t txn.Transaction
	t.Add("new", types.TransactWriteItem{Put: &types.Put{TableName: &k.cfg.Table, Item: item, ConditionExpression: &absent}}, nil)
	t.Add("old", types.TransactWriteItem{Update: &types.Update{
		TableName: &k.cfg.Table, Key: image{"keyId": dynamo.S(id)},
		ConditionExpression:       aws.String("attribute_exists(#hash) AND attribute_not_exists(revokedAt) AND attribute_not_exists(replacedBy)"),
		UpdateExpression:          aws.String("SET expiresAt = :end, replacedBy = :new"),
		ExpressionAttributeNames:  map[string]string{"#hash": "hash"},
		ExpressionAttributeValues: image{":end": dynamo.N(end.UnixMilli()), ":new": dynamo.S(key.ID)},
	}}, txn.FailWith(ErrEnded))
	t.Token(key.ID, 1)

	err = k.writer.Write(ctx, &t)
	if err != nil {
		return Key{}, "", err
	}

	return key, token, nil
}
