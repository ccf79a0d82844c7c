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

	"ratchet/internal/attribute"
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
	return image{shardKey: attribute.S(shard(int(h.Sum32() % dueShards))), dueKey: attribute.S(dueBound(at) + "#" + order)}
}

func shard(n int) string { return fmt.Sprintf("%02d", n) }

func dueBound(at time.Time) string { return fmt.Sprintf("%013d", at.UnixMilli()) }

// ExpireDue puts back the pieces of at most limit reservations that have run out, and
// returns how many it looked at; fewer than limit means that no more are due. Any
// number of callers may sweep at once, and race with commits and releases. It costs
// 0.5 read units for each of 16 shards, and for each due reservation one read and two
// writes, and the transaction that ends it if nothing else had.
func (s *Stock) ExpireDue(ctx context.Context, limit int) (int, error) {
	now := s.cfg.Now().Add(-s.cfg.Margin)
	count := 0
	for n := range dueShards {
		for count < limit {
			page := min(duePage, limit-count)
			out, err := s.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{
				TableName: &s.cfg.DueTable, Limit: aws.Int32(int32(page)),
				KeyConditionExpression:   aws.String("#shard = :shard AND due < :bound"),
				ExpressionAttributeNames: map[string]string{"#shard": shardKey},
				ExpressionAttributeValues: image{":shard": attribute.S(shard(n)),
					":bound": attribute.S(dueBound(now.Add(time.Millisecond)))},
			})
			if err != nil {
				return count, fmt.Errorf("find expired reservations: %w", err)
			}
			for _, item := range out.Items {
				if err := s.expire(ctx, item, now); err != nil {
					return count, err
				}
				count++
			}
			if len(out.Items) < page {
				break
			}
		}
	}
	return count, nil
}

// expire ends the reservation that the item tells of, unless it has ended otherwise or
// been made anew, and takes the item away. Its key holds the very moment, so that the
// item of a newer reservation of the order is another one.
func (s *Stock) expire(ctx context.Context, item image, now time.Time) error {
	_, order, _ := strings.Cut(attribute.Text(item, dueKey), "#")
	if err := s.end(ctx, order, expiry(now), nil); err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("expire the reservation of order %s: %w", order, err)
	}
	_, err := s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.cfg.DueTable,
		Key: map[string]types.AttributeValue{shardKey: item[shardKey], dueKey: item[dueKey]}})
	if err != nil {
		return fmt.Errorf("expire the reservation of order %s: %w", order, err)
	}
	return nil
}

// sweepAtOnce is how many reservations Run ends before it looks at the clock again.
const sweepAtOnce = 1000

// Run sweeps every Config.Every until ctx ends. A sweep that fails is left to the next
// one; report is told, nil for one that did not.
func (s *Stock) Run(ctx context.Context, report func(count int, err error)) error {
	ticker := time.NewTicker(s.cfg.Every)
	defer ticker.Stop()
	for {
		count, err := s.ExpireDue(ctx, sweepAtOnce)
		if ctx.Err() != nil {
			return nil
		}
		report(count, err)
		if err == nil && count == sweepAtOnce {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
