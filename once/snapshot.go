package once

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// snapshot is a record as DynamoDB last returned it, nil for none, and how far this
// caller's clock is ahead of the service's, as far as the answer shows.
type snapshot struct {
	record *Record
	ahead  time.Duration
}

// apply sends an update of the record under the key. A failed condition is not an error:
// apply then returns false and the record that failed it.
func (c *Claims) apply(ctx context.Context, key string, u *dynamo.Update) (applied bool, s snapshot, err error) {
	out, err := c.cfg.DynamoDB.UpdateItem(ctx, withoutImage(u))
	old, refused := dynamo.FailedCondition(err)

	switch {
	case err == nil:
		return true, snapshot{ahead: c.ahead(out.ResultMetadata)}, nil
	case !refused:
		return false, snapshot{}, err
	case len(old) == 0:
		// There is no record, or the endpoint does not return it. A read shows which.
		s, err = c.read(ctx, key)
		return false, s, err
	}

	s.ahead = c.aheadOf(err)
	s.record, err = decodeOptional(old)

	return false, s, err
}

// withoutImage returns the request for an update whose new image is not needed.
func withoutImage(u *dynamo.Update) *dynamodb.UpdateItemInput {
	in := u.Input()
	in.ReturnValues = types.ReturnValueNone

	return in
}

// read reads the record under a key.
func (c *Claims) read(ctx context.Context, key string) (s snapshot, err error) {
	out, err := c.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &c.cfg.Table,
		Key:            recordKey(key),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return snapshot{}, err
	}

	s.ahead = c.ahead(out.ResultMetadata)
	s.record, err = decodeOptional(out.Item)

	return s, err
}

// decodeOptional reads an item, nil if it is empty.
func decodeOptional(item dynamo.Item) (*Record, error) {
	if len(item) == 0 {
		return nil, nil //nolint:nilnil // the absence of a record is a valid result
	}
	r, err := decode(item)

	return &r, err
}
