package once

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Unsettled reads one page of the table, of at most limit items. It returns the unsettled
// records on the page, of any operation: their outcome is unknown, their lease ran out before
// the given time, or they were released although a former holder may have begun the work. The
// first page comes after "". The last page returns "" as next. Records that cannot be read are left
// out: the error then wraps ErrCorrupt and names the first 10, and page and next are valid.
func (c *Claims) Unsettled(ctx context.Context, before time.Time, after string, limit int32) (page []Record, next string, err error) {
	// The limit counts the items that are read: the filter may leave an empty page before the end.
	in := &dynamodb.ScanInput{
		TableName:        &c.cfg.Table,
		Limit:            &limit,
		ConsistentRead:   aws.Bool(true),
		FilterExpression: aws.String("#status = :unknown OR (#status = :inProgress AND #lease <= :before) OR (#status = :released AND attribute_exists(#begun))"),
		ExpressionAttributeNames: map[string]string{
			"#status": attrStatus,
			"#lease":  attrLease,
			"#begun":  attrBegun,
		},
		ExpressionAttributeValues: dynamo.Item{
			":unknown":    dynamo.S(string(StatusUnknown)),
			":inProgress": dynamo.S(string(StatusInProgress)),
			":released":   dynamo.S(string(StatusReleased)),
			":before":     dynamo.Millis(before.Add(-2 * c.cfg.margin)),
		},
	}
	if after != "" {
		in.ExclusiveStartKey = recordKey(after)
	}

	out, err := c.cfg.DynamoDB.Scan(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("scan for unsettled claims: %w", err)
	}

	corrupt := 0
	for _, item := range out.Items {
		r, broken := decode(item)
		if broken == nil {
			page = append(page, r)
			continue
		}

		if corrupt++; corrupt <= maxSweepErrors {
			err = errors.Join(err, fmt.Errorf("key#%s: %w", c.Ref(r.Key), broken))
		}
	}

	return page, dynamo.Text(out.LastEvaluatedKey, attrKey), err
}

// Swept counts what a sweep did.
type Swept struct {
	// Found counts the unsettled records, Moved the records that Config.Reconcile resolved, and
	// Failed the records for which Config.Reconcile or the write failed.
	Found, Moved, Failed int
}

const (
	sweepPage      = 100
	maxSweepErrors = 10
)

// Sweep asks Config.Reconcile about every record of this operation that has an unknown
// outcome, or whose lease ran out at least age ago. It scans the whole table, in pages, so
// run it seldom. The returned error joins the first 10 failures, and names records that cannot be read,
// at most 10 of each of 10 pages.
func (c *Claims) Sweep(ctx context.Context, age time.Duration) (s Swept, err error) {
	if c.cfg.Reconcile == nil {
		return s, fmt.Errorf("sweep: %w: Config.Reconcile is nil", ErrInvalid)
	}

	if err := c.learn(ctx); err != nil {
		return s, fmt.Errorf("sweep: %w", err)
	}

	before := c.clock.Now().Add(-age)
	corrupt := 0 // pages
	for after := ""; ; {
		page, next, scanErr := c.Unsettled(ctx, before, after, sweepPage)
		switch {
		// The other records are swept all the same.
		case errors.Is(scanErr, ErrCorrupt):
			if corrupt++; corrupt <= maxSweepErrors {
				err = errors.Join(err, scanErr)
			}
		case scanErr != nil:
			return s, errors.Join(err, scanErr)
		}

		for _, r := range page {
			// Other operations in the table have reconcilers of their own.
			if r.Operation != c.cfg.Operation {
				continue
			}

			s.Found++
			resolved, failure := c.reconcileRecord(ctx, r)

			switch {
			case failure != nil:
				if s.Failed < maxSweepErrors {
					err = errors.Join(err, failure)
				}
				s.Failed++
			case resolved:
				s.Moved++
			}
		}

		if after = next; next == "" || ctx.Err() != nil {
			return s, errors.Join(err, ctx.Err())
		}
	}
}
