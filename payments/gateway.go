package payments

import (
	"context"
	"errors"
)

// What a gateway answers when it does not charge.
var (
	// ErrDeclined: the payment was refused for good; asking again changes nothing.
	ErrDeclined = errors.New("payment declined")
	// ErrTimeout: no answer in time; the charge may or may not have been made. Ask
	// again under the same key.
	ErrTimeout = errors.New("payment gateway timed out")
	// ErrVoided: the payment was voided before; nothing will be charged under its key.
	ErrVoided = errors.New("payment voided")
	// ErrConflict: the key was used for another order or amount.
	ErrConflict = errors.New("payment key used with another amount")
)

// Charge asks for money. Amount is in minor units of Currency (ISO 4217), above 0.
type Charge struct {
	Key      string
	OrderID  string
	Amount   int64
	Currency string
}

// Gateway moves money. Implementations honour keys as the package describes.
type Gateway interface {
	// Charge takes the money once per key and returns the gateway's id of the charge.
	Charge(ctx context.Context, c Charge) (chargeID string, err error)
	// Void returns what was charged under the key, if anything was, and closes the
	// key. It may be called any number of times.
	Void(ctx context.Context, key string) error
}
