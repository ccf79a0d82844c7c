package inventory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// Reserve sets the lines aside for the order, all or none, until they are committed or
// released. A repeat changes nothing and succeeds; ErrClosed when the reservation has
// been released or committed; ErrConflict when it was made with other lines;
// ErrOutOfStock names the SKUs that lack pieces.
func (s *Stock) Reserve(ctx context.Context, order string, lines []Line) error {
	return s.ReserveUntil(ctx, order, lines, time.Time{})
}

// ReserveUntil is Reserve with an end: from then on the reservation cannot be
// committed, and [Stock.ExpireDue] puts the pieces back. An order whose reservation has
// expired may reserve again.
func (s *Stock) ReserveUntil(ctx context.Context, order string, lines []Line, until time.Time) error {
	if err := s.reserve(ctx, order, lines, until); err != nil {
		return fmt.Errorf("reserve for order %s: %w", order, err)
	}
	return nil
}

func (s *Stock) reserve(ctx context.Context, order string, lines []Line, until time.Time) error {
	now := s.cfg.Now()

	lines, err := merge(lines)
	if err == nil {
		err = checkOrder(order)
	}

	switch {
	case err != nil:
		return err
	case !until.IsZero() && !until.After(now):
		return fmt.Errorf("%w: expiresAt %s: must be in the future", ErrInvalid, until.UTC().Format(time.RFC3339))
	}

	base := digest(lines)
	for range 2 {
		var t txn.Transaction
		s.grow(&t, order, lines, growth{now: now, until: until, base: base})

		err := s.writer.Write(ctx, &t)
		var refused *txn.Refused
		if !errors.As(err, &refused) || refused.Part != reservationPart {
			return lacking(err)
		}

		old := decode(refused.Old)
		switch {
		case old.lapsed(now): // the sweeper has not come by
			if err := s.end(ctx, order, expiry(now), &old); err != nil && !errors.Is(err, ErrClosed) {
				return err
			}
			continue
		case old.Status == Reserved && bytes.Equal(old.base, base):
			return nil // it was made before, perhaps by a call whose answer was lost
		}

		return refused.Err
	}

	return txn.ErrContended // it was swept and made again by others, in between
}

// digest is what must be equal between two reservations of an order.
func digest(lines []Line) []byte {
	sorted := slices.SortedFunc(slices.Values(lines), func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	h := sha256.New()
	for _, l := range sorted {
		_, _ = fmt.Fprintf(h, "%d:%s=%d,", len(l.SKU), l.SKU, l.Quantity) // a hash does not fail
	}

	return h.Sum(nil)
}

// The names of a reservation's parts in a transaction.
const (
	reservationPart = "reservation"
	duePart         = "due"
	skuPart         = "sku "
)

// AddIn is a part of a transaction that the caller writes, beside the rest of it: the
// lines' pieces go aside for the order, on top of what it has reserved. It reads and
// sends nothing; what it returns adds the part. A refusal is ErrOutOfStock, ErrClosed
// or ErrInvalid. The caller's marker keeps a repeat from adding twice. Of the 100
// actions of a transaction it takes one, and one for each SKU.
func (s *Stock) AddIn(order string, lines []Line) (func(*txn.Transaction), error) {
	lines, err := merge(lines)
	if err == nil {
		err = checkOrder(order)
	}

	if err != nil {
		return nil, fmt.Errorf("reserve for order %s: %w", order, err)
	}
	g := growth{now: s.cfg.Now()}

	return func(t *txn.Transaction) { s.grow(t, order, lines, g) }, nil
}

// growth says how a reservation is made or grows.
type growth struct {
	now, until time.Time
	// base is the digest of the lines when they are the order's first ones.
	base []byte
}

// grow adds the parts that make a reservation, or add to one that stands.
func (s *Stock) grow(t *txn.Transaction, order string, lines []Line, g growth) {
	update := "SET #status = :reserved, #lines = list_append(if_not_exists(#lines, :none), :lines), version = if_not_exists(version, :zero) + :one"

	standing := "#status = :reserved AND (attribute_not_exists(expiresAt) OR expiresAt > :now) AND size(#lines) <= :room"
	values := image{":reserved": dynamo.S(string(Reserved)), ":expired": dynamo.S(string(Expired)), ":none": linesValue(nil),
		":lines": linesValue(lines), ":zero": dynamo.N(0), ":one": dynamo.N(1), ":now": dynamo.N(g.now.UnixMilli()),
		":room": dynamo.N(int64(MaxLines - len(lines)))}
	names := map[string]string{"#status": "status", "#lines": "lines"}
	if g.base != nil {
		update += ", #base = :base"
		standing += " AND attribute_not_exists(#base)"
		names["#base"] = "base"
		values[":base"] = dynamo.B(g.base)
	}

	if !g.until.IsZero() {
		update += ", expiresAt = :until"
		values[":until"] = dynamo.N(g.until.UnixMilli())
		t.Add(duePart, types.TransactWriteItem{Put: &types.Put{TableName: &s.cfg.DueTable, Item: dueItem(order, g.until)}}, nil)
	}
	t.Add(reservationPart, types.TransactWriteItem{Update: &types.Update{
		TableName: &s.cfg.Table, Key: key(orderKey(order)), UpdateExpression: &update,
		ConditionExpression:       aws.String("attribute_not_exists(sku) OR #status = :expired OR (" + standing + ")"),
		ExpressionAttributeNames:  names, // DynamoDB reserves these words
		ExpressionAttributeValues: values,
	}}, func(old image) error { return decode(old).refusal(g, len(lines)) })

	for _, l := range lines {
		t.Add(skuPart+l.SKU, s.move(l, "available", "reserved"), txn.FailWith(ErrOutOfStock))
	}
}

// refusal says why a reservation does not grow.
func (r record) refusal(g growth, lines int) error {
	switch {
	case r.lapsed(g.now):
		return ErrExpired
	case r.Status != Reserved:
		return fmt.Errorf("%w: %s", ErrClosed, r.Status)
	case len(r.Lines) > MaxLines-lines:
		return fmt.Errorf("%w: %d lines beside %d, at most %d", ErrInvalid, lines, len(r.Lines), MaxLines)
	}

	return ErrConflict
}

// move takes a line's pieces from one counter to the other, if they are there.
func (s *Stock) move(l Line, from, to string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &s.cfg.Table, Key: key(l.SKU),
		ConditionExpression:       aws.String("#from >= :q"),
		UpdateExpression:          aws.String("SET #from = #from - :q, #to = if_not_exists(#to, :zero) + :q"),
		ExpressionAttributeNames:  map[string]string{"#from": from, "#to": to},
		ExpressionAttributeValues: image{":q": dynamo.N(l.Quantity), ":zero": dynamo.N(0)},
	}}
}

// lacking names the SKUs for which a transaction was refused.
func lacking(err error) error {
	var refused *txn.Refused
	if !errors.As(err, &refused) || !errors.Is(refused.Err, ErrOutOfStock) {
		return err
	}

	var skus []string
	for _, f := range append([]txn.Failure{refused.Failure}, refused.Others...) {
		if sku, ok := strings.CutPrefix(f.Part, skuPart); ok {
			skus = append(skus, sku)
		}
	}

	return fmt.Errorf("%w: %s", ErrOutOfStock, strings.Join(skus, ", "))
}
