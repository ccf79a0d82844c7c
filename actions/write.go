package actions

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// write is the condition of an update and the values of both.
type write struct {
	condition string
	values    image
}

const (
	isOpen    = "#status = :open AND activeAt <= :now AND expiresAt > :now AND "
	isUsed    = "#status = :consumed AND (attribute_not_exists(" + ExpiryAttribute + ") OR " + ExpiryAttribute + " > :second)"
	triesLeft = "(attribute_not_exists(tries) OR size(tries) < maxAttempts OR contains(tries, :try))"
)

// hold is the condition that no hold of another is in the way, and its values.
func (c *call) hold(cfg Config, values image) string {
	if c.Fence != 0 {
		values[":holder"], values[":fence"] = dynamo.S(c.Holder), dynamo.N(c.Fence)
		return "holder = :holder AND fence = :fence AND holdUntil > :now"
	}

	values[":stale"] = millis(c.now.Add(-cfg.Margin))
	if c.Holder == "" {
		return "(attribute_not_exists(holdUntil) OR holdUntil <= :stale)"
	}
	values[":holder"] = dynamo.S(c.Holder)

	return "(attribute_not_exists(holdUntil) OR holdUntil <= :stale OR (holder = :holder AND holdUntil <= :now))"
}

// usable is the condition under which the request may use the action.
func (c *call) usable(cfg Config) write {
	values := image{":open": dynamo.S(open), ":now": millis(c.now)}
	pin := "attribute_not_exists(pinHash)"
	if c.passed {
		pin, values[":pin"] = "pinHash = :pin", dynamo.B(c.pinHash)
	}

	return write{isOpen + pin + " AND " + c.hold(cfg, values), values}
}

// guessable is the condition under which a try may be spent: tries are left, or this
// one is spent already; and the action could be used, or has been. Of a used one the
// right PIN brings no more than when that was.
func (c *call) guessable(cfg Config) write {
	values := image{":open": dynamo.S(open), ":consumed": dynamo.S(consumed), ":now": millis(c.now), ":second": dynamo.N(c.now.Unix())}
	hold := c.hold(cfg, values)
	if c.Fence == 0 && c.Holder != "" { // a holder asking again for the hold that it has
		hold = "(" + hold + " OR holder = :holder)"
	}

	return write{"attribute_exists(pinHash) AND " + triesLeft + " AND ((" + isOpen + hold + ") OR (" + isUsed + "))", values}
}

var statusName = map[string]string{"#status": "status"} // DynamoDB reserves the word

// isThis is the condition that the item is of this id, and not of a later one that was
// made under the same request id.
const isThis = " AND idExpires = :idExpires"

// update sends one update. It returns the action as the update made it, or, when the
// condition failed, as it was (nil for none) and false.
func (a *Actions) update(ctx context.Context, c *call, update string, w write) (*record, bool, error) {
	w.condition += isThis
	w.values[":idExpires"] = dynamo.N(c.second())

	out, err := a.cfg.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &a.cfg.Table, Key: image{keyAttribute: dynamo.S(c.itemKey)},
		UpdateExpression: &update, ConditionExpression: &w.condition,
		ExpressionAttributeNames: statusName, ExpressionAttributeValues: w.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var refused *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		rec, err := decode(out.Attributes)
		return &rec, true, err
	case !errors.As(err, &refused):
		return nil, false, unavailable(ctx, err)
	case len(refused.Item) == 0:
		return nil, false, nil
	}

	rec, err := decode(refused.Item)
	if rec.idSecond != c.second() {
		return nil, false, err
	}

	return &rec, false, err
}

var retryables = retry.IsErrorRetryables(retry.DefaultRetryables)

// unavailable marks a failure that may pass: time-outs, lost answers, throttling,
// server faults. The SDK has then already retried on its own.
func unavailable(ctx context.Context, err error) error {
	if err != nil && (ctx.Err() != nil || retryables.IsErrorRetryable(err).Bool()) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
