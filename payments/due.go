package payments

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// The due table has a row for each pending step, sorted by when the step began, and a row for each
// payment that expires, sorted by when it expires. The transaction that writes the step or payment
// also adds or deletes the row, so Recover needs no scan of the payments.
const (
	dueSteps  = "steps"
	dueExpiry = "expiry"
	dueShards = 16 // partitions of each kind, which share the writes
)

// duePartitions are the partitions of the table in the order of Recover.
var duePartitions = func() (all []string) {
	for _, kind := range []string{dueSteps, dueExpiry} {
		for shard := range dueShards {
			all = append(all, kind+"#"+strconv.Itoa(shard))
		}
	}

	return all
}()

// dueKey returns the key of a row. Step is empty for an expiry.
func dueKey(kind, payment, step string, at time.Time) dynamo.Item {
	return dynamo.Item{
		"shard": dynamo.S(kind + "#" + strconv.Itoa(dynamo.Shard(payment, dueShards))),
		"due":   dynamo.S(fmt.Sprintf("%015d#%s#%s", at.UnixMilli(), payment, step)),
	}
}

// addDueRows adds and deletes the rows that the next record of the payment requires.
func (s *Payments) addDueRows(next Payment, t *txn.Transaction) {
	put := func(key dynamo.Item) {
		t.Add("due", types.TransactWriteItem{Put: &types.Put{TableName: &s.cfg.Tables.Due, Item: key}}, nil)
	}
	remove := func(key dynamo.Item) {
		t.Add("due", types.TransactWriteItem{Delete: &types.Delete{TableName: &s.cfg.Tables.Due, Key: key}}, nil)
	}

	if step := next.Pending; step != nil {
		put(dueKey(dueSteps, next.ID, step.ID, step.At))
	}

	if step := next.ended; step != nil {
		remove(dueKey(dueSteps, next.ID, step.ID, step.At))
	}

	switch {
	case next.ExpiresAt.IsZero():
		// A payment that never expires has no row.
	case next.Revision == 1:
		put(dueKey(dueExpiry, next.ID, "", next.ExpiresAt))
		// Nothing is held any more and no step is pending, so there is nothing left to release.
	case next.Pending == nil && next.Capturable == 0:
		remove(dueKey(dueExpiry, next.ID, "", next.ExpiresAt))
	}
}

// dueRow is a row of the due table. Step is empty for an expiry.
type dueRow struct{ shard, due, payment, step string }

// duePlace is a place in the table: a partition, and the last row that was handled in it.
type duePlace struct {
	partition int
	due       string
}

func (p duePlace) String() string { return strconv.Itoa(p.partition) + "|" + p.due }

// parseDuePlace reads the text of String. An empty text means the beginning.
func parseDuePlace(text string) (p duePlace, err error) {
	if text == "" {
		return p, nil
	}

	partition, due, _ := strings.Cut(text, "|")
	p.due = due
	if p.partition, err = strconv.Atoi(partition); err != nil || p.partition < 0 || p.partition >= len(duePartitions) {
		return p, fmt.Errorf("%w: after: what the call before returned", ErrInvalid)
	}

	return p, nil
}

// dueRows reads up to limit rows of one partition whose time has come.
func (s *Payments) dueRows(ctx context.Context, place duePlace, now time.Time, limit int) (rows []dueRow, err error) {
	shard := duePartitions[place.partition]

	// A worker may still be working on a step that is younger than staleAfter.
	if strings.HasPrefix(shard, dueSteps) {
		now = now.Add(-staleAfter)
	}

	out, err := s.cfg.DynamoDB.Query(ctx, &dynamodb.QueryInput{
		TableName:                &s.cfg.Tables.Due,
		ConsistentRead:           aws.Bool(true),
		Limit:                    aws.Int32(int32(limit)),
		KeyConditionExpression:   aws.String("#shard = :shard AND due BETWEEN :after AND :until"),
		ExpressionAttributeNames: map[string]string{"#shard": "shard"},
		ExpressionAttributeValues: dynamo.Item{
			":shard": dynamo.S(shard),
			":after": dynamo.S(place.due + " "), // a space sorts before every character of a key
			// "~" sorts behind every character of an id, so the rows of this millisecond are
			// included.
			":until": dynamo.S(fmt.Sprintf("%015d#~", now.UnixMilli())),
		},
	})
	if err != nil {
		return nil, err
	}

	for _, item := range out.Items {
		row := dueRow{shard: shard, due: dynamo.Text(item, "due")}
		_, rest, _ := strings.Cut(row.due, "#")
		row.payment, row.step, _ = strings.Cut(rest, "#")
		rows = append(rows, row)
	}

	return rows, nil
}

// deleteDueRow deletes a stale row.
func (s *Payments) deleteDueRow(ctx context.Context, row dueRow) error {
	_, err := s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.cfg.Tables.Due,
		Key:       dynamo.Item{"shard": dynamo.S(row.shard), "due": dynamo.S(row.due)},
	})

	return err
}
