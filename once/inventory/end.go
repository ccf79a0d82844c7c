package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/due"
	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Commit turns the order's reservation into sold pieces. A repeat returns nil. Commit
// returns ErrExpired if the reservation has expired, and ErrClosed if it was released or
// never made.
func (s *Stock) Commit(ctx context.Context, order string) error {
	return s.checkAndEnd(ctx, order, ending{verb: "commit", status: Committed, counter: committed})
}

// CommitAndClose is Commit for an order whose pieces have left: it also closes an order that has
// reserved nothing, so that a reservation that arrives late is refused. It returns ErrExpired
// if the reservation has expired, and ErrClosed if it was released.
//
// A caller that expects certain lines to be reserved passes them on. If the order has reserved exactly
// these, its reservation is not read.
func (s *Stock) CommitAndClose(ctx context.Context, order string, expected ...Line) error {
	return s.checkAndEnd(ctx, order, ending{verb: "settle", status: Committed, counter: committed, closes: true, expected: expected})
}

// Release returns the reserved pieces to the available ones. It returns nil if it has done
// so before, if the reservation has expired, and if the order has reserved nothing. In
// every case the order is closed afterwards, and a reservation that arrives late is
// refused. Release returns ErrClosed if the reservation was committed.
func (s *Stock) Release(ctx context.Context, order string) error {
	return s.checkAndEnd(ctx, order, ending{verb: "release", status: Released, counter: available, closes: true})
}

// ending says how a reservation ends.
type ending struct {
	verb string
	// status is the reservation's next status. counter takes its pieces.
	status  Status
	counter string
	// closes: an order that has reserved nothing is closed, too.
	closes bool
	// margin is for how long the reservation must have expired.
	margin time.Duration
	// expected are the lines that the order has probably reserved; nil if they are not known.
	expected []Line
	// due is the row of the due table that goes in the same transaction; nil for none.
	due *due.Row
}

func expiry(margin time.Duration) ending {
	return ending{verb: "expire", status: Expired, counter: available, margin: margin}
}

func (s *Stock) checkAndEnd(ctx context.Context, order string, e ending) error {
	err := checkOrder(order)
	if err == nil {
		err = s.endExpected(ctx, order, e)
	}

	if err != nil {
		return fmt.Errorf("%s for order %s: %w", e.verb, order, err)
	}

	return nil
}

// endExpected commits the expected lines, on condition that the order has reserved exactly these, or ends
// what it has reserved instead. The refused write shows what that is.
func (s *Stock) endExpected(ctx context.Context, order string, e ending) error {
	lines, err := checkLines(e.expected)
	if err != nil { // nothing is expected, or what no order can have reserved
		return s.end(ctx, order, e, nil)
	}

	err = s.writer.Write(ctx, s.blindCommit(order, e, lines))

	var refused *txn.CanceledError
	if !errors.As(err, &refused) || refused.Part != reservationPart {
		return nameMissing(err)
	}

	seen, err := decode(refused.Old)
	if err != nil {
		return err
	}

	return s.end(ctx, order, e, &seen)
}

// blindCommit returns the transaction that commits the lines, if they are what the order has reserved. It
// leaves the reservation as endTransaction does.
func (s *Stock) blindCommit(order string, e ending, lines []Line) *txn.Transaction {
	update := dynamo.NewUpdate(s.cfg.Table, orderKey(order)).
		Alias("#status", "status").
		If("#status = :from").
		Bind(":from", dynamo.S(string(Reserved))).
		Alias("#lines", "lines").
		If("#lines = :lines").
		Bind(":lines", linesValue(lines)).
		If("attribute_not_exists(expiresAt) OR expiresAt > :now").
		Set("#status = :to").
		Bind(":to", dynamo.S(string(e.status))).
		Set("version = version + :one").
		Bind(":one", dynamo.N(1)).
		Set("endedAt = :now").
		Remove("expiresAt").
		RemoveAttribute("base")

	var t txn.Transaction
	t.Marker(reservationPart, types.TransactWriteItem{Update: update.Part()})
	s.eachAttempt(&t, order, func(now time.Time) { update.Bind(":now", dynamo.Millis(now)) })

	for _, l := range lines {
		t.Add(skuPart+l.SKU, s.move(l, reserved, e.counter), short(errShort))
	}

	return &t
}

