package notify

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// records are the items of the deliveries' table.
type records struct {
	api   dynamoAPI
	table string
	clock *dynamo.Clock
}

// ofOrder returns the deliveries of an order to one endpoint, or to all endpoints if endpoint is
// "", sorted by endpoint and transition.
func (r records) ofOrder(ctx context.Context, order, endpoint string) (all []Delivery, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &r.table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#order = :order"),
		ExpressionAttributeNames:  map[string]string{"#order": deliveryOrder},
		ExpressionAttributeValues: dynamo.Item{":order": dynamo.S(order)},
	}
	if endpoint != "" {
		in.KeyConditionExpression = aws.String("#order = :order AND begins_with(#delivery, :endpoint)")
		in.ExpressionAttributeNames["#delivery"] = deliveryName
		in.ExpressionAttributeValues[":endpoint"] = dynamo.S(endpoint + "#")
	}

	now := r.clock.Now()
	for pages := dynamodb.NewQueryPaginator(r.api, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the deliveries of order %s: %w", order, err)
		}

		for _, item := range page.Items {
			// TTL deletes up to days late, so an expired delivery counts as absent.
			if !dynamo.HasExpired(item, DeliveryExpiryAttribute, now) {
				all = append(all, decodeDelivery(item))
			}
		}
	}

	return all, nil
}

// get returns the delivery with the key. found is false if there is none.
func (r records) get(ctx context.Context, key dynamo.Item) (d Delivery, found bool, err error) {
	out, err := r.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &r.table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Delivery{}, false, fmt.Errorf("read a delivery: %w", err)
	}

	if len(out.Item) == 0 || dynamo.HasExpired(out.Item, DeliveryExpiryAttribute, r.clock.Now()) {
		return Delivery{}, false, nil
	}

	return decodeDelivery(out.Item), true, nil
}

// create stores a new delivery. It reports false if the delivery exists already and has not
// expired.
func (r records) create(ctx context.Context, d *Delivery) (created bool, err error) {
	now := r.clock.Now()
	d.version, d.call, d.CreatedAt = 1, rand.Text(), now.UTC()

	_, err = r.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &r.table,
		Item:                                d.encode(now),
		ConditionExpression:                 aws.String("attribute_not_exists(#order) OR #expires <= :now"),
		ExpressionAttributeNames:            map[string]string{"#order": deliveryOrder, "#expires": DeliveryExpiryAttribute},
		ExpressionAttributeValues:           dynamo.Item{":now": dynamo.Seconds(now)},
		ReturnValuesOnConditionCheckFailure: "ALL_OLD",
	})
	if old, failed := dynamo.FailedCondition(err); failed {
		return dynamo.Text(old, deliveryCall) == d.call, nil // an earlier try of this call may have stored it
	}

	if err != nil {
		return false, fmt.Errorf("store delivery %s: %w", d.ID(), err)
	}

	return true, nil
}

// take reserves the next attempt for this worker until until. It reports false if the delivery has
// changed since it was read.
func (r records) take(ctx context.Context, d *Delivery, until time.Time) (bool, error) {
	taken := *d
	taken.Attempts++
	// The due time is the lease: until then no look finds the delivery.
	taken.NextTry = until

	return r.write(ctx, d, taken, func(u *dynamo.Update) {
		u.SetValue(deliveryAttempts, dynamo.N(int64(taken.Attempts))).
			SetValue(deliveryDue, dynamo.Millis(until))
	})
}

// postpone moves the due time of a delivery that cannot be tried yet.
func (r records) postpone(ctx context.Context, d *Delivery, until time.Time) (bool, error) {
	later := *d
	later.NextTry = until

	return r.write(ctx, d, later, func(u *dynamo.Update) { u.SetValue(deliveryDue, dynamo.Millis(until)) })
}

// store writes the outcome of an attempt, or that the delivery is sent again.
func (r records) store(ctx context.Context, d *Delivery, next Delivery) (bool, error) {
	return r.write(ctx, d, next, r.outcome(next))
}

// storeAttempt writes the outcome of the attempt that this worker has taken. An erasure, or a worker that makes the
// delivery wait, changes the item and leaves the attempt to this worker: then the outcome is written to the item as it
// is now. after returns the delivery with the outcome, without texts of the far side if the person was erased.
func (r records) storeAttempt(ctx context.Context, d *Delivery, after func(d Delivery, erased bool) Delivery) (bool, error) {
	erased := false

	for range changeRounds {
		next := after(*d, erased)

		changed, err := r.writeUnless(ctx, d, next, r.outcome(next))
		switch {
		case err != nil || changed == nil:
			return err == nil, err
		case !changed.isInAttempt(*d):
			return false, nil
		}
		erased = erased || changed.lacksPersonOf(*d)
		*d = *changed
	}

	return false, fmt.Errorf("change delivery %s: %w", d.ID(), errDeliveryMoved)
}

