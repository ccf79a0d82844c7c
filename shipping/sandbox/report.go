package sandbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
)

// Milestone is what a carrier reports about a shipment.
type Milestone string

// The carrier reports these two, in this order. The texts are stored.
const (
	Shipped   Milestone = "shipped"
	Delivered Milestone = "delivered"
)

// Report is one callback of the carrier. A repeat has the same ID.
type Report struct {
	ID        string
	OrderID   string
	Milestone Milestone
}

// DeliverFunc gives a report to the shop. After an error the report is repeated, whatever
// the answer.
type DeliverFunc func(context.Context, Report) (Answer, error)

// Answer is what the shop says to a report.
type Answer int

// The answers of the shop.
const (
	// Accepted lets the carrier go on with the next milestone.
	Accepted Answer = iota
	// Retry lets the carrier repeat the report.
	Retry
	// Rejected ends the reports of the shipment: the order can never accept this one.
	Rejected
)

const (
	queuePartition = "queue" // the partition of the reports that are still to be made
	queuePage      = 256     // reports that are read together
	maxParallel    = 32      // reports that are delivered at once
)

// reportItem returns the item of a report that is due a Delay after from. Items are sorted
// by the time at which they are due.
func (c *Carrier) reportItem(from time.Time, key, orderID string, m Milestone) dynamo.Item {
	due := fmt.Sprintf("%020d#%s#%s", from.Add(c.cfg.Delay).UnixMilli(), key, m)

	return dynamo.Item{
		"pk":        dynamo.S(queuePartition),
		"sk":        dynamo.S(due),
		"orderId":   dynamo.S(orderID),
		"shipment":  dynamo.S(key),
		"milestone": dynamo.S(string(m)),
	}
}

// dueTime returns the time at which a report was due, so that a repeat queues the same
// next report.
func dueTime(item dynamo.Item) time.Time {
	text, _, _ := strings.Cut(dynamo.Text(item, "sk"), "#")
	ms, _ := strconv.ParseInt(text, 10, 64) // reportItem wrote it

	return time.UnixMilli(ms)
}

// Run delivers the reports that are due until ctx ends, and returns nil then. Failures are
// logged and retried.
func (c *Carrier) Run(ctx context.Context) error {
	ticker := time.NewTicker(c.cfg.Interval)
	defer ticker.Stop()

	for {
		if err := c.deliverDue(ctx); err != nil && ctx.Err() == nil {
			c.cfg.Log.WarnContext(ctx, "sandbox carrier", "error", err)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// deliverDue delivers every report that is due now.
func (c *Carrier) deliverDue(ctx context.Context) error {
	in := &dynamodb.QueryInput{
		TableName:              &c.cfg.Table,
		Limit:                  aws.Int32(queuePage),
		ConsistentRead:         aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :queue AND sk < :now"),
		ExpressionAttributeValues: dynamo.Item{
			":queue": dynamo.S(queuePartition),
			":now":   dynamo.S(fmt.Sprintf("%020d", time.Now().UnixMilli())),
		},
	}

	for {
		page, err := c.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return fmt.Errorf("query the queue: %w", err)
		}

		var group errgroup.Group
		group.SetLimit(maxParallel)

		for _, item := range page.Items {
			group.Go(func() error {
				if err := c.deliver(ctx, item); err != nil && ctx.Err() == nil {
					c.cfg.Log.WarnContext(ctx, "sandbox carrier's report", "order", dynamo.Text(item, "orderId"), "error", err)
				}

				return nil
			})
		}

		_ = group.Wait() // no member fails

		if in.ExclusiveStartKey = page.LastEvaluatedKey; len(page.LastEvaluatedKey) == 0 || ctx.Err() != nil {
			return nil
		}
	}
}

// deliver delivers one report and removes it from the queue once the shop has answered.
func (c *Carrier) deliver(ctx context.Context, item dynamo.Item) error {
	key, milestone := dynamo.Text(item, "shipment"), Milestone(dynamo.Text(item, "milestone"))
	r := Report{
		ID:        "carrier/" + key + "/" + string(milestone),
		OrderID:   dynamo.Text(item, "orderId"),
		Milestone: milestone,
	}

	answer, err := c.cfg.Deliver(ctx, r)
	if err != nil || answer == Retry {
		return err
	}

	// Queue the next report before this one is removed. After a crash in between this
	// report is repeated, and the shop knows its ID.
	if answer == Accepted && milestone == Shipped {
		_, err := c.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &c.cfg.Table,
			Item:      c.reportItem(dueTime(item), key, r.OrderID, Delivered),
		})
		if err != nil {
			return fmt.Errorf("queue the next report: %w", err)
		}
	}

	_, err = c.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &c.cfg.Table,
		Key:       dynamo.Item{"pk": item["pk"], "sk": item["sk"]},
	})

	return err
}
