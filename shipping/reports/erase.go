package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
)

// ErrReportsWait means that a report about the order waits or needs a person.
var ErrReportsWait = errors.New("reports of the carrier about the order wait")

const (
	// erasePage is how many reports Erase reads at once.
	erasePage = 100
	// mostLookedAt is how many reports of a partition OfOrder and Count look at.
	mostLookedAt = 1000
)

// CanErase returns ErrReportsWait if a stored report about the order is still to be tried. It reads only
// the order's reports.
func (d *Receiver) CanErase(ctx context.Context, orderID string) error {
	return d.eachOf(ctx, waitingShard(orderID), orderID, func(s Stored) error {
		return fmt.Errorf("%w: %s is %s", ErrReportsWait, s.ID, s.Effect)
	})
}

// OfOrder returns the stored reports about an order: those that wait or need a person, and those that were
// refused or dealt with. It reads only these, at most a thousand of each kind; complete is false if there are
// more.
func (d *Receiver) OfOrder(ctx context.Context, orderID string) (found []Stored, complete bool, err error) {
	complete = true

	for _, partition := range []string{waitingShard(orderID), refusedKey, doneKey} {
		page, next, err := d.readOf(ctx, partition, orderID, "", mostLookedAt)
		if err != nil {
			return found, false, err
		}
		found, complete = append(found, page...), complete && next == ""
	}

	return found, complete, nil
}

// Count returns how many reports wait and how many need a person. It counts at most a thousand of each of
// the eight partitions.
func (d *Receiver) Count(ctx context.Context) (waiting, attention int, err error) {
	for shard := range waitingShards {
		page, _, err := d.read(ctx, "waiting#"+strconv.Itoa(shard), "", "", mostLookedAt)
		if err != nil {
			return waiting, attention, err
		}

		for _, s := range page {
			if s.Effect == Attention {
				attention++
			} else {
				waiting++
			}
		}
	}

	return waiting, attention, nil
}

// Erase removes texts that people and the carrier have written about an order. Refused reports are
// deleted. A report that a person has dealt with loses its reason, its command, its tracking number,
// the person's name and the person's text; it keeps the fields by which a repeat is recognized. The
// rows of lost parcels lose their tracking numbers. The names of parcels stay. It returns the
// number of rows that it has deleted or changed. A repeat changes nothing.
func (d *Receiver) Erase(ctx context.Context, orderID string) (changed int, err error) {
	err = d.eachOf(ctx, refusedKey, orderID, func(s Stored) error {
		changed++

		return d.remove(ctx, refusedKey, s)
	})
	if err != nil {
		return changed, fmt.Errorf("erase the refused reports of order %s: %w", orderID, err)
	}

	err = d.eachOf(ctx, doneKey, orderID, func(s Stored) error {
		erased, err := d.eraseDone(ctx, s)
		if erased {
			changed++
		}

		return err
	})
	if err != nil {
		return changed, fmt.Errorf("erase the closed reports of order %s: %w", orderID, err)
	}

	erased, err := d.eraseLost(ctx, orderID)
	if err != nil {
		err = fmt.Errorf("erase the lost parcels of order %s: %w", orderID, err)
	}

	return changed + erased, err
}

// eraseLost removes the tracking numbers of the lost parcels of all lives of the order. It returns the
// number of rows that it has changed.
func (d *Receiver) eraseLost(ctx context.Context, orderID string) (changed int, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &d.cfg.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String(partitionKey + " = :p"),
		FilterExpression:          aws.String("attribute_exists(tracking)"),
		ExpressionAttributeValues: dynamo.Item{":p": dynamo.S(parcelsPartition(transitions.OrderID(orderID)))},
	}

	for pages := dynamodb.NewQueryPaginator(d.cfg.DynamoDB, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return changed, err
		}

		for _, row := range page.Items {
			update := dynamo.NewUpdate(d.cfg.Table, rowKey(dynamo.Text(row, partitionKey), dynamo.Text(row, sortKey))).
				IfPresent("tracking").
				RemoveAttribute("tracking")

			switch _, err := d.cfg.DynamoDB.UpdateItem(ctx, update.Input()); {
			case err == nil:
				changed++
			case !isRefused(err): // TTL has deleted the row, or another call has erased it
				return changed, err
			}
		}
	}

	return changed, nil
}

func isRefused(err error) bool {
	_, refused := dynamo.FailedCondition(err)

	return refused
}

// eachOf calls fn for each stored report of a partition that is about the order.
func (d *Receiver) eachOf(ctx context.Context, partition, orderID string, fn func(Stored) error) error {
	for after := ""; ; {
		page, next, err := d.readOf(ctx, partition, orderID, after, erasePage)
		if err != nil {
			return err
		}

		for _, s := range page {
			if err := fn(s); err != nil {
				return err
			}
		}

		if after = next; after == "" {
			return nil
		}
	}
}

// eraseDone removes the person from a report that was dealt with. It reports false if the report
// names no person.
func (d *Receiver) eraseDone(ctx context.Context, s Stored) (bool, error) {
	cause := s.Closing.Cause
	if s.Reason+s.Command+s.Tracking+cause.Text+cause.Actor == "" {
		return false, nil
	}

	s.Tracking = ""

	text, err := json.Marshal(s.Report)
	if err != nil {
		return false, err
	}

	// The row itself stays: without it, a repeat of the carrier would be judged again.
	update := dynamo.NewUpdate(d.cfg.Table, rowKey(doneKey, s.Name)).
		IfEquals("report", dynamo.S(s.text)).
		SetValue("report", dynamo.S(string(text)))
	for _, name := range []string{"reason", "command", "text", "actor"} {
		update.SetValue(name, dynamo.S(""))
	}

	_, err = d.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, gone := dynamo.FailedCondition(err); gone {
		return false, nil // TTL has deleted the row, or another call has erased it
	}

	return err == nil, err
}
