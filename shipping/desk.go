package shipping

import (
	"context"
	"errors"
	"fmt"

	"ratchet/once"
)

// ErrCancelled: the shipment was cancelled before; the carrier books nothing under
// its key.
var ErrCancelled = errors.New("shipment cancelled")

// Carrier moves parcels. Implementations honour keys: booking a key again returns
// the first tracking number, cancelling a key that is unknown closes it.
type Carrier interface {
	// Book orders a shipment, once per key. ErrCancelled when the key was cancelled.
	Book(ctx context.Context, key, orderID string) (tracking string, err error)
	// Cancel stops the shipment unless it has left. It may be called any number of
	// times, and before Book.
	Cancel(ctx context.Context, key string) error
}

// Effect is the last part of a shipment's effect key, orderId/transitionId/shipping.
const Effect = "shipping"

// Desk books shipments once. Its methods may be called from many goroutines.
type Desk struct {
	claims  *once.Claims
	carrier Carrier
}

// NewDesk returns a desk that claims effects in claims and books with carrier.
func NewDesk(claims *once.Claims, carrier Carrier) *Desk { return &Desk{claims, carrier} }

// cancelled is the stored result of a booking that came after its cancellation.
const cancelled = "cancelled"

// Book books the shipment with the effect key and returns its tracking number.
// once.ErrInProgress means that somebody else is at it: ask again. ErrCancelled is
// final.
func (d *Desk) Book(ctx context.Context, key, orderID string) (string, error) {
	result, _, err := d.claims.Do(ctx, key, []byte(orderID), func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		tracking, err := d.carrier.Book(ctx, key, orderID)
		if errors.Is(err, ErrCancelled) {
			return []byte(cancelled), nil
		}

		return []byte(tracking), err
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("book shipment of order %s: %w", orderID, err)
	case string(result) == cancelled:
		return "", fmt.Errorf("book shipment of order %s: %w", orderID, ErrCancelled)
	}

	return string(result), nil
}

// Cancel stops the shipment with the effect key.
func (d *Desk) Cancel(ctx context.Context, key string) error {
	if err := d.carrier.Cancel(ctx, key); err != nil {
		return fmt.Errorf("cancel shipment %s: %w", key, err)
	}
	return nil
}
