package scheduled

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/transitions"
)

// Move gives a request that waits another time. If it has that time already, nothing changes. After its end, the
// error is an [EndedError]. It costs a read and 6 write units.
func (s *Schedule) Move(ctx context.Context, order transitions.OrderID, id ID, to time.Time) (Request, error) {
	to = to.UTC().Truncate(time.Millisecond)

	r, err := s.change(ctx, order, id, func(r Request) (*txn.Transaction, Request, error) {
		switch now := s.clock.Now(); {
		case r.Status == Pending && r.At.Equal(to):
			return nil, r, nil
		case r.Status != Pending:
			return nil, r, &EndedError{r}
		case to.Before(now.Add(-grace)), to.After(now.Add(furthest)):
			return nil, r, ErrTime
		}

		moved := r
		moved.At, moved.revision = to, r.revision+1

		var t txn.Transaction
		t.Marker("request", types.TransactWriteItem{Update: s.waiting(r).SetValue(attrAt, dynamo.Millis(to)).SetValue(attrRevision, dynamo.N(moved.revision)).Part()})
		t.Add("due row", s.rows.PutPart(moved.row()), nil)
		t.Add("former due row", s.rows.DeletePart(r.row()), nil)

		return &t, moved, nil
	})
	if err != nil {
		err = fmt.Errorf("move scheduled request %s of order %s: %w", id, order, err)
	}

	return r, err
}

// Withdraw ends a request that waits, so that it is never applied. A repeat changes nothing. If the request was applied
// or refused, the error is an [EndedError]. It costs a read and 6 write units.
func (s *Schedule) Withdraw(ctx context.Context, order transitions.OrderID, id ID) (Request, error) {
	r, err := s.change(ctx, order, id, func(r Request) (*txn.Transaction, Request, error) {
		switch r.Status {
		case Pending:
		case Withdrawn:
			return nil, r, nil
		default:
			return nil, r, &EndedError{r}
		}

		ended := s.ended(r, Withdrawn)

		var t txn.Transaction
		s.end(&t, r, ended)

		return &t, ended, nil
	})
	if err != nil {
		err = fmt.Errorf("withdraw scheduled request %s of order %s: %w", id, order, err)
	}

	return r, err
}

// change reads the request, and writes what plan returns for it. If the request has changed meanwhile, it plans again. A plan
// without a transaction is the answer.
func (s *Schedule) change(ctx context.Context, order transitions.OrderID, id ID, plan func(Request) (*txn.Transaction, Request, error)) (Request, error) {
	for range rounds {
		r, found, err := s.get(ctx, order, id)
		switch {
		case err != nil:
			return Request{}, err
		case !found:
			return Request{}, ErrNotFound
		}

		t, after, err := plan(r)
		if t == nil || err != nil {
			return after, err
		}

		err = s.writer.Write(ctx, t)
		if refusal := (*txn.CanceledError)(nil); !errors.As(err, &refusal) {
			return after, err
		}
	}

	return Request{}, transitions.ErrContended
}

// waiting returns an update of the request whose condition is that it waits, as it was read.
func (s *Schedule) waiting(r Request) *dynamo.Update {
	return dynamo.NewUpdate(s.cfg.Table, requestKey(r.OrderID, r.ID)).
		IfEquals(attrStatus, dynamo.S(string(Pending))).IfEquals(attrRevision, dynamo.N(r.revision))
}

// ended returns the request as it ends now.
func (s *Schedule) ended(r Request, status Status) Request {
	r.Status, r.EndedAt = status, s.clock.Now().UTC().Truncate(time.Millisecond)

	return r
}

// end adds to a transaction what ends a request: the request itself, which is the marker unless the transaction has
// another one, its due row, and the count.
func (s *Schedule) end(t *txn.Transaction, r, ended Request) {
	t.Marker("request", s.ending(r, ended))
	s.uncount(t, r)
}

// ending is the part of a transaction that stores how a request that waits has ended.
func (s *Schedule) ending(r, ended Request) types.TransactWriteItem {
	expires := latest(ended.EndedAt, r.At, r.firstAt).Add(kept)

	u := s.waiting(r).
		SetValue(attrStatus, dynamo.S(string(ended.Status))).
		SetValue(attrEndedAt, dynamo.Millis(ended.EndedAt)).
		SetValue(ExpiryAttribute, dynamo.Seconds(expires))

	if ended.Verdict != 0 {
		u.SetValue(attrVerdict, dynamo.S(ended.Verdict.String()))
	}

	if ended.Reason != "" {
		u.SetValue(attrReason, dynamo.S(ended.Reason))
	}

	if ended.TransitionID != 0 {
		u.SetValue(attrTransition, dynamo.N(int64(ended.TransitionID)))
	}

	return types.TransactWriteItem{Update: u.Part()}
}

// uncount adds the parts that delete the due row of a request that ends, and count it no more.
func (s *Schedule) uncount(t *txn.Transaction, r Request) {
	count := dynamo.NewUpdate(s.cfg.Table, countKey(r.OrderID, r.Life)).Alias("#"+attrPending, attrPending).
		Bind(":less", dynamo.N(-1)).Add("#" + attrPending + " :less")

	t.Add("count", types.TransactWriteItem{Update: count.Part()}, nil)
	t.Add("due row", s.rows.DeletePart(r.row()), nil)
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}

	return last
}
