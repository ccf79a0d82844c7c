package inventory

import (
	"fmt"
	"time"

	"ratchet/once/txn"
)

// ReserveIn is [Stock.ReserveUntil] as parts of a transaction that the caller writes, for an
// order that is placed together with its reservation: 1 part, 1 for each SKU, and 1 more if
// the reservation has an end. ReserveIn reads and sends nothing. The function that it returns
// adds the parts, once.
//
// The transaction is refused with ErrOutOfStock, ErrClosed, ErrConflict or ErrInvalid as
// ReserveUntil would be. It is also refused with ErrReserved if the order has reserved these
// lines before, and with ErrExpired if its reservation has expired: the parts cannot extend or
// replace a reservation. Call ReserveUntil then. An end that has passed is refused with ErrInvalid by the
// transaction, after what its marker has to say.
func (s *Stock) ReserveIn(order string, lines []Line, until time.Time) (func(*txn.Transaction), error) {
	lines, err := checkReservation(order, lines)
	if err != nil {
		return nil, fmt.Errorf("reserve for order %s: %w", order, err)
	}

	return func(t *txn.Transaction) {
		s.addParts(t, order, lines, addition{until: until, base: digest(lines)})
	}, nil
}