// isInAttempt reports whether the attempt of taken is under way: each attempt that begins has a number of its own since
// the last resend, and a resend follows an end.
func (d Delivery) isInAttempt(taken Delivery) bool {
	return d.Status == Pending && d.Attempts == taken.Attempts && d.Resends == taken.Resends
}

// lacksPersonOf reports whether a person was erased since d was the earlier delivery.
func (d Delivery) lacksPersonOf(earlier Delivery) bool {
	return len(d.Attributes) < len(earlier.Attributes) || d.Cause != earlier.Cause || d.Response != earlier.Response || d.Error != earlier.Error
}

// outcome returns the change that writes what an attempt changes.
func (r records) outcome(next Delivery) func(*dynamo.Update) {
	return func(u *dynamo.Update) {
		u.SetValue(deliveryAttempts, dynamo.N(int64(next.Attempts))).
			SetValue(deliveryResends, dynamo.N(int64(next.Resends)))

		set := next.outcome(r.clock.Now())
		for _, name := range []string{
			deliveryStatus, deliveryGeneration, DeliveryExpiryAttribute, deliveryQueue, deliveryDue,
			deliveryTried, deliveryAnswer, deliveryResponse, deliveryError,
		} {
			if v, ok := set[name]; ok {
				u.SetValue(name, v)
			} else {
				u.RemoveAttribute(name)
			}
		}

		if next.newest != nil {
			for _, name := range []string{deliveryCount, tryAttribute(next.tried)} {
				u.SetValue(name, set[name])
			}
		}
	}
}

// write changes the item from d to next, on condition that the item still has d's version, and then
// sets *d to next. It reports false if the item has changed.
func (r records) write(ctx context.Context, d *Delivery, next Delivery, change func(*dynamo.Update)) (bool, error) {
	changed, err := r.writeUnless(ctx, d, next, change)

	return err == nil && changed == nil, err
}

// writeUnless is write. If the item has changed, writeUnless returns it, without a status if it is gone.
func (r records) writeUnless(ctx context.Context, d *Delivery, next Delivery, change func(*dynamo.Update)) (changed *Delivery, err error) {
	next.version, next.call = d.version+1, rand.Text()

	update := dynamo.NewUpdate(r.table, d.itemKey()).
		IfEquals(deliveryVersion, dynamo.N(d.version)).
		SetValue(deliveryVersion, dynamo.N(next.version)).
		SetValue(deliveryCall, dynamo.S(next.call))
	change(update)

	_, err = r.api.UpdateItem(ctx, update.Input())
	if old, failed := dynamo.FailedCondition(err); failed {
		if dynamo.Text(old, deliveryCall) != next.call {
			now := decodeDelivery(old)
			return &now, nil
		}
		err = nil // an earlier try of this call wrote it
	}

	if err != nil {
		return nil, fmt.Errorf("change delivery %s: %w", d.ID(), err)
	}
	next.newest = nil // it is noted
	*d = next

	return nil, nil
}

// queued returns up to limit deliveries of a queue in the order of their due times, from since on.
// after is the position of the page, nil for the first page. queued also returns the position of
// the next page.
func (r records) queued(ctx context.Context, queue string, since time.Time, after dynamo.Item, limit int) ([]Delivery, dynamo.Item, error) {
	// Reads of an index are eventually consistent. For an outdated entry the condition of take
	// fails.
	in := &dynamodb.QueryInput{
		TableName:                 &r.table,
		IndexName:                 aws.String(queueIndex),
		KeyConditionExpression:    aws.String("#queue = :queue AND #due >= :since"),
		ExpressionAttributeNames:  map[string]string{"#queue": deliveryQueue, "#due": deliveryDue},
		ExpressionAttributeValues: dynamo.Item{":queue": dynamo.S(queue), ":since": dynamo.N(max(0, since.UnixMilli()))},
		Limit:                     aws.Int32(int32(limit)),
		ExclusiveStartKey:         after,
	}

	out, err := r.api.Query(ctx, in)
	if err != nil {
		return nil, nil, fmt.Errorf("read the queue %s: %w", queue, err)
	}

	found := make([]Delivery, len(out.Items))
	for i, item := range out.Items {
		found[i] = decodeDelivery(item)
	}

	return found, out.LastEvaluatedKey, nil
}
