package scheduled

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
)

// OfOrder returns the requests of an order by their times: those that wait, and those that ended in the last 30 days.
// It reads at most about 2,000, and reports whether these are all.
func (s *Schedule) OfOrder(ctx context.Context, order transitions.OrderID) (found []Request, complete bool, err error) {
	err = s.each(ctx, order, time.Time{}, func(r Request) {
		found = append(found, r)
	})
	if complete = !errors.Is(err, errTooMany); !complete {
		err = nil
	}

	if err != nil {
		return nil, false, fmt.Errorf("scheduled requests of order %s: %w", order, err)
	}
	slices.SortFunc(found, compare)

	return found, complete, nil
}

// List returns at most limit requests of an order behind the given one, "" for the first ones. They are in the order of
// their ids.
func (s *Schedule) List(ctx context.Context, order transitions.OrderID, after ID, limit int) ([]Request, error) {
	var found []Request

	for more := (dynamo.Item)(nil); len(found) < limit; {
		out, err := s.cfg.DynamoDB.Query(ctx, s.query(order, after, limit-len(found), more), s.clock.Listen)
		if err != nil {
			return nil, fmt.Errorf("scheduled requests of order %s: %w", order, err)
		}

		for _, item := range out.Items {
			if s.absent(item) {
				continue
			}

			r, err := parse(item)
			if err != nil {
				return nil, err
			}
			found = append(found, r)
		}

		if more = out.LastEvaluatedKey; len(more) == 0 {
			break
		}
	}

	return found, nil
}

// query reads requests of an order behind the given one.
func (s *Schedule) query(order transitions.OrderID, after ID, limit int, more dynamo.Item) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:              &s.cfg.Table,
		ConsistentRead:         aws.Bool(true),
		Limit:                  aws.Int32(int32(limit)),
		ExclusiveStartKey:      more,
		KeyConditionExpression: aws.String(attrOrder + " = :order AND " + attrEntry + " BETWEEN :after AND :end"),
		ExpressionAttributeValues: dynamo.Item{
			":order": dynamo.S(string(order)),
			":after": dynamo.S(requestPrefix + string(after) + "\x00"), // behind that key
			":end":   dynamo.S(requestPrefix + "~"),
		},
	}
}

const (
	// pageSize is how many requests are read at once, and most how many of one order are read.
	pageSize = 500
	most     = 2 * mostWaiting
)

var errTooMany = errors.New("the order has more requests")

// each calls fn for the requests of an order that wait and are due by the time, or, without a time, for all.
func (s *Schedule) each(ctx context.Context, order transitions.OrderID, dueBy time.Time, fn func(Request)) error {
	read := 0

	for more := (dynamo.Item)(nil); ; {
		in := s.query(order, "", pageSize, more)
		if !dueBy.IsZero() {
			in.FilterExpression = aws.String("#status = :pending AND #at <= :by")
			in.ExpressionAttributeNames = map[string]string{"#status": attrStatus, "#at": attrAt}
			in.ExpressionAttributeValues[":pending"] = dynamo.S(string(Pending))
			in.ExpressionAttributeValues[":by"] = dynamo.Millis(dueBy)
		}

		out, err := s.cfg.DynamoDB.Query(ctx, in, s.clock.Listen)
		if err != nil {
			return err
		}

		for _, item := range out.Items {
			if s.absent(item) {
				continue
			}

			r, err := parse(item)
			if err != nil {
				return err
			}
			fn(r)
		}
		read += len(out.Items)

		switch more = out.LastEvaluatedKey; {
		case len(more) == 0:
			return nil
		case dueBy.IsZero() && read >= most:
			return errTooMany
		}
	}
}

// Forget deletes the requests of an order, whether they wait or have ended, and returns how many there were. What waits is
// not applied any more. A repeat changes nothing.
func (s *Schedule) Forget(ctx context.Context, order transitions.OrderID) (deleted int, err error) {
	if deleted, err = s.forget(ctx, order); err != nil {
		err = fmt.Errorf("forget the scheduled requests of order %s: %w", order, err)
	}

	return deleted, err
}

func (s *Schedule) forget(ctx context.Context, order transitions.OrderID) (deleted int, err error) {
	in := &dynamodb.QueryInput{
		TableName:                 &s.cfg.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String(attrOrder + " = :order"),
		ProjectionExpression:      aws.String(attrOrder + ", " + attrEntry + ", #at, " + attrRevision),
		ExpressionAttributeNames:  map[string]string{"#at": attrAt},
		ExpressionAttributeValues: dynamo.Item{":order": dynamo.S(string(order))},
	}

	// What counts the requests comes last: the end of one that is still there would make it again.
	var counts []dynamo.Item
	remove := func(key dynamo.Item) error {
		_, err := s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.cfg.Table, Key: key}, s.clock.Listen)
		return err
	}

	for {
		out, err := s.cfg.DynamoDB.Query(ctx, in, s.clock.Listen)
		if err != nil {
			return deleted, err
		}

		for _, item := range out.Items {
			key := dynamo.Item{attrOrder: item[attrOrder], attrEntry: item[attrEntry]}

			id, isRequest := strings.CutPrefix(dynamo.Text(item, attrEntry), requestPrefix)
			if !isRequest {
				counts = append(counts, key)
				continue
			}

			if err := remove(key); err != nil {
				return deleted, err
			}
			deleted++

			r := Request{OrderID: order, ID: ID(id), At: dynamo.Time(item, attrAt), revision: dynamo.Number(item, attrRevision)}
			if err := s.rows.Delete(ctx, r.row()); err != nil {
				return deleted, err
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}

	for _, key := range counts {
		if err := remove(key); err != nil {
			return deleted, err
		}
	}

	return deleted, nil
}

// Rebuild writes the due row of every request that waits, and returns how many there are. It reads the whole table, and may
// run beside workers, and again. progress, when set, is called with how many requests were read so far.
func (s *Schedule) Rebuild(ctx context.Context, progress func(read int)) (waiting int, err error) {
	if waiting, err = s.rebuild(ctx, progress); err != nil {
		err = fmt.Errorf("rebuild the due rows of scheduled requests: %w", err)
	}

	return waiting, err
}

func (s *Schedule) rebuild(ctx context.Context, progress func(int)) (waiting int, err error) {
	in, read := &dynamodb.ScanInput{TableName: &s.cfg.Table}, 0

	for {
		out, err := s.cfg.DynamoDB.Scan(ctx, in, s.clock.Listen)
		if err != nil {
			return waiting, err
		}

		for _, item := range out.Items {
			// The item that counts has no status. A row that the request has outlived is removed by the sweep.
			if Status(dynamo.Text(item, attrStatus)) != Pending {
				continue
			}

			r, err := parse(item)
			if err != nil {
				return waiting, err
			}

			if err := s.rows.Write(ctx, r.row()); err != nil {
				return waiting, err
			}
			waiting++
		}

		if read += len(out.Items); progress != nil {
			progress(read)
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return waiting, nil
		}
	}
}
