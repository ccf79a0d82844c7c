package scheduled

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/transitions"
)

// Swept is the result of a sweep.
type Swept struct {
	// Rows is how many due rows were handled.
	Rows int
	// More: other requests may be due, and most of those that this call has found could be handled.
	More bool
	// Applied and Refused are how many requests this call has ended.
	Applied, Refused int
	// Late is how long the oldest row had been due, 0 if there was none.
	Late time.Duration
}

// ended counts what a sweep has ended.
type ended struct{ applied, refused atomic.Int64 }

// Sweep judges and applies the requests that are due, oldest first, for at most limit due rows. A request that cannot
// be judged stops no other order's: it is tried again later, and its error is in the returned error, which joins at
// most 10. Any number of callers may sweep at once: each request is applied once.
//
// It costs half a read unit while the table has no request. Else it costs 0.5 read units for each of 16 shards, and for each due
// request a read of the requests of its order, one of the order, and about 8 write units.
func (s *Schedule) Sweep(ctx context.Context, limit int) (Swept, error) {
	if none, err := s.isEmpty(ctx); none || err != nil {
		return Swept{}, err
	}

	var count ended

	sweep := due.Sweep{Kind: kind, Limit: limit, Margin: margin, Parallel: parallel, Pace: s.pace}

	found, err := s.rows.Sweep(ctx, sweep, func(ctx context.Context, row due.Row) (due.Answer, error) { return s.handle(ctx, row, &count) })
	if err != nil {
		err = fmt.Errorf("sweep the scheduled requests: %w", err)
	}

	swept := Swept{Rows: found.Handled, More: found.More, Applied: int(count.applied.Load()), Refused: int(count.refused.Load())}
	if !found.Oldest.IsZero() {
		swept.Late = s.clock.Since(found.Oldest)
	}

	return swept, err
}

// isEmpty reports whether the table has no request, so that nothing can be due. A request of just now may be found only by
// the next sweep.
func (s *Schedule) isEmpty(ctx context.Context) (bool, error) {
	out, err := s.cfg.DynamoDB.Scan(ctx, &dynamodb.ScanInput{TableName: &s.cfg.Table, Limit: aws.Int32(1)}, s.clock.Listen)
	if err != nil {
		return false, fmt.Errorf("sweep the scheduled requests: %w", err)
	}

	return len(out.Items) == 0 && len(out.LastEvaluatedKey) == 0, nil
}

// handle judges what is due of the order of a row, up to the request of the row, and says when the row is due again.
func (s *Schedule) handle(ctx context.Context, row due.Row, count *ended) (due.Answer, error) {
	order, id := transitions.OrderID(row.Subject), ID(row.Detail)

	for range rounds {
		r, found, err := s.get(ctx, order, id)
		switch {
		case err != nil:
			return due.Answer{}, fmt.Errorf("scheduled request %s of order %s: %w", id, order, err)
		// The row is left from before the end of the request.
		case !found || r.Status != Pending:
			return due.Remove, nil
		// The request was moved, or the row is another one's mistake.
		case r.At.After(s.now()):
			return due.MoveTo(r.At), nil
		}

		first, err := s.firstOf(ctx, r)
		if err != nil {
			return due.Answer{}, fmt.Errorf("scheduled requests of order %s: %w", order, err)
		}

		judged, err := s.judge(ctx, first, first.ID == id && row.Attempts >= mostTries, count)
		switch {
		case err != nil:
			return due.Answer{}, fmt.Errorf("scheduled request %s of order %s: %w", first.ID, order, err)
		case judged && first.ID == id && row.At.Equal(r.At):
			return due.Gone, nil
		}
	}

	// Others come first, and there are many: the next sweep goes on.
	return due.Retry(s.clock.Now()), nil
}

// firstOf returns the request of the same order that is to be judged before r, or r itself.
func (s *Schedule) firstOf(ctx context.Context, r Request) (Request, error) {
	first := r

	err := s.each(ctx, r.OrderID, r.At, func(other Request) {
		if before(other, first) {
			first = other
		}
	})

	return first, err
}

// before reports whether a is judged before b.
func before(a, b Request) bool { return compare(a, b) < 0 }

