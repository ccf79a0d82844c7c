package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// Resolution is what became of work with an unknown outcome: StatusCompleted with its
// Result, StatusFailed with a Failure, or StatusReleased when it never had an effect.
// The zero value says that it is still unknown.
type Resolution struct {
	Status  Status
	Result  []byte
	Failure *Failure
}

// Resolve moves on a record with an unknown outcome, or one in progress whose lease
// has run out, as it was read: ErrStaleOwner when it has changed since, but for a
// repeat of the same resolution.
func (c *Claims) Resolve(ctx context.Context, r Record, to Resolution) error {
	return c.tell("resolve", r.Key, Resolved, c.resolve(ctx, r, to))
}

func (c *Claims) resolve(ctx context.Context, r Record, to Resolution) error {
	now := c.cfg.Now()
	keep := now.Add(c.cfg.Retention)
	w := write{key: r.Key,
		condition: "#fence = :seen AND #print = :seenPrint AND (#status = :unknown OR (#status = :inProgress AND #lease <= :stale))",
		set:       "#status = :status, #updated = :now, #expires = :expires",
		values: image{":unknown": dynamo.S(string(StatusUnknown)),
			":status": dynamo.S(string(to.Status)), ":now": dynamo.N(now.UnixMilli()), ":expires": dynamo.N(keep.Unix())}}
	c.pin(w.values, &r, now)

	same := func(*Record) bool { return true }
	switch {
	case to.Status == StatusReleased:
	case to.Status == StatusCompleted && len(to.Result) > c.cfg.Inline:
		return fmt.Errorf("%w: result: %d bytes, at most %d for a resolution", ErrInvalid, len(to.Result), c.cfg.Inline)
	case to.Status == StatusCompleted:
		same = func(now *Record) bool {
			return bytes.Equal(now.result, to.Result) && !now.lost && now.pointer.name == ""
		}

		if to.Result != nil {
			w.set += ", #result = :result"
			w.values[":result"] = dynamo.B(to.Result)
		}
	case to.Status == StatusFailed && to.Failure != nil && to.Failure.Code != "":
		text := to.Failure.encode()
		same = func(now *Record) bool { return bytes.Equal(now.failure, text) }
		w.set += ", #failure = :failure"
		w.values[":failure"] = dynamo.B(text)
	default:
		return fmt.Errorf("%w: resolution: must be completed, released, or failed with a failure", ErrInvalid)
	}

	won, s, err := c.apply(ctx, w)
	switch {
	case err != nil || won:
		return err
	case s.record != nil && s.record.Fence == r.Fence && s.record.Status == to.Status && same(s.record):
		return nil // it was done before; the answer was lost
	}

	return ErrStaleOwner
}

// reconcile asks the hook about one key. It returns nil when the key has moved on.
func (c *Claims) reconcile(ctx context.Context, key string) error {
	r, there, err := c.Get(ctx, key)
	if err != nil || !there {
		return err
	}

	moved, err := c.settleRecord(ctx, r)
	if err == nil && !moved {
		return c.tell("claim", key, "", ErrUnknownOutcome)
	}

	return err
}

// settleRecord asks the hook about a record and moves it on if it knows.
func (c *Claims) settleRecord(ctx context.Context, r Record) (moved bool, err error) {
	to, err := c.cfg.Reconcile(ctx, r)
	if err != nil {
		return false, fmt.Errorf("reconcile key#%s: %w", c.Ref(r.Key), err)
	}

	if to.Status == "" {
		return false, nil
	}

	err = c.Resolve(ctx, r, to)
	if errors.Is(err, ErrStaleOwner) {
		return true, nil // somebody else has moved it on
	}

	return err == nil, err
}

