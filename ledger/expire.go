package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// mostFailures is how many holds that resist one sweep names; it counts the others.
const mostFailures = 10

// ReleaseExpired gives back what expired holds have left: up to limit (1 to 1,000) of
// them, and tells whether there may be more. It asks a few partitions for those that
// have ended, so its cost does not grow with the number of holds. Any number of sweeps
// may run at once. A hold that cannot be released is passed over: the others are, and
// the error names it.
func (l *Ledger) ReleaseExpired(ctx context.Context, limit int) (released int, more bool, err error) {
	if limit < 1 || limit > 1000 {
		return 0, false, fmt.Errorf("release expired holds: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}

	sweep := expiry{ledger: l, end: fmt.Sprintf("%015d#~", l.cfg.Now().UnixMilli()), limit: limit}
	for shard := range dueShards {
		if err := sweep.partition(ctx, duePartition(shard)); err != nil {
			return sweep.released, false, errors.Join(fmt.Errorf("release expired holds: %w", err), sweep.err())
		}

		if sweep.released == limit {
			return sweep.released, true, sweep.err()
		}
	}

	return sweep.released, false, sweep.err()
}

// expiry is one call of ReleaseExpired.
type expiry struct {
	ledger          *Ledger
	end             string
	limit, released int
	failed          int
	failures        []error // the first ones
}

func (e *expiry) err() error {
	if e.failed == 0 {
		return nil
	}
	return fmt.Errorf("release expired holds: %d could not be released: %w", e.failed, errors.Join(e.failures...))
}

// partition releases what is due in one partition until the limit is reached. Only what
// was released counts, so rows that resist hide none behind them.
func (e *expiry) partition(ctx context.Context, due string) error {
	in := &dynamodb.QueryInput{TableName: &e.ledger.cfg.Tables.Holds, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(e.limit)),
		KeyConditionExpression:    aws.String("accountId = :due AND holdId <= :end"),
		ExpressionAttributeValues: image{":due": dynamo.S(due), ":end": dynamo.S(e.end)}}
	for {
		out, err := e.ledger.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return err
		}

		for _, row := range out.Items {
			if e.released == e.limit {
				return nil
			}

			switch done, err := e.ledger.lapse(ctx, row); {
			case ctx.Err() != nil:
				return errors.Join(err, context.Cause(ctx))
			case err != nil:
				if e.failed++; e.failed <= mostFailures {
					e.failures = append(e.failures, err)
				}
			case done:
				e.released++
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

// lapse releases the hold of a due row, and reports whether it did. The row comes and
// goes with the hold; one that is left over all the same is removed.
func (l *Ledger) lapse(ctx context.Context, row image) (bool, error) {
	_, rest, _ := strings.Cut(dynamo.Text(row, "holdId"), "#")
	account, id, _ := strings.Cut(rest, "#")

	h, found, err := l.Hold(ctx, account, id)
	switch {
	case err != nil:
		return false, err
	case found && h.Status == HoldActive:
		now, err := l.giveUp(ctx, h, HoldLapsed, nil)
		if errors.Is(err, ErrHoldClosed) { // settled in between
			return false, nil
		}

		return err == nil && now.Status == HoldLapsed, err
	}
	_, err = l.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &l.cfg.Tables.Holds,
		Key: image{"accountId": row["accountId"], "holdId": row["holdId"]}})

	return false, err
}
