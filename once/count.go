package once

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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

var countKinds = dynamo.Kinds{attrEvents: "SS", ExpiryAttribute: "N"}

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

	if err := c.learn(ctx); err != nil {
		return 0, err
	}

	// Adding a member to a set twice changes nothing, so a lost answer does no harm.
	add := func(now time.Time) *dynamo.Update {
		return c.counted(key, event, now).
			If("attribute_not_exists(#expiry) OR #expiry >= :now").
			If("attribute_not_exists(#events) OR contains(#events, :event) OR size(#events) < :most").
			Bind(":event", dynamo.S(event)).
			Bind(":most", dynamo.N(maxCounted)).
			Bind(":now", dynamo.Seconds(now)).
			Add("#events :events")
	}
	// The count has expired and TTL has not deleted it yet: this event is the first.
	begin := func(now time.Time) *dynamo.Update {
		return c.counted(key, event, now).
			If("#expiry < :now").
			Bind(":now", dynamo.Seconds(now)).
			Set("#events = :events")
	}

	for range rounds {
		counted, refused, err := c.updateCount(ctx, add)
		if err != nil || !refused {
			return len(countedEvents(counted)), err
		}

		if err := countKinds.Check(counted); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}

		if dynamo.Number(counted, ExpiryAttribute) >= c.clock.Now().Unix() {
			if events := countedEvents(counted); len(events) >= maxCounted || slices.Contains(events, event) {
				return len(events), nil // full
			}

			continue // this machine's clock was wrong
		}

		// If a concurrent caller has begun the new count, the next round counts the event there.
		if _, _, err := c.updateCount(ctx, begin); err != nil {
			return 0, err
		}
	}

	return 0, c.inProgress(c.clock.Now())
}

// updateCount sends an update of a count. It returns the count as it is then, or as it refused the
// update.
func (c *Claims) updateCount(ctx context.Context, build func(now time.Time) *dynamo.Update) (item dynamo.Item, refused bool, err error) {
	var out *dynamodb.UpdateItemOutput

	old, refused, err := dynamo.UntilDecided(ctx, writeAttempts, func() (err error) {
		out, err = c.cfg.DynamoDB.UpdateItem(ctx, build(c.clock.Now()).Input())
		return err
	})
	if err != nil || refused {
		return old, refused, unanswered(err)
	}

	return out.Attributes, false, nil
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