// Unsettled reads one page of the table, of at most limit items, and returns the
// records on it, of any operation, with an unknown outcome, or with a lease that ran
// out before the time. The first page is after ""; next is "" behind the last.
func (c *Claims) Unsettled(ctx context.Context, before time.Time, after string, limit int32) (page []Record, next string, err error) {
	in := &dynamodb.ScanInput{TableName: &c.cfg.Table, Limit: &limit, ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("#status = :unknown OR (#status = :inProgress AND #lease <= :before)"),
		ExpressionAttributeValues: image{":unknown": dynamo.S(string(StatusUnknown)),
			":inProgress": dynamo.S(string(StatusInProgress)), ":before": dynamo.N(before.Add(-2 * c.cfg.Margin).UnixMilli())}}
	in.ExpressionAttributeNames = namesIn(*in.FilterExpression)
	if after != "" {
		in.ExclusiveStartKey = image{attrKey: dynamo.S(after)}
	}

	out, err := c.cfg.DynamoDB.Scan(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("scan for unsettled claims: %w", err)
	}

	for _, item := range out.Items {
		r, err := decode(item)
		if err != nil {
			return nil, "", fmt.Errorf("key#%s: %w", c.Ref(r.Key), err)
		}
		page = append(page, r)
	}

	return page, dynamo.Text(out.LastEvaluatedKey, attrKey), nil
}

// Swept counts what a sweep did.
type Swept struct {
	// Found are the unsettled records, Moved those that the hook knew about, Failed
	// those that it, or the write, failed for.
	Found, Moved, Failed int
}

// sweepPage bounds what a sweep holds in memory.
const sweepPage = 100

// Sweep goes once through the table and asks Config.Reconcile about every record of
// this operation with an unknown outcome, or whose lease ran out at least age ago. It
// reads the whole table, in pages: run it seldom. Err joins the first failures.
func (c *Claims) Sweep(ctx context.Context, age time.Duration) (s Swept, err error) {
	if c.cfg.Reconcile == nil {
		return s, fmt.Errorf("sweep: %w: Config.Reconcile is nil", ErrInvalid)
	}

	before := c.cfg.Now().Add(-age)
	for after := ""; ; {
		page, next, failed := c.Unsettled(ctx, before, after, sweepPage)
		if failed != nil {
			return s, errors.Join(err, failed)
		}

		for _, r := range page {
			if r.Operation != c.cfg.Operation {
				continue
			}

			s.Found++
			moved, failed := c.settleRecord(ctx, r)
			switch {
			case failed != nil && s.Failed < 10:
				err = errors.Join(err, failed)
				fallthrough
			case failed != nil:
				s.Failed++
			case moved:
				s.Moved++
			}
		}

		if after = next; next == "" || ctx.Err() != nil {
			return s, errors.Join(err, ctx.Err())
		}
	}
}

// ForceRelease frees a key whatever its status, for an operator who knows better. Who
// and why are kept in the record. A former holder is fenced off. The caches of other
// processes are not reached: they replay a result until it expires.
func (c *Claims) ForceRelease(ctx context.Context, r Record, by, reason string) error {
	if by == "" || reason == "" {
		return c.tell("force-release", r.Key, "", fmt.Errorf("%w: who releases it and why must be said", ErrInvalid))
	}
	now := c.cfg.Now()
	won, s, err := c.apply(ctx, write{key: r.Key,
		condition: "#fence = :seen AND #status = :status",
		set:       "#status = :released, #fence = :next, #updated = :now, #expires = :expires, #releasedBy = :by, #reason = :reason",
		remove:    "#owner, #result, #size, #ref, #refHash, #lost, #failure",
		values: image{":seen": dynamo.N(r.Fence), ":status": dynamo.S(string(r.Status)), ":released": dynamo.S(string(StatusReleased)),
			":next": dynamo.N(r.Fence + 1), ":now": dynamo.N(now.UnixMilli()), ":expires": dynamo.N(now.Add(c.cfg.Retention).Unix()),
			":by": dynamo.S(by), ":reason": dynamo.S(reason)}})
	c.cache.forget(r.Key) // also when it was not answered

	if err == nil && !won && (s.record == nil || s.record.Fence != r.Fence+1 || s.record.ReleasedBy != by || s.record.Reason != reason) {
		err = ErrStaleOwner
	}

	return c.tell("force-release", r.Key, GivenBack, err)
}
