package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Adjust makes the order's reservation hold exactly the lines, without an end, whatever it held
// before: it reserves missing pieces and gives superfluous pieces back, in one transaction. If
// more than maxLines SKUs change, it gives back first and reserves in a second transaction. A
// repeat changes nothing and returns nil. The list of lines may be empty: then everything is given
// back, and the order may reserve again. The pieces of a reservation that has expired are given back
// first, so they may be missing then.
//
// The functions add parts to each transaction, like a check that the order still has these
// lines. If such a part refuses, the transaction changes nothing, and the error is the error of
// the part. The functions are not called if the reservation holds the lines already.
//
// Adjust returns ErrClosed if the reservation has been released or committed, and ErrOutOfStock,
// which names the SKUs, if pieces are missing. It takes one read unit, and 2+2n write units if n
// SKUs change; one read unit and 2 write units more for a second transaction.
func (s *Stock) Adjust(ctx context.Context, order string, lines []Line, with ...func(*txn.Transaction)) error {
	if err := s.adjust(ctx, order, lines, with); err != nil {
		return fmt.Errorf("adjust the reservation of order %s: %w", order, err)
	}

	return nil
}

// Covers reports whether Adjust would write nothing. One read unit.
func (s *Stock) Covers(ctx context.Context, order string, lines []Line) (bool, error) {
	r, err := s.read(ctx, order)
	if err != nil {
		return false, err
	}

	// Adjust gives expired pieces back first.
	if r.expiredAt(s.clock.Now()) {
		return false, nil
	}

	_, done, err := r.changesTo(lines)

	return done && err == nil, nil // Adjust refuses a closed reservation
}

func (s *Stock) adjust(ctx context.Context, order string, lines []Line, with []func(*txn.Transaction)) error {
	err := checkOrder(order)
	if err == nil && len(lines) > 0 {
		lines, err = checkLines(lines)
	}

	if err != nil {
		return err
	}

	for range changeAttempts {
		if more, err := s.adjustOnce(ctx, order, lines, with); !more || err != nil {
			return err
		}
	}

	return txn.ErrContended
}

// adjustOnce writes one transaction that gives the reservation the lines. If that would change too
// many SKUs, it only gives superfluous pieces back, and more is true. It is also true after a
// reservation that has expired was ended, as a sweep would have done.
func (s *Stock) adjustOnce(ctx context.Context, order string, lines []Line, with []func(*txn.Transaction)) (more bool, err error) {
	err = s.change(ctx, order, nil, func(seen record) (*txn.Transaction, error) {
		if more = seen.expiredAt(s.clock.Now()); more {
			return s.endTransaction(order, expiry(0), seen), nil
		}

		moves, done, err := seen.changesTo(lines)
		if done || err != nil {
			return nil, err
		}

		want := lines
		if more = len(moves) > maxLines; more {
			// The pieces in both lists stay, so this transaction reserves nothing.
			want = shared(seen.Lines, lines)
			moves = changes(seen.Lines, want)
		}

		return s.adjustment(order, want, seen, moves, with), nil
	})

	return more, err
}

// changesTo returns by how many pieces each SKU changes so that the reservation holds the
// lines, and whether it holds them already, without an end.
func (r Reservation) changesTo(lines []Line) (moves []Line, done bool, err error) {
	var held []Line

	switch r.Status {
	case Reserved:
		held = r.Lines
	case Committed, Released:
		return nil, false, fmt.Errorf("%w: %s", ErrClosed, r.Status)
	}
	moves = changes(held, lines)

	return moves, len(moves) == 0 && r.ExpiresAt.IsZero(), nil
}

// adjustment returns the transaction that gives the reservation, as it was seen, the lines.
func (s *Stock) adjustment(order string, lines []Line, seen record, moves []Line, with []func(*txn.Transaction)) *txn.Transaction {
	update := dynamo.NewUpdate(s.cfg.Table, orderKey(order)).
		Set("#status = :reserved").
		Bind(":reserved", dynamo.S(string(Reserved))).
		Set("version = :next").
		Bind(":next", dynamo.N(seen.version+1)).
		Set("#lines = :lines").
		Bind(":lines", linesValue(lines)).
		// From now on a Reserve with these lines is a repeat.
		Set("#base = :base").
		Bind(":base", dynamo.B(digest(lines))).
		Remove("expiresAt")

	if seen.Status == "" {
		update.If("attribute_not_exists(sku)")
	} else {
		update.If("#status = :from AND version = :version").
			Bind(":from", dynamo.S(string(seen.Status))).
			Bind(":version", dynamo.N(seen.version))
	}

	var t txn.Transaction

	if !seen.ExpiresAt.IsZero() {
		update.If("expiresAt > :now")
		s.eachAttempt(&t, order, func(now time.Time) { update.Bind(":now", dynamo.Millis(now)) })
	}

	t.Marker(reservationPart, types.TransactWriteItem{Update: update.Part()})

	// Before the stock: whether pieces are missing for lines that the caller does not want any more does
	// not matter.
	for _, add := range with {
		add(&t)
	}

	for _, l := range moves {
		// Pieces that are given back must be there, unless another program has changed the counters.
		from, to, refusal := available, reserved, ErrOutOfStock
		if l.Quantity < 0 {
			l.Quantity = -l.Quantity
			from, to, refusal = reserved, available, errShort
		}

		t.Add(skuPart+l.SKU, s.move(l, from, to), short(refusal))
	}

	return &t
}

// changes returns by how many pieces each SKU differs: positive where want has more.
func changes(have, want []Line) []Line {
	var difference []Line

	difference = append(difference, want...)
	for _, l := range have {
		difference = append(difference, Line{SKU: l.SKU, Quantity: -l.Quantity})
	}

	return slices.DeleteFunc(sumBySKU(difference), func(l Line) bool { return l.Quantity == 0 })
}

// shared returns the pieces that are in both lists, one line per SKU.
func shared(a, b []Line) (both []Line) {
	other := sumBySKU(b)

	for _, l := range sumBySKU(a) {
		if i := slices.IndexFunc(other, func(o Line) bool { return o.SKU == l.SKU }); i >= 0 {
			both = append(both, Line{SKU: l.SKU, Quantity: min(l.Quantity, other[i].Quantity)})
		}
	}

	return both
}
