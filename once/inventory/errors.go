package inventory

import (
	"errors"
	"fmt"
)

// Errors of the steps of a reservation. Nothing was written.
var (
	// ErrOutOfStock means that a SKU has fewer available pieces than were asked for, or
	// does not exist. The text names the SKUs.
	ErrOutOfStock = errors.New("out of stock")
	// ErrClosed means that the order's reservation has been released or committed before.
	ErrClosed = errors.New("the order's reservation is closed")
	// ErrExpired means that the order's reservation expired before it was committed. It
	// wraps ErrClosed, but the order may reserve again.
	ErrExpired = fmt.Errorf("%w: it has expired", ErrClosed)
	// ErrReserved means that the order has reserved the same lines before. Only the parts of
	// [Stock.ReserveIn] are refused with it.
	ErrReserved = errors.New("the order has reserved the lines before")
	// ErrInvalid means that an argument breaks a rule. The text names both.
	ErrInvalid = errors.New("invalid reservation")
	// ErrConflict means that the order has reserved other lines before, or the same lines
	// until later. It wraps ErrInvalid, because it is a bug of the caller.
	ErrConflict = fmt.Errorf("%w: the order has reserved other lines, or until later", ErrInvalid)
)

// errUnreadable means that the item of a reservation, or of a SKU, was not written by this package.
var errUnreadable = errors.New("the stored item cannot be read")
