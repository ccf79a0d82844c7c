package once

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// snapshot is a record as DynamoDB last returned it, nil for none, with its item.
type snapshot struct {
	record *Record
	item   dynamo.Item
	// misdated is set after a write whose answer shows that the times in the write were wrong.
	misdated bool
}

// apply sends an update of the record under the key until DynamoDB has decided. Each attempt has the
// update that build returns for the service's time at that moment. A failed condition is not an
// error: apply then returns false and the record that failed it.
func (c *Claims) apply(ctx context.Context, key string, build func(now time.Time) *dynamo.Update) (applied bool, s snapshot, err error) {
	var local, now time.Time
	old, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
		local = c.clock.LocalNow()
		now = c.clock.Service(local)
		_, err := c.cfg.DynamoDB.UpdateItem(ctx, withoutImage(build(now)))

		return err
	})

	switch {
	case err != nil:
		return false, snapshot{}, unanswered(err)
	case !refused:
		off := c.clock.Service(local).Sub(now).Abs()
		return true, snapshot{misdated: off > c.cfg.margin}, nil
	}

	s, err = c.snapshotOf(ctx, key, old)

	return false, s, err
}

// snapshotOf reads the record that failed a condition. Without one there is no record, or the endpoint
// does not return it. A read shows which.
func (c *Claims) snapshotOf(ctx context.Context, key string, old dynamo.Item) (snapshot, error) {
	if len(old) == 0 {
		return c.read(ctx, key)
	}

	return decodeSnapshot(old)
}

// withoutImage returns the request for an update whose new image is not needed.
func withoutImage(u *dynamo.Update) *dynamodb.UpdateItemInput {
	in := u.Input()
	in.ReturnValues = types.ReturnValueNone

	return in
}

// read reads the record under a key.
func (c *Claims) read(ctx context.Context, key string) (snapshot, error) {
	out, err := c.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &c.cfg.Table,
		Key:            recordKey(key),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil || len(out.Item) == 0 {
		return snapshot{}, err
	}

	return decodeSnapshot(out.Item)
}

func decodeSnapshot(item dynamo.Item) (snapshot, error) {
	r, err := decode(item)
	return snapshot{record: &r, item: item}, err
}
