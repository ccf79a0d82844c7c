package once

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

type image = dynamo.Item

// write is one conditional update of one record.
type write struct {
	key, condition string
	// set and remove are the clauses of the update expression, without keywords.
	set, remove string
	values      image
	fence       int64 // that the key has afterwards, when the write claims it
}

// namesIn picks the aliases that the expressions use: DynamoDB refuses unused ones.
func namesIn(expressions ...string) map[string]string {
	used := make(map[string]string, len(names))
	for _, e := range expressions {
		for word := range strings.FieldsFuncSeq(e, func(r rune) bool { return strings.ContainsRune(" ,()=<>+", r) }) {
			if name, ok := names[word]; ok {
				used[word] = name
			}
		}
	}

	return used
}

func (c *Claims) item(w write) *types.Update {
	update := "SET " + w.set
	if w.remove != "" {
		update += " REMOVE " + w.remove
	}

	return &types.Update{
		TableName: &c.cfg.Table, Key: image{attrKey: dynamo.S(w.key)},
		ConditionExpression: &w.condition, UpdateExpression: &update,
		ExpressionAttributeNames: namesIn(w.condition, update), ExpressionAttributeValues: w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// apply sends the update. A failed condition is no error: won is false then, and the
// sight is the record that made it fail.
func (c *Claims) apply(ctx context.Context, w write) (won bool, s sight, err error) {
	u := c.item(w)
	out, err := c.cfg.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: u.TableName, Key: u.Key, ConditionExpression: u.ConditionExpression, UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return true, sight{ahead: c.ahead(out.ResultMetadata)}, nil
	case !errors.As(err, &failed):
		return false, sight{}, err
	case len(failed.Item) == 0:
		// Nothing is there, or the endpoint does not return it: one read tells.
		s, err = c.see(ctx, w.key)
		return false, s, err
	}
	s.ahead = c.aheadOf(err)
	s.record, err = known(failed.Item)

	return false, s, err
}

// see reads the record under a key.
func (c *Claims) see(ctx context.Context, key string) (s sight, err error) {
	out, err := c.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &c.cfg.Table,
		Key: image{attrKey: dynamo.S(key)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return sight{}, err
	}
	s.ahead = c.ahead(out.ResultMetadata)
	s.record, err = known(out.Item)

	return s, err
}

// known is the record that an item holds, nil when there is no item.
func known(item image) (*Record, error) {
	if len(item) == 0 {
		return nil, nil //nolint:nilnil // no record is a finding
	}
	r, err := decode(item)

	return &r, err
}
