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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Reserve sets the lines aside for the order, all or none, until they are committed or
// released. A repeat changes nothing and returns nil. If the order has reserved the lines
// with an end, Reserve removes the end. Reserve returns ErrClosed if the
// reservation has been released or committed, ErrConflict if it was made with other lines,
// and ErrOutOfStock, which names the SKUs, if pieces are missing.
func (s *Stock) Reserve(ctx context.Context, order string, lines []Line) error {
	return s.ReserveUntil(ctx, order, lines, time.Time{})
}

// ReserveUntil is Reserve with an end, in milliseconds: from then on the reservation cannot
// be committed, and [Stock.ExpireDue] returns its pieces. An order whose reservation has
// expired may reserve again. The end of a reservation moves only forward: a later end
// extends it, and ReserveUntil returns ErrConflict if the reservation has a later end, or
// none.
func (s *Stock) ReserveUntil(ctx context.Context, order string, lines []Line, until time.Time) error {
	if err := s.reserve(ctx, order, lines, until); err != nil {
		return fmt.Errorf("reserve for order %s: %w", order, err)
	}

	return nil
}

// reserveAttempts bounds how often the reservation may change while it is being made.
const reserveAttempts = 4

func (s *Stock) reserve(ctx context.Context, order string, lines []Line, until time.Time) error {
	if err := s.learn(ctx, order); err != nil {
		return err
	}

	lines, err := checkReservation(order, lines)
	if err != nil {
		return err
	}

	base := digest(lines)
	for range reserveAttempts {
		var t txn.Transaction
		s.addParts(&t, order, lines, addition{until: until, base: base, marker: true})

		err := s.writer.Write(ctx, &t)
		var refused *txn.CanceledError
		if !errors.As(err, &refused) || refused.Part != reservationPart {
			return nameMissing(err)
		}

		old, err := decode(refused.Old)
		now := s.clock.Now()

		switch {
		case err != nil:
			return err
		case old.Status == "":
			// The end has passed while the write was tried. Otherwise the clock has been corrected since.
			if err := checkEnd(until, now); err != nil {
				return err
			}
		case old.expiredAt(now):
			// No sweep has ended the old reservation yet. End it here and try once more.
			if err := s.end(ctx, order, expiry(0), &old); err != nil && !errors.Is(err, ErrClosed) {
				return err
			}
		case old.Status == Reserved && bytes.Equal(old.base, base):
			// The reservation was made before, for example by a call whose answer was lost.
			if done, err := s.extend(ctx, order, old, until); done || err != nil {
				return err
			}
		default:
			return old.refuseLines(len(lines), now)
		}
	}

	// Between the attempts other calls ended the reservation, or made a new one.
	return txn.ErrContended
}

// checkReservation validates the order and the lines of a reservation and returns one line per SKU.
func checkReservation(order string, lines []Line) ([]Line, error) {
	lines, err := checkLines(lines)
	if err == nil {
		err = checkOrder(order)
	}

	return lines, err
}

func checkEnd(until, now time.Time) error {
	if !until.IsZero() && !until.After(now) {
		return fmt.Errorf("%w: expiresAt %s: must be in the future", ErrInvalid, until.UTC().Format(time.RFC3339))
	}

	return nil
}

// extend gives the reservation that was seen a later end, or none if until is zero. It
// returns false if the reservation has changed since. The row of the former end stays in
// the due table: a sweep that comes to it finds that the reservation still runs, and
// deletes the row.
func (s *Stock) extend(ctx context.Context, order string, seen record, until time.Time) (done bool, err error) {
	switch {
	case sameEnd(seen.ExpiresAt, until):
		return true, nil
	// An end moves only forward, and no end is the furthest.
	case seen.ExpiresAt.IsZero():
		return false, fmt.Errorf("%w: without an end", ErrConflict)
	case !until.IsZero() && until.Before(seen.ExpiresAt):
		return false, fmt.Errorf("%w: until %s", ErrConflict, seen.ExpiresAt.Format(time.RFC3339Nano))
	}

	update := dynamo.NewUpdate(s.cfg.Table, orderKey(order)).
		If("#status = :reserved AND version = :version AND expiresAt > :now").
		Bind(":reserved", dynamo.S(string(Reserved))).
		Bind(":version", dynamo.N(seen.version)).
		Set("version = version + :one").
		Bind(":one", dynamo.N(1))

	var t txn.Transaction
	if until.IsZero() {
		update.Remove("expiresAt")
	} else {
		update.Set("expiresAt = :until").Bind(":until", dynamo.Millis(until))
		t.Add(duePart, s.due.PutPart(dueRow(order, until)), nil)
	}
	t.Marker(reservationPart, types.TransactWriteItem{Update: update.Part()})
	s.eachAttempt(&t, order, func(now time.Time) { update.Bind(":now", dynamo.Millis(now)) })

	err = s.writer.Write(ctx, &t)
	if refused := (*txn.CanceledError)(nil); errors.As(err, &refused) {
		return false, nil
	}

	return err == nil, err
}

// sameEnd compares two ends as they are stored: in milliseconds, zero for none.
func sameEnd(a, b time.Time) bool {
	return a.IsZero() == b.IsZero() && (a.IsZero() || a.UnixMilli() == b.UnixMilli())
}

// digest identifies the lines that an order's reservation was made with.
func digest(lines []Line) []byte {
	// Sorted, because the same lines in another order are the same reservation.
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
	skuPart         = "sku " // followed by the SKU
)

