package payments

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// The table of what is due has a row for each step under way, by when it began, and for
// each payment that expires, by when. Rows are written and removed in the transaction
// that makes them true or untrue, so a sweep reads what it must look at and no more.
const (
	dueSteps  = "steps"
	dueExpiry = "expiry"
	dueShards = 16 // of each, to spread the writes
)

// partitions are the table's partitions in the order of a sweep.
var partitions = func() (all []string) {
	for _, kind := range []string{dueSteps, dueExpiry} {
		for shard := range dueShards {
			all = append(all, kind+"#"+strconv.Itoa(shard))
		}
	}

	return all
}()

// dueKey is where a row lies: by the moment, then by what it speaks of. Step is empty for
// an expiry.
func dueKey(kind, payment, step string, at time.Time) dynamo.Item {
	h := fnv.New32a()
	_, _ = h.Write([]byte(payment)) // a hash does not fail
	return dynamo.Item{"shard": dynamo.S(kind + "#" + strconv.Itoa(int(h.Sum32()%dueShards))),
		"due": dynamo.S(fmt.Sprintf("%015d#%s#%s", at.UnixMilli(), payment, step))}
}

// noteDue adds what the payment's next record means for the rows.
func (s *Payments) noteDue(next Payment, t *txn.Transaction) {
	put := func(key dynamo.Item) {
		t.Add("due", types.TransactWriteItem{Put: &types.Put{TableName: &s.cfg.DueTable, Item: key}}, nil)
	}
	remove := func(key dynamo.Item) {
		t.Add("due", types.TransactWriteItem{Delete: &types.Delete{TableName: &s.cfg.DueTable, Key: key}}, nil)
	}

	if step := next.Pending; step != nil {
		put(dueKey(dueSteps, next.ID, step.ID, step.At))
	}

	if step := next.ended; step != nil {
		remove(dueKey(dueSteps, next.ID, step.ID, step.At))
	}

	switch {
	case next.ExpiresAt.IsZero():
	case next.Revision == 1:
		put(dueKey(dueExpiry, next.ID, "", next.ExpiresAt))
	case next.Pending == nil && next.Capturable == 0:
		remove(dueKey(dueExpiry, next.ID, "", next.ExpiresAt))
	}
}

// dueRow is a row as read.
type dueRow struct{ shard, due, payment, step string }

// duePlace is where a sweep stands: in which partition, after which row.
type duePlace struct {
	partition int
	due       string
}

func (p duePlace) String() string { return strconv.Itoa(p.partition) + "|" + p.due }

func parsePlace(text string) (p duePlace, err error) {
	if text == "" {
		return p, nil
	}

	partition, due, _ := strings.Cut(text, "|")
	p.due = due
	if p.partition, err = strconv.Atoi(partition); err != nil || p.partition < 0 || p.partition >= len(partitions) {
		return p, fmt.Errorf("%w: after: what the call before returned", ErrInvalid)
	}

	return p, nil
}

// due reads up to limit rows of one partition whose time has come.
func (s *Payments) due(ctx context.Context, place duePlace, now time.Time, limit int) (rows []dueRow, err error) {
	shard := partitions[place.partition]
	if strings.HasPrefix(shard, dueSteps) {
		now = now.Add(-s.cfg.Patience) // its worker may still be at it
	}

	out, err := s.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{TableName: &s.cfg.DueTable, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression: aws.String("#shard = :shard AND due BETWEEN :after AND :until"), ExpressionAttributeNames: map[string]string{"#shard": "shard"},
		ExpressionAttributeValues: dynamo.Item{":shard": dynamo.S(shard), ":after": dynamo.S(place.due + " "),
			":until": dynamo.S(fmt.Sprintf("%015d#~", now.UnixMilli()))}})
	if err != nil {
		return nil, err
	}

	for _, i := range out.Items {
		row := dueRow{shard: shard, due: dynamo.Text(i, "due")}
		_, rest, _ := strings.Cut(row.due, "#")
		row.payment, row.step, _ = strings.Cut(rest, "#")
		rows = append(rows, row)
	}

	return rows, nil
}

// forget removes a row that speaks of nothing any more.
func (s *Payments) forget(ctx context.Context, row dueRow) error {
	_, err := s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.cfg.DueTable,
		Key: dynamo.Item{"shard": dynamo.S(row.shard), "due": dynamo.S(row.due)}})
	return err
}
