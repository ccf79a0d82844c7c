package reports

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/shipping"
	"ratchet/transitions"
)

// Stored is a report that waits, needs a person, was dealt with by a person, or was refused.
type Stored struct {
	shipping.Report

	// Name is the name by which [Receiver.Find] finds the report. It is the order's id, a slash and
	// the report's ID. If a report about something else has that name, a space and a digest follow.
	Name   string `json:"name"`
	Effect Effect `json:"effect"`
	Reason string `json:"reason"`
	// Command is the command that a person may run if the effect is Attention.
	Command string `json:"command,omitempty"`
	// Since is when the report was first received, or when it was refused.
	Since time.Time `json:"since"`
	// Tries is how often the report was tried again. NextTry is when the next try is due. A report that
	// is Refused or Done has neither.
	Tries   int64     `json:"tries,omitempty"`
	NextTry time.Time `json:"nextTry,omitzero"`
	// Closing says who has dealt with a report that is Done.
	Closing *Closing `json:"done,omitempty"`

	text string // the stored JSON of the report
}

// List returns up to limit stored reports with the effect Waiting, Attention, Done or Refused, in no
// useful order. After is the next of the previous page, or empty for the first page. Next is empty on
// the last page. A page may have fewer reports than limit, and more pages may follow.
func (d *Receiver) List(ctx context.Context, effect Effect, after string, limit int) (page []Stored, next string, err error) {
	switch effect {
	case Refused:
		return d.read(ctx, refusedKey, Refused, after, limit)
	case Done:
		return d.read(ctx, doneKey, Done, after, limit)
	}

	first, id, _ := strings.Cut(after, "/")
	shard, _ := strconv.Atoi(first) // "" is 0

	for ; shard < waitingShards && len(page) < limit; shard, id = shard+1, "" {
		found, rest, err := d.read(ctx, "waiting#"+strconv.Itoa(shard), effect, id, limit-len(page))
		if err != nil {
			return nil, "", err
		}

		// A page may have fewer than limit reports: rows with another effect and expired rows are left out.
		if page = append(page, found...); rest != "" {
			return page, strconv.Itoa(shard) + "/" + rest, nil
		}
	}

	if shard < waitingShards {
		next = strconv.Itoa(shard) + "/"
	}

	return page, next, nil
}

// get reads a row. It returns nil if there is none, or if it has expired.
func (d *Receiver) get(ctx context.Context, key dynamo.Item) (dynamo.Item, error) {
	out, err := d.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.cfg.Table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dynamo.Text(key, partitionKey), err)
	}

	if dynamo.HasExpired(out.Item, ExpiryAttribute, d.now()) {
		return nil, nil
	}

	return out.Item, nil
}

// read reads a page of the reports of a partition that have the effect, or all if the effect is "".
func (d *Receiver) read(ctx context.Context, partition string, effect Effect, after string, limit int) (page []Stored, next string, err error) {
	return d.query(ctx, d.pageOf(partition, limit), partition, effect, after)
}

// readOf reads a page of the reports of a partition about an order.
func (d *Receiver) readOf(ctx context.Context, partition, orderID, after string, limit int) (page []Stored, next string, err error) {
	in := d.pageOf(partition, limit)
	in.KeyConditionExpression = aws.String(partitionKey + " = :p AND begins_with(" + sortKey + ", :order)")
	in.ExpressionAttributeValues[":order"] = dynamo.S(orderID + orderEnd)

	return d.query(ctx, in, partition, "", after)
}

// pageOf is the query of a page of a partition.
func (d *Receiver) pageOf(partition string, limit int) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                 &d.cfg.Table,
		ConsistentRead:            aws.Bool(true),
		Limit:                     aws.Int32(int32(limit)),
		KeyConditionExpression:    aws.String(partitionKey + " = :p"),
		ExpressionAttributeValues: dynamo.Item{":p": dynamo.S(partition)},
	}
}

func (d *Receiver) query(ctx context.Context, in *dynamodb.QueryInput, partition string, effect Effect, after string) (page []Stored, next string, err error) {
	if after != "" {
		in.ExclusiveStartKey = rowKey(partition, after)
	}

	out, err := d.cfg.DynamoDB.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("read the stored reports: %w", err)
	}

	for _, row := range out.Items {
		s := decodeStored(partition, row)

		if (effect == "" || s.Effect == effect) && !dynamo.HasExpired(row, ExpiryAttribute, d.now()) {
			page = append(page, s)
		}
	}

	// A page may be empty before the end: all of its rows may have been left out.
	return page, dynamo.Text(out.LastEvaluatedKey, sortKey), nil
}

func decodeStored(partition string, row dynamo.Item) Stored {
	s := Stored{
		Name:    dynamo.Text(row, sortKey),
		Effect:  Effect(cmp.Or(dynamo.Text(row, effectAttribute), string(Waiting))),
		Reason:  dynamo.Text(row, "reason"),
		Command: dynamo.Text(row, "command"),
		Since:   dynamo.Time(row, "since"),
		Tries:   dynamo.Number(row, "tries"),
		NextTry: dynamo.Time(row, "nextTry"),
		text:    dynamo.Text(row, "report"),
	}

	switch partition {
	case refusedKey:
		s.Effect = Refused
	case doneKey:
		s.Effect = Done
		s.Closing = &Closing{At: dynamo.Time(row, "doneAt"), Cause: transitions.Cause{
			Code: dynamo.Text(row, "code"), Text: dynamo.Text(row, "text"), Actor: dynamo.Text(row, "actor"), Source: dynamo.Text(row, "source"),
		}}
	}

	if err := json.Unmarshal([]byte(s.text), &s.Report); err != nil {
		// A row that cannot be read is shown as such, so that it does not hide the other rows.
		s.Report, s.Reason = shipping.Report{ID: s.Name}, "the stored report cannot be read"
	}

	return s
}
