package inventory

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// A reservation that expires has an item in the table of due ones: in one of a few
// shards, which spread the writes, under "<epoch ms, 13 digits>#<order>", which orders
// them by time. So what is due is found by asking each shard for its beginning.
const (
	dueShards = 16
	duePage   = 100
)

func dueItem(order string, at time.Time) image {
	h := fnv.New32a()
	_, _ = h.Write([]byte(order)) // a hash does not fail
	return image{shardKey: dynamo.S(shard(int(h.Sum32() % dueShards))), dueKey: dynamo.S(dueBound(at) + "#" + order)}
}

func shard(n int) string { return fmt.Sprintf("%02d", n) }

func dueBound(at time.Time) string { return fmt.Sprintf("%013d", at.UnixMilli()) }

// mostTold bounds the failures that one sweep tells of.
const mostTold = 10

// ExpireDue puts back the pieces of at most limit reservations that have run out, and
// returns how many it looked at; fewer than limit means that no more are due. One that
// cannot be ended holds up no other: it is due again Config.Every later, and the error
// tells of it. Any number of callers may sweep at once, and race with commits and
// releases. It costs 0.5 read units for each of 16 shards, and for each due reservation
// one read and two writes, and the transaction that ends it if nothing else had.
func (s *Stock) ExpireDue(ctx context.Context, limit int) (int, error) {
	now := s.cfg.Now().Add(-s.cfg.Margin)
	count, failed := 0, []error(nil)
	for n := range dueShards {
		for more := true; more && count < limit; {
			page := min(duePage, limit-count)
			out, err := s.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{
				TableName: &s.cfg.DueTable, Limit: aws.Int32(int32(page)),
				KeyConditionExpression:   aws.String("#shard = :shard AND due < :bound"),
				ExpressionAttributeNames: map[string]string{"#shard": shardKey},
				ExpressionAttributeValues: image{":shard": dynamo.S(shard(n)),
					":bound": dynamo.S(dueBound(now.Add(time.Millisecond)))},
			})
			if err != nil {
				return count, errors.Join(append(failed, fmt.Errorf("find expired reservations: %w", err))...)
			}

			more = len(out.Items) == page
			for _, item := range out.Items {
				gone, err := s.expire(ctx, item, now)
				if err != nil && len(failed) < mostTold {
					failed = append(failed, err)
				}

				if gone {
					count++
				} else {
					more = false // it would be found again
				}
			}
		}
	}

	return count, errors.Join(failed...)
}

// expire ends the reservation that the item tells of, unless it has ended otherwise or
// been made anew, and takes the item away, or puts it off when that fails. Gone tells
// that the item is due no more. Its key holds the very moment, so that the item of a
// newer reservation of the order is another one.
func (s *Stock) expire(ctx context.Context, item image, now time.Time) (gone bool, err error) {
	_, order, _ := strings.Cut(dynamo.Text(item, dueKey), "#")
	due := image{shardKey: item[shardKey], dueKey: item[dueKey]}
	if err = s.end(ctx, order, expiry(now), nil); err == nil || errors.Is(err, ErrClosed) {
		_, err = s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.cfg.DueTable, Key: due})
		gone = err == nil
	} else if ctx.Err() == nil {
		var late error
		gone, late = s.putOff(ctx, due, order, now.Add(s.cfg.Every))
		err = errors.Join(err, late)
	}

	if err != nil {
		return gone, fmt.Errorf("expire the reservation of order %s: %w", order, err)
	}

	return true, nil
}

// putOff makes the item due at another time. Of several sweepers one does it, so that
// one item never becomes two.
func (s *Stock) putOff(ctx context.Context, due image, order string, until time.Time) (gone bool, err error) {
	var t txn.Transaction
	t.Add(duePart, types.TransactWriteItem{Delete: &types.Delete{TableName: &s.cfg.DueTable, Key: due,
		ConditionExpression: aws.String("attribute_exists(" + dueKey + ")")}}, nil)
	t.Add("later", types.TransactWriteItem{Put: &types.Put{TableName: &s.cfg.DueTable, Item: dueItem(order, until)}}, nil)

	err = s.writer.Write(ctx, &t)
	var refused *txn.Refused
	if err == nil || errors.As(err, &refused) {
		return true, nil
	}

	return false, err
}

// sweepAtOnce is how many reservations Run ends before it looks at the clock again.
const sweepAtOnce = 1000

// Run sweeps every Config.Every until ctx ends. What a sweep could not do is left to the
// next one; report is told, nil for one that did all.
func (s *Stock) Run(ctx context.Context, report func(count int, err error)) error {
	ticker := time.NewTicker(s.cfg.Every)
	defer ticker.Stop()

	for {
		count, err := s.ExpireDue(ctx, sweepAtOnce)
		if ctx.Err() != nil {
			return nil
		}
		report(count, err)

		if count == sweepAtOnce {
			continue
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