// AddIn returns a function that adds parts to the caller's transaction. They set the lines'
// pieces aside for the order, in addition to its reserved pieces: 1 part, and 1 for each SKU.
// AddIn reads and sends nothing. The transaction is refused with ErrOutOfStock, ErrClosed or
// ErrInvalid, and with ErrExpired if the reservation has expired, until the order has reserved
// again. Nothing in these parts recognizes a repeat; the transaction needs a marker for that.
func (s *Stock) AddIn(order string, lines []Line) (func(*txn.Transaction), error) {
	lines, err := checkLines(lines)
	if err == nil {
		err = checkOrder(order)
	}

	if err != nil {
		return nil, fmt.Errorf("reserve for order %s: %w", order, err)
	}

	return func(t *txn.Transaction) { s.addParts(t, order, lines, addition{}) }, nil
}

// addition says how lines are added to an order's reservation.
type addition struct {
	// until is when the reservation expires; zero leaves that as it is.
	until time.Time
	// base is the digest of the lines if they make the reservation; nil if they are added to
	// a reservation, which need not exist.
	base []byte
	// marker: the reservation is the marker of the transaction.
	marker bool
}

// addParts adds the parts that make a reservation or add lines to one.
func (s *Stock) addParts(t *txn.Transaction, order string, lines []Line, a addition) {
	// The bound on the lines keeps the transaction that ends the reservation within its 100 parts.
	open := "#status = :reserved AND (attribute_not_exists(expiresAt) OR expiresAt > :now) AND size(#lines) <= :room"
	update := dynamo.NewUpdate(s.cfg.Table, orderKey(order)).
		Set("#status = :reserved").
		Set("#lines = list_append(if_not_exists(#lines, :none), :lines)").
		Set("version = if_not_exists(version, :zero) + :one").
		Set("reservedAt = if_not_exists(reservedAt, :now)").
		Bind(":reserved", dynamo.S(string(Reserved))).
		Bind(":none", linesValue(nil)).
		Bind(":lines", linesValue(lines)).
		Bind(":zero", dynamo.N(0)).
		Bind(":one", dynamo.N(1)).
		Bind(":room", dynamo.N(int64(maxLines-len(lines))))

	// The reservation may have lines of AddIn already, but no lines of another Reserve.
	if a.base != nil {
		open += " AND attribute_not_exists(#base)"
		update.Set("#base = :base").Bind(":base", dynamo.B(a.base))
	}

	if !a.until.IsZero() {
		// Lines that AddIn has reserved have no end, and must not get one.
		open += " AND attribute_exists(expiresAt)"
		update.Set("expiresAt = :until").Bind(":until", dynamo.Millis(a.until))
		t.Add(duePart, s.due.PutPart(dueRow(order, a.until)), nil)
	}
	condition := "attribute_not_exists(sku) OR (" + open + ")"

	// Only Reserve replaces a reservation that has expired, whether a sweep has stored that or not.
	if a.marker {
		condition += " OR #status = :expired"
		update.Bind(":expired", dynamo.S(string(Expired)))
	}
	update.If(condition)

	reservation := types.TransactWriteItem{Update: update.Part()}
	usual := *reservation.Update.ConditionExpression

	var attempted time.Time
	s.eachAttempt(t, order, func(now time.Time) {
		attempted = now
		update.Bind(":now", dynamo.Millis(now))

		// An end that has passed makes no reservation. The attempt is sent all the same: what was written before
		// answers first.
		*reservation.Update.ConditionExpression = usual
		if checkEnd(a.until, now) != nil {
			*reservation.Update.ConditionExpression = "attribute_exists(sku) AND attribute_not_exists(sku) AND (" + usual + ")"
		}
	})

	// The reservation decides before the stock does: an order that has the last pieces must
	// not get ErrOutOfStock because its reservation was locked for a moment.
	if a.marker {
		t.Marker(reservationPart, reservation)
	} else {
		t.AddDecisive(reservationPart, reservation, func(old image) error {
			r, err := decode(old)
			if err == nil && r.Status == "" {
				err = checkEnd(a.until, attempted)
			}

			if err != nil {
				return err
			}

			return r.refuse(len(lines), a, attempted)
		})
	}

	for _, l := range lines {
		t.Add(skuPart+l.SKU, s.move(l, available, reserved), short(ErrOutOfStock))
	}
}

// refuse returns the reason why the reservation refused an addition of that many lines.
func (r record) refuse(lines int, a addition, now time.Time) error {
	if a.base != nil && r.Status == Reserved && !r.expiredAt(now) && bytes.Equal(r.base, a.base) {
		return ErrReserved
	}

	return r.refuseLines(lines, now)
}

// refuseLines returns the reason why lines cannot be added to the reservation.
func (r record) refuseLines(lines int, now time.Time) error {
	switch {
	case r.Status == Expired, r.expiredAt(now):
		return ErrExpired
	case r.Status != Reserved:
		return fmt.Errorf("%w: %s", ErrClosed, r.Status)
	case len(r.Lines) > maxLines-lines:
		return fmt.Errorf("%w: %d lines beside %d, at most %d", ErrInvalid, lines, len(r.Lines), maxLines)
	}

	return ErrConflict
}

// nameMissing adds the SKUs that lack pieces to the error of a refused transaction. It
// returns any other error as it is.
func nameMissing(err error) error {
	var refused *txn.CanceledError
	if !errors.As(err, &refused) || !errors.Is(refused.Err, ErrOutOfStock) {
		return err
	}

	var skus []string
	for _, failure := range append([]txn.Failure{refused.Failure}, refused.Others...) {
		if sku, ok := strings.CutPrefix(failure.Part, skuPart); ok {
			skus = append(skus, sku)
		}
	}

	return fmt.Errorf("%w: %s", ErrOutOfStock, strings.Join(skus, ", "))
}
