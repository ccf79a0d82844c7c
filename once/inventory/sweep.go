package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// The due table has a row for each reservation that expires. Its partition key is one of
// a few shards, which spread the writes. Its sort key is "<epoch ms, 13 digits>#<order>",
// which orders the rows by time: the rows that are due are the first ones of each shard.
const (
	dueShards = 16
	duePage   = 100
)

func dueItem(order string, at time.Time) image {
	return image{
		shardKey: dynamo.S(shardName(dynamo.Shard(order, dueShards))),
		dueKey:   dynamo.S(dueBound(at) + "#" + order),
	}
}

// duePut is the part of a transaction that adds the order's row.
func (s *Stock) duePut(order string, at time.Time) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &s.cfg.DueTable, Item: dueItem(order, at)}}
}

func shardName(n int) string { return fmt.Sprintf("%02d", n) }

func dueBound(at time.Time) string { return fmt.Sprintf("%013d", at.UnixMilli()) }

// maxSweepErrors bounds the errors that a sweep returns.
const maxSweepErrors = 10

// ExpireDue returns the pieces of at most limit reservations that have expired, and the
// number of reservations that it dealt with. Fewer than limit means that no more are due.
// A reservation that cannot be ended does not block the others: it is postponed by
// a minute, and its error is in the returned error, which joins at most 10. Any number
// of callers may sweep at once and race with commits and releases.
//
// It costs 0.5 read units for each of 16 shards, and for each due reservation 1 read unit, 2 write units for its
// row, and the transaction that ends it if it has not ended otherwise.
func (s *Stock) ExpireDue(ctx context.Context, limit int) (count int, err error) {
	// With a clock that is ahead, the sweep would postpone what is not due.
	if err := s.learn(ctx, ""); err != nil {
		return 0, fmt.Errorf("find expired reservations: %w", err)
	}

	var failed []error
	// By another caller's clock, a reservation may run a margin longer.
	now := s.clock.Now().Add(-margin)

	for shard := range dueShards {
		for more := true; more && count < limit; {
			page := min(duePage, limit-count)

			items, err := s.dueItems(ctx, shard, page, now)
			if err != nil {
				return count, errors.Join(append(failed, fmt.Errorf("find expired reservations: %w", err))...)
			}

			more = len(items) == page
			for _, item := range items {
				removed, err := s.expire(ctx, item, now)
				if err != nil && len(failed) < maxSweepErrors {
					failed = append(failed, err)
				}

				if removed {
					count++
				} else {
					more = false // the next page would begin with the same row
				}
			}
		}
	}

	return count, errors.Join(failed...)
}

// dueItems returns the first rows of a shard that are due at the time.
func (s *Stock) dueItems(ctx context.Context, shard, limit int, now time.Time) ([]image, error) {
	// The read is eventually consistent, at half the cost: a row that is gone already is deleted
	// once more.
	out, err := s.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{
		TableName:                &s.cfg.DueTable,
		Limit:                    aws.Int32(int32(limit)),
		KeyConditionExpression:   aws.String("#shard = :shard AND due < :bound"),
		ExpressionAttributeNames: map[string]string{"#shard": shardKey},
		ExpressionAttributeValues: image{
			":shard": dynamo.S(shardName(shard)),
			// A row of the same millisecond has a # behind the bound and sorts after it.
			":bound": dynamo.S(dueBound(now.Add(time.Millisecond))),
		},
	})
	if err != nil {
		return nil, err
	}

	return out.Items, nil
}

// expire ends the reservation of a due row and deletes the row, in one transaction. If the reservation has
// ended otherwise, or the order has made a new one, only the row is deleted: the row's key
// contains the exact time, so a newer reservation has another row. If the reservation
// cannot be ended, the row is postponed. expire reports whether the row is no longer due.
func (s *Stock) expire(ctx context.Context, item image, now time.Time) (removed bool, err error) {
	due, order, _ := strings.Cut(dynamo.Text(item, dueKey), "#")
	row := image{shardKey: item[shardKey], dueKey: item[dueKey]}

	e := expiry(margin)
	e.due = row
	err = s.end(ctx, order, e, nil)

	// The clock has changed since the rows were read: the row is not due yet.
	var running runningError
	if errors.As(err, &running) && !running.until.IsZero() && dueBound(running.until) <= due {
		return false, nil
	}

	if err == nil {
		return true, nil
	}

	// A closed order reserves nothing any more, and an end moves only forward: the row is not needed again.
	if errors.Is(err, ErrClosed) {
		_, err = s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.cfg.DueTable, Key: row})
		removed = err == nil
	} else if ctx.Err() == nil {
		var postponed error
		removed, postponed = s.postpone(ctx, row, order, now.Add(s.cfg.every))
		err = errors.Join(err, postponed)
	}

	if err != nil {
		return removed, fmt.Errorf("expire the reservation of order %s: %w", order, err)
	}

	return true, nil
}

// postpone replaces the row by a row that is due at a later time. The transaction keeps two
// sweepers from making two new rows.
func (s *Stock) postpone(ctx context.Context, row image, order string, until time.Time) (removed bool, err error) {
	var t txn.Transaction
	t.Add(duePart, types.TransactWriteItem{Delete: &types.Delete{
		TableName:           &s.cfg.DueTable,
		Key:                 row,
		ConditionExpression: aws.String("attribute_exists(" + dueKey + ")"),
	}}, nil)
	t.Add("later", s.duePut(order, until), nil)

	err = s.writer.Write(ctx, &t)
	var refused *txn.CanceledError
	// Refused: another sweeper has replaced the row.
	if err == nil || errors.As(err, &refused) {
		return true, nil
	}

	return false, err
}

// sweepLimit is how many reservations Run expires with one reading of the clock.
const sweepLimit = 1000

// Run sweeps every minute until ctx ends, and then returns nil. It calls
// Events.Swept after each sweep. A later sweep tries again to end a reservation that could
// not be ended.
func (s *Stock) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.cfg.every)
	defer ticker.Stop()

	for {
		count, err := s.ExpireDue(ctx, sweepLimit)
		if ctx.Err() != nil {
			return nil
		}
		s.cfg.Events.Swept(count, err)

		if count == sweepLimit {
			continue // more are due
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
