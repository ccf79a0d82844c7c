package sandbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/shipping"
)

// DeliverFunc gives a report to the shop. If it returns an error, its answer is ignored and the report
// is repeated.
type DeliverFunc func(context.Context, shipping.Report) (shipping.Answer, error)

// reportPrefix begins the ids of reports: reportPrefix, the shipment's key, "/", the milestone.
const reportPrefix = "carrier/"

const (
	queuePartition = "queue" // the partition of the reports that are still to be made
	queuePage      = 256     // reports that are read together
	maxParallel    = 32      // reports that are delivered at once
)

// reportItem returns the item of a report that is due a Delay after from. Items are sorted
// by the time at which they are due.
func (c *Carrier) reportItem(from time.Time, key, orderID string, m shipping.Milestone) dynamo.Item {
	due := fmt.Sprintf("%020d#%s#%s", from.Add(c.cfg.Delay).UnixMilli(), key, m)

	return dynamo.Item{
		"pk":        dynamo.S(queuePartition),
		"sk":        dynamo.S(due),
		"orderId":   dynamo.S(orderID),
		"shipment":  dynamo.S(key),
		"milestone": dynamo.S(string(m)),
	}
}

// dueTime returns the time at which a report was due. The next report is queued relative to this time,
// so that a repeat queues the same item.
func dueTime(item dynamo.Item) time.Time {
	text, _, _ := strings.Cut(dynamo.Text(item, "sk"), "#")
	ms, _ := strconv.ParseInt(text, 10, 64) // a number: reportItem wrote it

	return time.UnixMilli(ms)
}

func reportID(key string, m shipping.Milestone) string {
	return ids.Fit(reportPrefix+key+"/"+string(m), shipping.MaxReportID)
}

// Run delivers the reports that are due until ctx ends, and returns nil then. Failures are
// logged and retried.
func (c *Carrier) Run(ctx context.Context) error {
	ticker := time.NewTicker(max(minInterval, c.cfg.Delay/intervalsPerDelay))
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

// deliverDue delivers every report that is due now, unless the carrier is down.
func (c *Carrier) deliverDue(ctx context.Context) error {
	if c.down() {
		return nil
	}

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

		// A report that fails stays in the queue, and the next pass reads it again.
		_ = group.Wait() // no member fails

		if in.ExclusiveStartKey = page.LastEvaluatedKey; len(page.LastEvaluatedKey) == 0 || ctx.Err() != nil {
			return nil
		}
	}
}

// deliver delivers one report and removes it from the queue once the shop has answered. The
// report of a canceled shipment is not delivered.
func (c *Carrier) deliver(ctx context.Context, item dynamo.Item) error {
	key, milestone := dynamo.Text(item, "shipment"), shipping.Milestone(dynamo.Text(item, "milestone"))
	r := shipping.Report{
		ID:        reportID(key, milestone),
		Shipment:  key,
		OrderID:   dynamo.Text(item, "orderId"),
		Milestone: milestone,
		Tracking:  trackingNumber(key),
	}

	// Checked for the first report only: after that the parcel has left and cannot be canceled.
	if milestone == shipping.Shipped {
		shipment, err := c.shipment(ctx, key)
		if err != nil {
			return err
		}

		if dynamo.Text(shipment, attrStatus) == statusCanceled {
			return c.dequeue(ctx, item)
		}

		// It stays in the queue until the hold has ended.
		if dynamo.Flag(shipment, attrHeld) {
			return nil
		}
	}

	// Before the delivery: the shop may ask about the shipment while it handles the report.
	if err := c.track(ctx, key, milestone); err != nil {
		return err
	}

	c.deliverEarly(ctx, r)

	answer, err := c.cfg.Deliver(ctx, r)
	if err == nil && answer == shipping.Accepted && draw("duplicate", key) < c.cfg.Faults.DuplicatePercent {
		_, err = c.cfg.Deliver(ctx, r)
	}

	if err != nil || answer == shipping.Retry {
		return err
	}

	if answer == shipping.Accepted {
		return c.advance(ctx, item, r, c.next(key, milestone))
	}

	return c.dequeue(ctx, item)
}

// track stores the milestone that is about to be reported, if Config.Track is set.
func (c *Carrier) track(ctx context.Context, key string, m shipping.Milestone) error {
	if !c.cfg.Track {
		return nil
	}

	update := dynamo.NewUpdate(c.cfg.Table, shipmentKey(key)).SetValue(attrReached, dynamo.S(string(m))).SetValue(ExpiryAttribute, c.expiry())
	if _, err := c.cfg.DynamoDB.UpdateItem(ctx, update.Input()); err != nil {
		return fmt.Errorf("store the milestone: %w", err)
	}

	return nil
}

// advance replaces the report, which the shop has accepted, by the report of the next milestone, if there is
// one. With the first report it also marks the shipment as left. All of it is one transaction: after a crash
// before it, the report is repeated, and the shop recognizes its ID.
func (c *Carrier) advance(ctx context.Context, item dynamo.Item, r shipping.Report, next shipping.Milestone) error {
	if r.Milestone != shipping.Shipped && next == "" {
		return c.dequeue(ctx, item)
	}

	// Another process has reported it at the same time if the item is gone.
	parts := []types.TransactWriteItem{{Delete: &types.Delete{
		TableName:           &c.cfg.Table,
		Key:                 queueKey(item),
		ConditionExpression: aws.String("attribute_exists(pk)"),
	}}}

	if r.Milestone == shipping.Shipped {
		leave := dynamo.NewUpdate(c.cfg.Table, shipmentKey(r.Shipment)).
			If(attrStatusName+" <> :canceled").
			Alias(attrStatusName, attrStatus).
			Bind(":canceled", dynamo.S(statusCanceled)).
			SetValue(attrStatus, dynamo.S(statusLeft)).
			SetValue(ExpiryAttribute, c.expiry())
		parts = append(parts, types.TransactWriteItem{Update: leave.Part()})
	}

	if next != "" {
		// The next report is due a Delay after this one was due, and not after now: how long the shop took for
		// this one does not matter.
		due := dueTime(item).Add(c.lateness(r.Shipment))
		parts = append(parts, types.TransactWriteItem{Put: &types.Put{TableName: &c.cfg.Table, Item: c.reportItem(due, r.Shipment, r.OrderID, next)}})
	}

	_, err := c.cfg.DynamoDB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts})
	_, gone := dynamo.FailedPart(err, 0)
	_, canceled := dynamo.FailedPart(err, 1) // the shipment, with the first report

	switch {
	case gone:
		return nil
	// The shipment was canceled during the report. The shop has accepted the report, but no further
	// report follows.
	case r.Milestone == shipping.Shipped && canceled:
		return c.dequeue(ctx, item)
	case err != nil:
		return fmt.Errorf("go on to the next report: %w", err)
	}

	return nil
}

func queueKey(item dynamo.Item) dynamo.Item { return dynamo.Item{"pk": item["pk"], "sk": item["sk"]} }

// dequeue removes the report from the queue.
func (c *Carrier) dequeue(ctx context.Context, item dynamo.Item) error {
	_, err := c.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &c.cfg.Table, Key: queueKey(item)})

	return err
}
