package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
)

type dynamoDB interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Milestone is what a carrier reports about a shipment.
type Milestone string

// The sandbox reports these two, in this order.
const (
	Shipped   Milestone = "shipped"
	Delivered Milestone = "delivered"
)

// Report is one callback of the carrier. ID is the same for every repetition of it.
type Report struct {
	ID        string
	OrderID   string
	Milestone Milestone
}

// Carrier is a carrier without a van. Bookings and what is still to be reported are
// items of one table, so a restart forgets nothing and reports again what was not
// answered.
type Carrier struct {
	DynamoDB dynamoDB
	Table    string
	// Delay is how long after the booking the parcel leaves, and after that arrives.
	Delay time.Duration
	// Every is the pause between two looks for due reports. Default 50 ms.
	Every time.Duration
	// Deliver hands a report to the shop, as a callback would. It returns whether
	// the shop has taken it (done), and the next look reports again when not. A shop
	// that will never take it answers over.
	Deliver func(context.Context, Report) (Answer, error)
	// Log gets failed deliveries. Default: slog.Default().
	Log *slog.Logger
}

// Answer is what the shop says to a report.
type Answer int

// Taken: go on with the next milestone. Later: report again. Over: the order will
// never be in a state that could take it.
const (
	Taken Answer = iota
	Later
	Over
)

const (
	booked   = "BOOKED"
	canceled = "CANCELED"
	// queue is the partition of the reports that are still to be made.
	queue = "queue"
	// parallel bounds the reports under way at once.
	parallel = 32
)

type image = dynamo.Item

// Book stores the booking and queues its first report, in one transaction.
func (s *Carrier) Book(ctx context.Context, key, orderID string) (string, error) {
	_, err := s.DynamoDB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: &s.Table, ConditionExpression: aws.String("attribute_not_exists(pk)"),
			Item:                                image{"pk": dynamo.S("shipment#" + key), "sk": dynamo.S("-"), "orderId": dynamo.S(orderID), "status": dynamo.S(booked)},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}},
		{Put: &types.Put{TableName: &s.Table, Item: s.due(time.Now(), key, orderID, Shipped)}},
	}})
	var refused *types.TransactionCanceledException
	switch {
	case err == nil:
		return tracking(key), nil
	case !errors.As(err, &refused) || len(refused.CancellationReasons) == 0 || aws.ToString(refused.CancellationReasons[0].Code) != "ConditionalCheckFailed":
		return "", fmt.Errorf("book %s: %w", key, err)
	case dynamo.Text(refused.CancellationReasons[0].Item, "status") == canceled:
		return "", shipping.ErrCancelled
	}

	return tracking(key), nil
}

// Cancel marks the shipment; its open report is dropped when it falls due.
func (s *Carrier) Cancel(ctx context.Context, key string) error {
	_, err := s.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Table, Key: image{"pk": dynamo.S("shipment#" + key), "sk": dynamo.S("-")},
		UpdateExpression:          aws.String("SET #status = :canceled"),
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: image{":canceled": dynamo.S(canceled)},
	})

	return err
}

func tracking(key string) string { return "trk-" + strings.ReplaceAll(key, "/", "-") }

// due is the queue's item of one report; it sorts by the time it falls due.
func (s *Carrier) due(from time.Time, key, orderID string, m Milestone) image {
	at := fmt.Sprintf("%020d#%s#%s", from.Add(s.Delay).UnixMilli(), key, m)
	return image{"pk": dynamo.S(queue), "sk": dynamo.S(at), "orderId": dynamo.S(orderID), "shipment": dynamo.S(key), "milestone": dynamo.S(string(m))}
}

// Run makes the reports that fall due until ctx ends.
func (s *Carrier) Run(ctx context.Context) error {
	log, every := s.Log, s.Every
	if log == nil {
		log = slog.Default()
	}

	if every == 0 {
		every = 50 * time.Millisecond
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	for {
		if err := s.reportDue(ctx, log); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "sandbox carrier", "error", err)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// reportDue makes every report that is due now, in pages.
func (s *Carrier) reportDue(ctx context.Context, log *slog.Logger) error {
	input := &dynamodb.QueryInput{
		TableName: &s.Table, Limit: aws.Int32(256), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :queue AND sk < :now"),
		ExpressionAttributeValues: image{":queue": dynamo.S(queue), ":now": dynamo.S(fmt.Sprintf("%020d", time.Now().UnixMilli()))},
	}
	for {
		page, err := s.DynamoDB.Query(ctx, input)
		if err != nil {
			return fmt.Errorf("query the queue: %w", err)
		}
		group, work := errgroup.WithContext(ctx)
		group.SetLimit(parallel)

		for _, item := range page.Items {
			group.Go(func() error {
				if err := s.report(work, item); err != nil && work.Err() == nil {
					log.WarnContext(work, "sandbox carrier's report", "order", dynamo.Text(item, "orderId"), "error", err)
				}
				return nil
			})
		}

		if err := group.Wait(); err != nil {
			return err
		}

		if input.ExclusiveStartKey = page.LastEvaluatedKey; len(page.LastEvaluatedKey) == 0 || ctx.Err() != nil {
			return nil
		}
	}
}

// report makes one report and takes it off the queue once the shop has answered.
func (s *Carrier) report(ctx context.Context, item image) error {
	key, m := dynamo.Text(item, "shipment"), Milestone(dynamo.Text(item, "milestone"))
	r := Report{ID: "carrier/" + key + "/" + string(m), OrderID: dynamo.Text(item, "orderId"), Milestone: m}

	answer, err := s.Deliver(ctx, r)
	if err != nil || answer == Later {
		return err
	}

	if answer == Taken && m == Shipped {
		// The next report is queued before this one is taken off: a crash in between
		// repeats this report, and the shop knows its id.
		_, err := s.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: s.due(dueTime(item), key, r.OrderID, Delivered)})
		if err != nil {
			return fmt.Errorf("queue the next report: %w", err)
		}
	}
	_, err = s.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Table, Key: image{"pk": item["pk"], "sk": item["sk"]}})

	return err
}

// dueTime reads back when a report fell due, so that a repeated report queues the
// very same next one.
func dueTime(item image) time.Time {
	var ms int64
	_, _ = fmt.Sscanf(dynamo.Text(item, "sk"), "%d", &ms) // we wrote it
	return time.UnixMilli(ms)
}

// Table describes the sandbox's table: keys pk and sk.
func Table(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("pk"), dynamo.TextKey("sk"))
}