// compare brings requests into the order in which they are judged.
func compare(a, b Request) int {
	return cmp.Or(a.At.Compare(b.At), a.PlacedAt.Compare(b.PlacedAt), cmp.Compare(a.ID, b.ID))
}

// errOvertaken: the request is not as it was read. Another call has moved or ended it.
var errOvertaken = errors.New("the request has changed meanwhile")

// judge applies the request, and stores how it has ended. It reports false if the request has changed meanwhile.
// last says that a request that cannot be judged ends, too.
func (s *Schedule) judge(ctx context.Context, r Request, last bool, count *ended) (bool, error) {
	done := s.ended(r, Applied)

	result, err := s.apply(ctx, r, &done)
	// The tables were restored, and the order goes on in another life.
	if err == nil && result.Verdict == transitions.Superseded {
		renewed := r
		if renewed.request.Incarnation, err = s.renewed(ctx, r); err == nil && renewed.request.Incarnation != r.Life {
			result, err = s.apply(ctx, renewed, &done)
		}
	}

	switch {
	case errors.Is(err, errOvertaken):
		return false, nil
	case err != nil && !final(err) && (!last || transitions.Retryable(err)):
		return false, err
	case err != nil:
		done.Status, done.Verdict, done.TransitionID, done.Reason = Refused, 0, 0, whyNot(err)
		s.cfg.Log.WarnContext(ctx, "a scheduled request could not be judged", "order", r.OrderID, "scheduled", string(r.ID), "error", err)
	case result.Verdict == transitions.Applied:
		s.noted(done, count)
		return true, nil
	// Another call has applied the same request under its id.
	case result.Verdict == transitions.Replayed:
		done.Verdict, done.TransitionID = transitions.Replayed, result.Transition.ID
	default:
		done.Status, done.Verdict, done.TransitionID, done.Reason = Refused, result.Verdict, 0, dynamo.Cut(result.Why(), maxReason)
	}

	var t txn.Transaction
	s.end(&t, r, done)

	err = s.writer.Write(ctx, &t)
	if refusal := (*txn.CanceledError)(nil); errors.As(err, &refusal) {
		return false, nil
	}

	if err == nil {
		s.noted(done, count)
	}

	return err == nil, err
}

// apply applies the request, and stores in done how it has ended, in one transaction: no withdrawal comes between the
// two.
func (s *Schedule) apply(ctx context.Context, r Request, done *Request) (transitions.Result, error) {
	return s.cfg.Orders.ApplyWith(ctx, r.request, func(t *txn.Transaction, made transitions.Transition) {
		done.TransitionID, done.Verdict = made.ID, transitions.Applied
		t.Add("request", s.ending(r, *done), txn.FailWith(errOvertaken))
		s.uncount(t, r)
	})
}

// renewed returns the life in which the request's order goes on, or that of the request.
func (s *Schedule) renewed(ctx context.Context, r Request) (transitions.Incarnation, error) {
	order, found, err := s.cfg.Orders.Get(ctx, r.OrderID)
	if err != nil || !found || !goesOn(order, r.Life) {
		return r.Life, err
	}

	return order.Incarnation, nil
}

// noted counts a request that was ended.
func (s *Schedule) noted(r Request, count *ended) {
	if r.Status == Applied {
		count.applied.Add(1)
	} else {
		count.refused.Add(1)
	}
	s.cfg.Ended(r, s.clock.Since(r.At))
}

// final reports whether the request has failed with this error for good. An order that is full may have room later, but a
// request is judged at its time: until then, it would be in the way of those that come after it.
func final(err error) bool {
	return errors.Is(err, transitions.ErrInvalidRequest) || errors.Is(err, transitions.ErrEvidenceGone) || errors.Is(err, transitions.ErrOrderFull)
}

// whyNot is the reason of a request that could not be judged.
func whyNot(err error) string {
	if limit := (*transitions.LimitError)(nil); errors.As(err, &limit) {
		return limit.Error()
	}

	return dynamo.Cut(err.Error(), maxReason)
}

// maxReason is how much of a reason is stored, in bytes.
const maxReason = 500

// now is the moment up to which requests are due.
func (s *Schedule) now() time.Time { return s.clock.Now().Add(-margin) }
