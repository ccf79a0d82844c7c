package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Rotate creates a key with the same name, tenant, scope and grant, and ends the old key after
// the grace period, or at its own expiry if that is earlier. The new key expires at
// expires; zero means that it does not expire. Rotate fails with ErrNoKey, ErrEnded or
// ErrInvalid.
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

	now := time.Now()

	old, err := k.readLive(ctx, id, now)
	if err != nil {
		return Key{}, "", err
	}

	n := NewKey{Name: old.Name, Tenant: old.Tenant, Scope: old.Scope, Personal: old.Personal, Expires: expires}
	if err := n.validate(now); err != nil {
		return Key{}, "", err
	}

	key, token, item := n.build(now)

	end := now.Add(grace)
	if !old.ExpiresAt.IsZero() && old.ExpiresAt.Before(end) {
		end = old.ExpiresAt
	}

	// The key may be revoked or rotated between the read and this write, so both are part
	// of the condition. The expiry is not: only a rotation changes it.
	endOld := dynamo.NewUpdate(k.cfg.Table, keyOf(id)).
		IfPresent("hash").
		IfAbsent("revokedAt").
		IfAbsent("replacedBy").
		SetValue("expiresAt", dynamo.Millis(end)).
		SetValue("replacedBy", dynamo.S(key.ID))
	create := &types.Put{TableName: &k.cfg.Table, Item: item, ConditionExpression: &ifAbsent}

	var t txn.Transaction
	t.Add("new", types.TransactWriteItem{Put: create}, nil)
	t.Add("old", types.TransactWriteItem{Update: endOld.Part()}, txn.FailWith(ErrEnded))
	// Without a marker, the token makes a repeat after a lost answer succeed.
	t.Token(key.ID, 1)

	if err := k.writer.Write(ctx, &t); err != nil {
		return Key{}, "", err
	}

	return key, token, nil
}

// readLive returns a key that can be rotated now. It fails with ErrNoKey or ErrEnded.
func (k *Keys) readLive(ctx context.Context, id string, now time.Time) (Key, error) {
	item, err := k.read(ctx, id)
	if err != nil {
		return Key{}, err
	}

	if !isKey(item) {
		return Key{}, ErrNoKey
	}

	key := decodeKey(item)
	if !key.Live(now) || key.ReplacedBy != "" {
		return Key{}, ErrEnded
	}

	return key, nil
}
