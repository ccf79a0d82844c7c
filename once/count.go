package once

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/keys"
)

const (
	// attrEvents is the set of the events that a count has.
	attrEvents = "events"
	// maxCounted bounds a count and with it the item; maxEvent bounds an event's name, in
	// bytes.
	maxCounted, maxEvent = 128, 64
)

// Count counts the event under the key, once, and returns how many events the key has by
// now. A repeat of an event changes nothing. A count stops at 128 events, and is forgotten
// Config.Retention after its newest event. Counts and claims have separate keys.
func (c *Claims) Count(ctx context.Context, key, event string) (n int, err error) {
	n, err = c.count(ctx, key, event)
	return n, c.observe("count", key, outcomeCompleted, err)
}

func (c *Claims) count(ctx context.Context, key, event string) (int, error) {
	switch longest := keys.MaxBytes - len(countPrefix); {
	case key == "" || len(key) > longest || !utf8.ValidString(key):
		return 0, fmt.Errorf("%w: key: 1 to %d bytes of UTF-8, got %d", ErrInvalid, longest, len(key))
	case event == "" || len(event) > maxEvent || !utf8.ValidString(event):
		return 0, fmt.Errorf("%w: event: 1 to %d bytes of UTF-8, got %d", ErrInvalid, maxEvent, len(event))
	}

	now := c.cfg.Now()
	for range rounds {
		// Adding a member to a set twice changes nothing, so a lost answer does no harm.
		out, err := c.cfg.DynamoDB.UpdateItem(ctx, c.counted(key, event, now).
			If("attribute_not_exists(#expiry) OR #expiry >= :now").
			If("attribute_not_exists(#events) OR contains(#events, :event) OR size(#events) < :most").
			Bind(":event", dynamo.S(event)).
			Bind(":most", dynamo.N(maxCounted)).
			Bind(":now", dynamo.Seconds(now)).
			Add("#events :events").
			Input())
		if err == nil {
			return len(countedEvents(out.Attributes)), nil
		}

		old, refused := dynamo.FailedCondition(err)
		if !refused {
			return 0, err
		}

		if dynamo.Number(old, ExpiryAttribute) >= now.Unix() {
			return len(countedEvents(old)), nil // full
		}

		// The count has expired and TTL has not deleted it yet: this event is the first.
		// If a concurrent caller has begun the new count, the next round counts the event
		// there.
		_, err = c.cfg.DynamoDB.UpdateItem(ctx, c.counted(key, event, now).
			If("#expiry < :now").
			Bind(":now", dynamo.Seconds(now)).
			Set("#events = :events").
			Input())
		if _, refused := dynamo.FailedCondition(err); err != nil && !refused {
			return 0, err
		}
	}

	return 0, inProgressError{c.cfg.Now()}
}

// counted begins an update of the count under the key.
func (c *Claims) counted(key, event string, now time.Time) *dynamo.Update {
	return dynamo.NewUpdate(c.cfg.Table, recordKey(countPrefix+key)).
		Alias("#expiry", ExpiryAttribute).
		Alias("#events", attrEvents).
		Bind(":events", dynamo.SS(event)).
		Set("#expiry = :expiry").
		Bind(":expiry", dynamo.Seconds(now.Add(c.cfg.Retention)))
}

func countedEvents(item dynamo.Item) []string {
	if set, ok := item[attrEvents].(*types.AttributeValueMemberSS); ok {
		return set.Value
	}

	return nil
}
