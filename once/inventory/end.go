package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Commit turns the order's reservation into sold pieces. A repeat returns nil. Commit
// returns ErrExpired if the reservation has expired, and ErrClosed if it was released or
// never made.
func (s *Stock) Commit(ctx context.Context, order string) error {
	return s.checkAndEnd(ctx, order, ending{verb: "commit", status: Committed, counter: committed, now: s.cfg.Now()})
}

// CommitAndClose is Commit for an order whose pieces have left: it also closes an order that has
// reserved nothing, so that a reservation that arrives late is refused. It returns ErrExpired
// if the reservation has expired, and ErrClosed if it was released.
func (s *Stock) CommitAndClose(ctx context.Context, order string) error {
	return s.checkAndEnd(ctx, order, ending{verb: "settle", status: Committed, counter: committed, closes: true, now: s.cfg.Now()})
}

// Release returns the reserved pieces to the available ones. It returns nil if it has done
// so before, if the reservation has expired, and if the order has reserved nothing. In
// every case the order is closed afterwards, and a reservation that arrives late is
// refused. Release returns ErrClosed if the reservation was committed.
func (s *Stock) Release(ctx context.Context, order string) error {
	return s.checkAndEnd(ctx, order, ending{verb: "release", status: Released, counter: available, closes: true, now: s.cfg.Now()})
}

// ending says how a reservation ends.
type ending struct {
	verb string
	// status is the reservation's next status. counter takes its pieces.
	status  Status
	counter string
	// closes: an order that has reserved nothing is closed, too.
	closes bool
	now    time.Time
}

func expiry(now time.Time) ending {
	return ending{verb: "expire", status: Expired, counter: available, now: now}
}

func (s *Stock) checkAndEnd(ctx context.Context, order string, e ending) error {
	err := checkOrder(order)
	if err == nil {
		err = s.end(ctx, order, e, nil)
	}

	if err != nil {
		return fmt.Errorf("%s for order %s: %w", e.verb, order, err)
	}

	return nil
}

// end ends the order's reservation and moves its pieces. Only the reservation knows which
// pieces these are, so end reads it, unless the caller has just seen it.
func (s *Stock) end(ctx context.Context, order string, e ending, seen *record) error {
	return s.change(ctx, order, seen, func(seen record) (*txn.Transaction, error) {
		if done, err := seen.canEnd(e); done || err != nil {
			return nil, err
		}

		return s.endTransaction(order, e, seen), nil
	})
}

// canEnd returns nil if the reservation can end like this, and true if it has ended like
// this before.
func (r record) canEnd(e ending) (done bool, err error) {
	switch {
	case r.Status == e.status:
		return true, nil
	case r.Status == Expired && e.status == Released:
		return false, nil // the pieces are back already; the release still closes the order
	// The clock counts, too: a sweep may come late, and an expired reservation must not be
	// committed.
	case r.Status == Expired, e.status == Committed && r.expiredAt(e.now):
		return false, ErrExpired
	case r.Status == "" && e.closes, r.Status == Reserved && (e.status != Expired || r.expiredAt(e.now)):
		return false, nil
	case r.Status == "":
		return false, fmt.Errorf("%w: nothing is reserved", ErrClosed)
	case r.Status == Reserved:
		return false, fmt.Errorf("%w: it runs until %s", ErrClosed, r.ExpiresAt.Format(time.RFC3339))
	}

	return false, fmt.Errorf("%w: %s", ErrClosed, r.Status)
}

// errShort means that a counter was changed by something other than this package.
var errShort = errors.New("the counter holds less than the reservation")

// endTransaction returns the transaction that ends the reservation as it was seen.
func (s *Stock) endTransaction(order string, e ending, seen record) *txn.Transaction {
	item := orderKey(order)
	item["status"] = dynamo.S(string(e.status))
	item["version"] = dynamo.N(seen.version + 1)
	item["lines"] = linesValue(seen.Lines)

	if e.status == Expired {
		item["lines"] = linesValue(nil) // the order may reserve again
	}

	condition := "attribute_not_exists(sku)"
	put := &types.Put{TableName: &s.cfg.Table, Item: item, ConditionExpression: &condition}
	// Every change increments the version, so the lines are still as they were seen.
	if seen.Status != "" {
		condition = "#status = :from AND version = :version"
		put.ExpressionAttributeNames = map[string]string{"#status": "status"}
		put.ExpressionAttributeValues = image{
			":from":    dynamo.S(string(seen.Status)),
			":version": dynamo.N(seen.version),
		}
	}

	var t txn.Transaction
	t.Add(reservationPart, types.TransactWriteItem{Put: put}, nil)

	if seen.Status == Expired {
		return &t // the expiry has returned the pieces
	}

	for _, l := range sumBySKU(seen.Lines) {
		t.Add(skuPart+l.SKU, s.move(l, reserved, e.counter), txn.FailWith(errShort))
	}

	return &t
}
