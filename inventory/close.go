package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// Commit turns the order's reservation into sold pieces. A repeat succeeds; ErrExpired
// when it has run out, ErrClosed when it was released, or never made.
func (s *Stock) Commit(ctx context.Context, order string) error {
	return s.close(ctx, order, ending{verb: "commit", status: Committed, counter: "committed", now: s.cfg.Now()})
}

// Release puts the reserved pieces back. A repeat succeeds, and so does releasing an
// order whose reservation has expired, or that has reserved nothing: it is then closed,
// and a reservation that comes late is refused. ErrClosed when it was committed.
func (s *Stock) Release(ctx context.Context, order string) error {
	return s.close(ctx, order, ending{verb: "release", status: Released, counter: "available", now: s.cfg.Now()})
}

// ending is how a reservation ends.
type ending struct {
	verb, counter string
	status        Status
	now           time.Time
}

func expiry(now time.Time) ending {
	return ending{verb: "expire", status: Expired, counter: "available", now: now}
}

func (s *Stock) close(ctx context.Context, order string, e ending) error {
	err := checkOrder(order)
	if err == nil {
		err = s.end(ctx, order, e, nil)
	}

	if err != nil {
		return fmt.Errorf("%s for order %s: %w", e.verb, order, err)
	}

	return nil
}

// endAttempts bounds how often lines may be added while a reservation ends.
const endAttempts = 10

// end ends the order's reservation and moves its pieces. Which pieces, the reservation
// tells: it is read unless the caller has just seen it. What was read decides nothing,
// since the transaction's condition holds its version; when that has moved on, the
// returned image is the base of the next attempt.
func (s *Stock) end(ctx context.Context, order string, e ending, seen *record) error {
	if seen == nil {
		item, err := s.get(ctx, key(orderKey(order)))
		if err != nil {
			return err
		}
		r := decode(item)
		seen = &r
	}

	for range endAttempts {
		if done, err := seen.judge(e); done || err != nil {
			return err
		}
		t := s.ending(order, e, *seen)

		err := s.writer.Write(ctx, t)
		var refused *txn.Refused
		if !errors.As(err, &refused) || refused.Part != reservationPart {
			return lacking(err)
		}
		now := decode(refused.Old)
		seen = &now
	}

	return txn.ErrContended
}

// judge decides what the reservation alone decides: that it has ended like this
// before, or cannot.
func (r record) judge(e ending) (done bool, err error) {
	switch {
	case r.Status == e.status:
		return true, nil
	case r.Status == Expired && e.status == Released:
		return false, nil // the pieces are back; from now on a late reservation is refused
	case r.Status == Expired, e.status == Committed && r.lapsed(e.now):
		return false, ErrExpired
	case r.Status == "" && e.status == Released, r.Status == Reserved && (e.status != Expired || r.lapsed(e.now)):
		return false, nil
	case r.Status == "":
		return false, fmt.Errorf("%w: nothing is reserved", ErrClosed)
	case r.Status == Reserved:
		return false, fmt.Errorf("%w: it runs until %s", ErrClosed, r.ExpiresAt.Format(time.RFC3339))
	}

	return false, fmt.Errorf("%w: %s", ErrClosed, r.Status)
}

// ending is the transaction that ends the reservation as it was seen.
func (s *Stock) ending(order string, e ending, r record) *txn.Transaction {
	item := image{skuKey: dynamo.S(orderKey(order)), "status": dynamo.S(string(e.status)), "version": dynamo.N(r.version + 1),
		"lines": linesValue(r.Lines)}
	condition, values := "attribute_not_exists(sku)", image(nil)
	if r.Status != "" {
		condition = "#status = :from AND version = :version"
		values = image{":from": dynamo.S(string(r.Status)), ":version": dynamo.N(r.version)}
	}

	put := &types.Put{TableName: &s.cfg.Table, Item: item, ConditionExpression: &condition, ExpressionAttributeValues: values}
	if values != nil {
		put.ExpressionAttributeNames = map[string]string{"#status": "status"}
	}

	if e.status == Expired {
		item["lines"] = linesValue(nil) // the order may reserve again
	}

	moved := sum(r.Lines)
	if r.Status == Expired {
		moved = nil // they were put back then
	}
	var t txn.Transaction
	t.Add(reservationPart, types.TransactWriteItem{Put: put}, nil)

	for _, l := range moved {
		t.Add(skuPart+l.SKU, s.move(l, "reserved", e.counter), txn.FailWith(errShort))
	}

	return &t
}

// errShort: somebody else has written the counters.
var errShort = errors.New("the counter holds less than the reservation")
