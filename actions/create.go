package actions

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Spec describes a new action. ExpiresAt must be set.
type Spec struct {
	// RequestID names the creation, 1 to 255 printable ASCII characters: the same again
	// finds the action instead of making a second one, as long as it is remembered. Its
	// times must be equal, too: a repeat does not count them from now.
	RequestID string
	// Code is chosen by the caller instead of an allotted id: 3 to 64 letters, digits
	// and hyphens, in any case. Guessing it is as easy as it looks, and its item is kept
	// for good. A used code is never free again.
	Code string
	// Payload is any JSON value up to [MaxPayload] bytes; who consumes the action gets it.
	Payload json.RawMessage
	// PIN must be given to consume the action. Empty: none. A repeat must have one, too,
	// but it is not compared: the first one stays.
	PIN PIN
	// MaxAttempts is how many different tries of the PIN are compared, 1 to 10. Default 3.
	MaxAttempts int
	// ActiveAt is the moment from which the action may be used. Zero: at once.
	ActiveAt time.Time
	// ExpiresAt is the moment from which it may no more, at most 5 years from now.
	ExpiresAt time.Time
}

const (
	// MaxPayload is the size of the largest payload, in bytes. Every write of an action
	// is billed by its whole size.
	MaxPayload = 32 << 10

	defaultAttempts = 3
	mostAttempts    = 10
)

var textRule = regexp.MustCompile(`^[ -~]{1,255}$`)

func (s *Spec) validate(now time.Time) error {
	switch {
	case s.RequestID != "" && !textRule.MatchString(s.RequestID):
		return fmt.Errorf("%w: requestId: 1 to 255 printable ASCII characters", ErrInvalid)
	case s.RequestID != "" && s.Code != "":
		return fmt.Errorf("%w: requestId and code: one of them names the creation", ErrInvalid)
	case len(s.Payload) > MaxPayload || (len(s.Payload) > 0 && !json.Valid(s.Payload)):
		return fmt.Errorf("%w: payload: a JSON value of at most %d bytes", ErrInvalid, MaxPayload)
	case s.PIN == "" && s.MaxAttempts != 0:
		return fmt.Errorf("%w: maxAttempts: only with a pin", ErrInvalid)
	case s.MaxAttempts < 0 || s.MaxAttempts > mostAttempts:
		return fmt.Errorf("%w: maxAttempts %d: 1 to %d", ErrInvalid, s.MaxAttempts, mostAttempts)
	case s.ExpiresAt.IsZero():
		return fmt.Errorf("%w: expiresAt: must be set", ErrInvalid)
	case !s.ExpiresAt.After(now):
		return fmt.Errorf("%w: expiresAt %s: must be in the future", ErrInvalid, s.ExpiresAt.UTC().Format(time.RFC3339))
	case s.ExpiresAt.Sub(now) > maxLifetime:
		return fmt.Errorf("%w: expiresAt %s: at most 5 years from now", ErrInvalid, s.ExpiresAt.UTC().Format(time.RFC3339))
	case !s.ActiveAt.Before(s.ExpiresAt):
		return fmt.Errorf("%w: activeAt %s: must be before expiresAt", ErrInvalid, s.ActiveAt.UTC().Format(time.RFC3339))
	case s.PIN != "":
		return s.PIN.validate()
	}

	return nil
}

// normal is the spec as it is stored: times in milliseconds, defaults filled.
func (s Spec) normal() Spec {
	s.ExpiresAt = s.ExpiresAt.Truncate(time.Millisecond)
	s.ActiveAt = s.ActiveAt.Truncate(time.Millisecond)
	if s.PIN != "" && s.MaxAttempts == 0 {
		s.MaxAttempts = defaultAttempts
	}

	return s
}

// content is what must be equal between two creations of an action. Of the PIN only
// that there is one: a conflict would tell whether a guess is right, and spend no try.
func (s Spec) content() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s|%d|%d|%d|%t", len(s.Payload), s.Payload, s.MaxAttempts,
		s.ActiveAt.UnixMilli(), s.ExpiresAt.UnixMilli(), s.PIN != ""))
	return sum[:]
}

// Create makes an action. It costs one write. A repeat under the same RequestID or
// Code returns the action as it is now; ErrConflict when the content differs.
func (a *Actions) Create(ctx context.Context, s Spec) (Action, error) {
	now := a.now()

	s = s.normal()
	if s.Code != "" {
		s.Code = normalCode(s.Code)
	}

	err := s.validate(now)
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

	id, r := ID(s.Code), chosenRef(s.Code)
	if s.Code == "" {
		id, r = key.mint(s.ExpiresAt, seedOf(s.RequestID))
	}

	item, callID := a.item(r, key, s, now), rand.Text()
	item["callId"] = dynamo.S(callID)
	if s.Code != "" {
		delete(item, ExpiryAttribute) // nothing else remembers that the code was used
	}

	old, err := a.put(ctx, item, now)
	if err != nil {
		return Action{}, failed("create", id, err)
	}

	if old == nil {
		old = item
	}

	rec, err := decode(old)
	if err == nil && !bytes.Equal(rec.content, s.content()) {
		err = ErrConflict
	}

	if err != nil {
		return Action{}, failed("create", id, err)
	}
	made := rec.action(id, now)
	// The item names the call that stored it, so the creator recognizes its own write
	// when the answer to it was lost. Two calls may share a millisecond.
	made.Repeated = rec.callID != callID

	return made, nil
}

func (a *Actions) item(r ref, key tenantKey, s Spec, now time.Time) image {
	itemKey := a.itemKey(r)

	item := image{
		keyAttribute: dynamo.S(itemKey), "status": dynamo.S(open), "content": dynamo.B(s.content()),
		"createdAt": millis(now), "activeAt": dynamo.N(0), "expiresAt": millis(s.ExpiresAt),
		"idExpires":     dynamo.N(r.second()),
		ExpiryAttribute: dynamo.N(ceilSecond(s.ExpiresAt.Add(a.cfg.Retention))),
	}
	if !s.ActiveAt.IsZero() { // else at once, whatever the clock of who uses it
		item["activeAt"] = millis(s.ActiveAt)
	}

	if len(s.Payload) > 0 {
		item["payload"] = dynamo.B(s.Payload)
	}

	if s.PIN != "" {
		item["pinHash"], item["pinKey"] = dynamo.B(key.hash(itemKey, s.PIN)), dynamo.N(int64(key.version))
		item["maxAttempts"] = dynamo.N(int64(s.MaxAttempts))
	}

	return item
}

// put stores a new item. It returns the one that was there before, if any. One whose
// time is over counts as absent, whether TTL has deleted it yet or not.
func (a *Actions) put(ctx context.Context, item image, now time.Time) (old image, err error) {
	_, err = a.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &a.cfg.Table, Item: item,
		ConditionExpression:                 aws.String("attribute_not_exists(" + keyAttribute + ") OR " + ExpiryAttribute + " <= :second"),
		ExpressionAttributeValues:           image{":second": dynamo.N(now.Unix())},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var refused *types.ConditionalCheckFailedException
	if errors.As(err, &refused) && len(refused.Item) > 0 {
		return refused.Item, nil
	}

	return nil, unavailable(ctx, err)
}
