package scheduled

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ratchet/internal/dynamo"
)

// Lacking says how many requests that wait have no due row, so that nothing judges them.
type Lacking struct {
	// Waiting is how many requests that wait were looked at, and Rowless how many of them have no row.
	Waiting, Rowless int
	// Complete: no other request waits.
	Complete bool
}

// Lacking looks for the due rows of about as many requests that wait, and of all if they are fewer. It reads the table of requests
// up to there, and one row for each.
func (s *Schedule) Lacking(ctx context.Context, most int) (Lacking, error) {
	found, err := s.lacking(ctx, most)
	if err != nil {
		err = fmt.Errorf("due rows of scheduled requests: %w", err)
	}

	return found, err
}

func (s *Schedule) lacking(ctx context.Context, most int) (found Lacking, err error) {
	rows := sync.OnceValues(func() (map[[2]string]bool, error) { return s.rows.Subjects(ctx, kind) })

	var mu sync.Mutex // guards found

	for in := (&dynamodb.ScanInput{TableName: &s.cfg.Table}); ; {
		out, err := s.cfg.DynamoDB.Scan(ctx, in, s.clock.Listen)
		if err != nil {
			return found, err
		}

		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(parallel)

		for _, item := range out.Items {
			if Status(dynamo.Text(item, attrStatus)) != Pending {
				continue
			}

			group.Go(func() error {
				waits, has, err := s.hasRow(groupCtx, item, rows)

				mu.Lock()
				defer mu.Unlock()

				if waits {
					found.Waiting++
				}

				if waits && !has {
					found.Rowless++
				}

				return err
			})
		}

		if err := group.Wait(); err != nil {
			return found, err
		}

		in.ExclusiveStartKey = out.LastEvaluatedKey
		if found.Complete = len(in.ExclusiveStartKey) == 0; found.Complete || found.Waiting >= most {
			return found, nil
		}
	}
}

// hasRow reports whether the request of an item still waits, and has its due row. A row that was postponed is at another time: rows
// finds those.
func (s *Schedule) hasRow(ctx context.Context, item dynamo.Item, rows func() (map[[2]string]bool, error)) (waits, has bool, err error) {
	r, err := parse(item)
	if err != nil {
		return false, false, err
	}

	if has, err = s.rows.Has(ctx, r.row()); has || err != nil {
		return true, has, err
	}

	// It may have been moved or ended since it was read.
	now, found, err := s.get(ctx, r.OrderID, r.ID)
	if err != nil || !found || now.Status != Pending {
		return false, false, err
	}

	if now.revision != r.revision {
		has, err = s.rows.Has(ctx, now.row())
	}

	if !has && err == nil && !now.At.After(s.clock.Now()) {
		all, wrong := rows()
		has, err = all[[2]string{string(r.OrderID), string(r.ID)}], wrong
	}

	return true, has, err
}
