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

// ReleaseExpired releases up to limit expired holds (1 to 1,000): the rest of each returns to
// its account. It reports more if there may be others. It queries a fixed number of partitions
// for expired holds, so its cost does not grow with the number of holds. Any number of calls
// may run at once. It skips holds that cannot be released; the error counts them and names the
// first 10.
func (l *Ledger) ReleaseExpired(ctx context.Context, limit int) (released int, more bool, err error) {
	if err := checkLimit(limit); err != nil {
		return 0, false, fmt.Errorf("release expired holds: %w", err)
	}

	// A clock that is ahead would look at holds that still run.
	if err := l.learn(ctx); err != nil {
		return 0, false, fmt.Errorf("release expired holds: %w", err)
	}

	sweep := expirySweep{ledger: l, limit: limit}
	// A row's key goes on with "#account#hold". The ~ sorts after every character of an id.
	sweep.end = fmt.Sprintf("%015d#~", l.clock.Now().UnixMilli())

	for n := range duePartitions {
		if err := sweep.partition(ctx, duePartition(n)); err != nil {
			return sweep.released, false, errors.Join(fmt.Errorf("release expired holds: %w", err), sweep.err())
		}

		if sweep.released == limit {
			return sweep.released, true, sweep.err()
		}
	}

	return sweep.released, false, sweep.err()
}

// maxNamedFailures is how many failures an error of ReleaseExpired names.
const maxNamedFailures = 10

// expirySweep is one call of ReleaseExpired.
type expirySweep struct {
	ledger          *Ledger
	end             string // the last key of a due row that has expired
	limit, released int
	failed          int
	failures        []error // the first ones
}

func (s *expirySweep) err() error {
	if s.failed == 0 {
		return nil
	}

	return fmt.Errorf("release expired holds: %d could not be released: %w", s.failed, errors.Join(s.failures...))
}

// partition releases the due holds of one partition until the limit is reached. Only
// released holds count, so holds that cannot be released do not hide the others.
func (s *expirySweep) partition(ctx context.Context, due string) error {
	in := &dynamodb.QueryInput{
		TableName:              &s.ledger.cfg.Tables.Holds,
		ConsistentRead:         aws.Bool(true),
		Limit:                  aws.Int32(int32(s.limit)),
		KeyConditionExpression: aws.String("accountId = :due AND holdId <= :end"),
		ExpressionAttributeValues: dynamo.Item{
			":due": dynamo.S(due),
			":end": dynamo.S(s.end),
		},
	}

	for {
		out, err := s.ledger.cfg.DynamoDB.Query(ctx, in)
		if err != nil {
			return err
		}

		for _, row := range out.Items {
			// The query's limit bounds a page. Holds of other partitions count, too.
			if s.released == s.limit {
				return nil
			}

			switch done, err := s.ledger.expireDue(ctx, row); {
			case ctx.Err() != nil:
				return errors.Join(err, context.Cause(ctx))
			case err != nil:
				if s.failed++; s.failed <= maxNamedFailures {
					s.failures = append(s.failures, err)
				}
			case done:
				s.released++
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

// expireDue releases the hold of a due row. It reports whether this call released it. It
// deletes a row without an active hold: either another call has ended the hold since the
// query and deleted the row already, or the tables were changed from outside the ledger.
func (l *Ledger) expireDue(ctx context.Context, row dynamo.Item) (bool, error) {
	_, rest, _ := strings.Cut(dynamo.Text(row, "holdId"), "#")
	// The id comes last: the id of an owned hold has a # of its own.
	account, id, _ := strings.Cut(rest, "#")

	h, found, err := l.Hold(ctx, account, id)
	switch {
	case err != nil:
		return false, err
	case found && h.Status == HoldActive:
		now, closed, err := l.endHold(ctx, h, HoldExpired, nil)
		switch {
		case errors.Is(err, ErrHoldClosed): // settled since it was read
			return false, nil
		case err == nil && now.Status == HoldActive && dynamo.Text(row, "holdId") != dynamo.Text(h.dueKey(), "holdId"):
			return false, fmt.Errorf("hold %s: %w: its due row has another end", id, ErrCorrupt)
		}

		return closed, err
	}

	_, err = l.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &l.cfg.Tables.Holds,
		Key:       dynamo.Item{"accountId": row["accountId"], "holdId": row["holdId"]},
	})

	return false, err
}