// end ends the order's reservation and moves its pieces. Only the reservation knows which
// pieces these are, so end reads it, unless the caller has just seen it.
func (s *Stock) end(ctx context.Context, order string, e ending, seen *record) error {
	return s.change(ctx, order, seen, func(seen record) (*txn.Transaction, error) {
		done, err := seen.canEnd(e, s.clock.Now().Add(-e.margin))
		if err != nil || done && e.due == nil {
			return nil, err
		}

		t := s.endTransaction(order, e, seen)
		// An attempt of a reservation may arrive late, and make the reservation and its row once more. So the row
		// goes only together with the reservation as it was seen.
		if e.due != nil {
			t.Add(duePart, s.due.DeletePart(*e.due), nil)
		}

		return t, nil
	})
}

// runningError means that the reservation has not expired.
type runningError struct{ until time.Time } // zero: without an end

func (e runningError) Error() string {
	return fmt.Sprintf("%v: it runs until %s", ErrClosed, e.until.Format(time.RFC3339))
}

func (e runningError) Unwrap() error { return ErrClosed }

// canEnd returns nil if the reservation can end like this, and true if it has ended like
// this before.
func (r record) canEnd(e ending, now time.Time) (done bool, err error) {
	switch {
	case r.Status == e.status:
		return true, nil
	case r.Status == Expired && e.status == Released:
		return false, nil // the pieces are back already; the release still closes the order
	// The clock counts, too: a sweep may come late, and an expired reservation must not be
	// committed. The write compares the end once more.
	case r.Status == Expired, e.status == Committed && r.expiredAt(now):
		return false, ErrExpired
	case r.Status == "" && e.closes, r.Status == Reserved && (e.status != Expired || r.expiredAt(now)):
		return false, nil
	case r.Status == "":
		return false, fmt.Errorf("%w: nothing is reserved", ErrClosed)
	case r.Status == Reserved:
		return false, runningError{r.ExpiresAt}
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
	item["endedAt"] = dynamo.Millis(s.clock.Now())

	switch {
	case e.status == Expired:
		item["lines"] = linesValue(nil) // the order may reserve again
		item["endedAt"] = dynamo.Millis(seen.ExpiresAt)
	case !seen.ReservedAt.IsZero():
		item["reservedAt"] = dynamo.Millis(seen.ReservedAt)
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

	if seen.Status == Reserved && !seen.ExpiresAt.IsZero() {
		condition += e.endCondition()
		s.eachAttempt(&t, order, func(now time.Time) {
			if e.status != Expired {
				item["endedAt"] = dynamo.Millis(now)
			}

			now = now.Add(-e.margin)
			switch {
			case e.status != Released:
				put.ExpressionAttributeValues[":now"] = dynamo.Millis(now)
			// As if a sweep had come before.
			case seen.expiredAt(now):
				item["lines"] = linesValue(nil)
				delete(item, "reservedAt")
			}
		})
	}

	// While the reservation is in conflict, a SKU that lacks the pieces tells nothing: another call
	// may have ended the reservation and moved them.
	t.Marker(reservationPart, types.TransactWriteItem{Put: put})

	if seen.Status == Expired {
		return &t // the expiry has returned the pieces
	}

	for _, l := range sumBySKU(seen.Lines) {
		t.Add(skuPart+l.SKU, s.move(l, reserved, e.counter), short(errShort))
	}

	return &t
}

// endCondition compares the end of a reservation that has one with :now. A release needs no
// comparison: it returns the pieces in any case.
func (e ending) endCondition() string {
	switch e.status {
	case Committed:
		return " AND expiresAt > :now"
	case Expired:
		return " AND expiresAt <= :now"
	}

	return ""
}
