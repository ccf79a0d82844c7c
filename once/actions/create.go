package actions

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Create makes an action. A repeat under the same RequestID or Code returns the action as
// it is now, or ErrConflict if the content differs. It costs one write.
func (a *Actions) Create(ctx context.Context, s Spec) (Action, error) {
	if err := a.learn(ctx); err != nil {
		return Action{}, fmt.Errorf("create action: %w", err)
	}
	now := a.now()

	s = s.normal()
	if s.Code != "" {
		s.Code = normalCode(s.Code)
	}

	err := s.validate()
	if err == nil && s.Code != "" {
		err = checkChosen(s.Code)
	}

	if err != nil {
		return Action{}, fmt.Errorf("create action: %w", err)
	}

	key, err := a.keys.signing()
	if err != nil {
		return Action{}, fmt.Errorf("create action: %w", err)
	}

	id, action := ID(s.Code), chosenRef(s.Code)
	if s.Code == "" {
		id, action = key.newID(s.ExpiresAt, seedOf(s.RequestID))
	}

	if refusal := s.checkEnd(now); refusal != nil {
		made, err := a.madeBefore(ctx, id, action, s, refusal)
		if err != nil {
			return Action{}, failed("create", id, err)
		}

		return made, nil
	}

	item, callID := a.newItem(action, key, s, now), rand.Text()
	item["callId"] = dynamo.S(callID)
	if s.Code != "" {
		delete(item, ExpiryAttribute) // only the item remembers that the code was used
	}

	stored, err := a.put(ctx, item)
	if err != nil {
		return Action{}, failed("create", id, err)
	}

	if stored == nil {
		stored = item
	}

	rec, err := decode(stored)
	if err == nil && !bytes.Equal(rec.content, s.content()) {
		err = ErrConflict
	}

	if err != nil {
		return Action{}, failed("create", id, err)
	}

	made := rec.action(id, now)
	// The item names the call that stored it, so the creator recognizes its own write when
	// the answer to it was lost. Two calls may share a millisecond.
	made.Repeated = rec.callID != callID

	return made, nil
}

// madeBefore returns the action that an earlier call has made, or the refusal if there is none.
func (a *Actions) madeBefore(ctx context.Context, id ID, action ref, s Spec, refusal error) (Action, error) {
	item, err := a.remembered(ctx, action, refusal)
	if err != nil {
		return Action{}, err
	}

	rec, err := decode(item)
	switch {
	case err != nil:
		return Action{}, err
	case !bytes.Equal(rec.content, s.content()):
		return Action{}, ErrConflict
	default:
		made := rec.action(id, a.now())
		made.Repeated = true

		return made, nil
	}
}

// remembered reads the item of an action. It returns the refusal if there is none, or if its retention is over.
func (a *Actions) remembered(ctx context.Context, action ref, refusal error) (image, error) {
	out, err := a.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &a.cfg.Table,
		Key:            image{keyAttribute: dynamo.S(a.itemKey(action))},
		ConsistentRead: aws.Bool(true),
	})

	switch {
	case err != nil:
		return nil, unavailable(ctx, err)
	case len(out.Item) == 0 || dynamo.HasExpired(out.Item, ExpiryAttribute, a.now()):
		return nil, refusal
	}

	return out.Item, nil
}

// newItem returns the item of a new action.
func (a *Actions) newItem(action ref, key tenantKey, s Spec, now time.Time) image {
	itemKey := a.itemKey(action)

	item := image{
		keyAttribute:    dynamo.S(itemKey),
		"status":        dynamo.S(open),
		"content":       dynamo.B(s.content()),
		"createdAt":     dynamo.Millis(now),
		"activeAt":      dynamo.N(0),
		"expiresAt":     dynamo.Millis(s.ExpiresAt),
		"idExpires":     dynamo.N(action.second()),
		ExpiryAttribute: dynamo.N(ceilSecond(s.ExpiresAt.Add(a.cfg.Retention))),
	}
	// 0 means at once, for every caller, even if its clock is behind.
	if !s.ActiveAt.IsZero() {
		item["activeAt"] = dynamo.Millis(s.ActiveAt)
	}

	if len(s.Payload) > 0 {
		item["payload"] = dynamo.B(s.Payload)
	}

	if s.PIN != "" {
		item["pinHash"] = dynamo.B(key.hash(itemKey, s.PIN))
		item["pinKey"] = dynamo.N(int64(key.version))
		item["maxAttempts"] = dynamo.N(int64(s.MaxAttempts))
	}

	return item
}

// put stores a new item, or returns the item that exists. An item whose retention is over
// counts as absent, whether TTL has deleted it yet or not.
func (a *Actions) put(ctx context.Context, item image) (old image, err error) {
	old, exists, err := dynamo.UntilDecided(ctx, writeAttempts, func() error {
		_, err := a.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           &a.cfg.Table,
			Item:                                item,
			ConditionExpression:                 aws.String("attribute_not_exists(" + keyAttribute + ") OR " + ExpiryAttribute + " <= :second"),
			ExpressionAttributeValues:           image{":second": dynamo.Seconds(a.now())},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})

		return err
	})
	if exists && len(old) == 0 {
		return nil, fmt.Errorf("%w: the endpoint does not return the item that failed a condition", errUnreadable)
	}

	return old, unavailable(ctx, err)
}
