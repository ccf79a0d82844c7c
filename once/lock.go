package once

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/keys"
)

// Lock is a key that was taken once and is never given back.
type Lock struct {
	// Acquired tells that the caller's holder has the key: by this call, or by an
	// earlier one of the same holder.
	Acquired bool `json:"acquired"`
	// First tells that it was this call.
	First bool `json:"first"`
	// Holder is who has the key, and Since when (ms).
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
}

// Locks gives out once-locks: one write, at most one holder for all time. What the
// holder does under the lock is done at most once: when it crashes, it is not done,
// and nobody else may do it. Use [Claims] where it must be done.
type Locks struct {
	DynamoDB dynamoDB
	Table    string
	// Now is the caller's clock, for Since only. Default time.Now.
	Now func() time.Time
}

const attrSince, attrHolder, attrCall = "since", "holder", "call"

// maxHolder bounds a holder's name, in bytes.
const maxHolder = 256

// Acquire takes the key for the holder, or says who has it. The holder names one
// request, "pod-7/req-123": the same holder gets the lock again, so that a lost
// answer costs nothing, and another one never does. The key is kept for ever.
func (l Locks) Acquire(ctx context.Context, key, holder string) (Lock, error) {
	if err := l.check(key); err != nil {
		return Lock{}, err
	}

	if holder == "" || len(holder) > maxHolder {
		return Lock{}, fmt.Errorf("lock: %w: holder: 1 to %d bytes, got %d", ErrInvalid, maxHolder, len(holder))
	}

	now := time.Now
	if l.Now != nil {
		now = l.Now
	}

	call, since := rand.Text(), time.UnixMilli(now().UnixMilli()).UTC()
	_, err := l.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &l.Table,
		Item: image{attrKey: dynamo.S(lockPrefix + key), attrHolder: dynamo.S(holder), attrCall: dynamo.S(call),
			attrSince: dynamo.N(since.UnixMilli())},
		ConditionExpression: aws.String("attribute_not_exists(#key)"), ExpressionAttributeNames: map[string]string{"#key": attrKey},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld})
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return Lock{Acquired: true, First: true, Holder: holder, Since: since}, nil
	case !errors.As(err, &failed):
		return Lock{}, fmt.Errorf("lock: %w", err)
	}

	item := failed.Item
	if len(item) == 0 { // an endpoint that does not return it; locks never vanish
		if item, err = l.read(ctx, key); err != nil {
			return Lock{}, err
		}
	}
	lock, err := decodeLock(item)
	lock.Acquired = err == nil && lock.Holder == holder
	lock.First = lock.Acquired && dynamo.Text(item, attrCall) == call

	return lock, err
}

// Get reads who has the key. It is false when nobody does.
func (l Locks) Get(ctx context.Context, key string) (Lock, bool, error) {
	if err := l.check(key); err != nil {
		return Lock{}, false, err
	}

	item, err := l.read(ctx, key)
	if err != nil || len(item) == 0 {
		return Lock{}, false, err
	}
	lock, err := decodeLock(item)

	return lock, err == nil, err
}

func (l Locks) check(key string) error {
	if l.DynamoDB == nil || l.Table == "" {
		return errors.New("lock: Locks.DynamoDB and Table must be set")
	}

	if n := keys.MaxBytes - len(lockPrefix); key == "" || len(key) > n || !utf8.ValidString(key) {
		return fmt.Errorf("lock: %w: key: 1 to %d bytes of UTF-8, got %d", ErrInvalid, n, len(key))
	}

	return nil
}

func (l Locks) read(ctx context.Context, key string) (image, error) {
	out, err := l.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.Table, ConsistentRead: aws.Bool(true),
		Key: image{attrKey: dynamo.S(lockPrefix + key)}})
	if err != nil {
		return nil, fmt.Errorf("read lock: %w", err)
	}

	return out.Item, nil
}

func decodeLock(item image) (Lock, error) {
	lock := Lock{Holder: dynamo.Text(item, attrHolder), Since: millis(item, attrSince)}
	if lock.Holder == "" {
		return Lock{}, fmt.Errorf("lock: %w: it has no holder", ErrCorrupt)
	}

	return lock, nil
}
