package shipping

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ratchet/once"
)

// ErrCanceled means that the shipment was canceled before. The carrier books nothing under
// its key.
var ErrCanceled = errors.New("shipment canceled")

// ErrRefused means that the carrier refuses the shipment for good: no repeat changes its answer, and a
// person has to look.
var ErrRefused = errors.New("the carrier refuses the shipment")

// Carrier moves parcels. It must act once per key.
type Carrier interface {
	// Book orders a shipment and returns its tracking number. A repeat returns the first
	// tracking number. It returns ErrCanceled if the key was canceled.
	Book(ctx context.Context, key, orderID string) (tracking string, err error)
	// Cancel stops the shipment unless it has left, and closes the key: a later Book returns ErrCanceled.
	// It may be called any number of times, also before Book. It reports whether the parcel had left.
	Cancel(ctx context.Context, key string) (left bool, err error)
}

// Effect is the last part of a shipment's effect key, orderId/transitionId/shipping.
const Effect = "shipping"

// Config configures a [Booker].
type Config struct {
	// Claims stores which shipments were booked. Required.
	Claims *once.Claims
	// Carrier is required.
	Carrier Carrier
}

func (c Config) check() error {
	var faults []error
	if c.Claims == nil {
		faults = append(faults, errors.New("shipping: Config.Claims: must be set"))
	}

	if c.Carrier == nil {
		faults = append(faults, errors.New("shipping: Config.Carrier: must be set"))
	}

	return errors.Join(faults...)
}

// Booker books shipments once. It is safe for concurrent use.
type Booker struct{ cfg Config }

// New returns a Booker. The error names every field that breaks a rule.
func New(cfg Config) (*Booker, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Booker{cfg}, nil
}

// Book books the shipment with the effect key and returns its tracking number. A repeat returns the
// first tracking number. Book returns ErrCanceled, for good, if the shipment was canceled. A call
// costs one read and one write. Callers at the same moment may all ask the carrier, which books once
// per key.
func (b *Booker) Book(ctx context.Context, key, orderID string) (tracking string, err error) {
	booked := false

	text, _, err := b.cfg.Claims.DoRepeatable(ctx, key, []byte(orderID), func(ctx context.Context) ([]byte, error) {
		tracking, err := b.cfg.Carrier.Book(ctx, key, orderID)
		if errors.Is(err, ErrCanceled) {
			// Stored as the result, so that a repeat need not ask the carrier again.
			return result{Canceled: true}.encode()
		}

		if err != nil {
			return nil, err
		}

		booked = true

		return result{Tracking: &tracking}.encode()
	})
	if err != nil {
		return "", fmt.Errorf("book shipment of order %s: %w", orderID, err)
	}

	stored, err := decodeResult(text)
	if err != nil {
		return "", fmt.Errorf("book shipment of order %s: %w", orderID, err)
	}

	if stored.Canceled && booked {
		// A call of Cancel closed the claim while the carrier was booking. If its own request reached the
		// carrier before the booking, the booking may stand. So the carrier is asked to cancel once more.
		if _, err := b.cfg.Carrier.Cancel(ctx, key); err != nil {
			return "", fmt.Errorf("book shipment of order %s: cancel it, because it was canceled meanwhile: %w", orderID, err)
		}
	}

	if stored.Canceled {
		return "", fmt.Errorf("book shipment of order %s: %w", orderID, ErrCanceled)
	}

	return *stored.Tracking, nil
}

// errNothingBooked ends the claim's work without a result: the carrier has no shipment under the key.
var errNothingBooked = errors.New("nothing is booked")

// Recover finds a booking that is not stored: an earlier call of Book failed after the carrier had
// booked and before the claim was written. Recover asks the carrier and stores the answer. It reports
// whether there is a booking. It books nothing, so a caller that no longer wants a shipment can use it.
// If the carrier is no [Asker], Recover finds only a stored booking.
func (b *Booker) Recover(ctx context.Context, key, orderID string) (booked bool, err error) {
	text, _, err := b.cfg.Claims.DoRepeatable(ctx, key, []byte(orderID), func(ctx context.Context) ([]byte, error) {
		asker, can := b.cfg.Carrier.(Asker)
		if !can {
			return nil, errNothingBooked
		}

		shipment, err := asker.Get(ctx, key)
		switch {
		case errors.Is(err, ErrUnknownShipment):
			return nil, errNothingBooked
		case err != nil:
			return nil, err
		case shipment.Status == Canceled:
			return result{Canceled: true}.encode()
		}

		return result{Tracking: &shipment.Tracking}.encode()
	})
	if errors.Is(err, errNothingBooked) {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("recover the shipment of order %s: %w", orderID, err)
	}

	stored, err := decodeResult(text)
	if err != nil {
		return false, fmt.Errorf("recover the shipment of order %s: %w", orderID, err)
	}

	return !stored.Canceled, nil
}

// Cancel stops the shipment with the effect key and reports whether the parcel had left. If no booking
// is stored, Cancel first closes the claim: a later Book then returns ErrCanceled without asking the
// carrier, and a Book that runs at the same time cancels its booking when it ends.
func (b *Booker) Cancel(ctx context.Context, key string) (left bool, err error) {
	// The same payload as in Book: a claim with another payload would be a mismatch.
	orderID, _, _ := strings.Cut(key, "/")

	_, _, err = b.cfg.Claims.DoRepeatable(ctx, key, []byte(orderID), func(context.Context) ([]byte, error) {
		return result{Canceled: true}.encode()
	})
	if err != nil {
		return false, fmt.Errorf("cancel shipment %s: close its claim: %w", key, err)
	}

	// The carrier is asked in any case: the shipment may be booked, or a call of Book may have sent a
	// booking that has not arrived yet.
	if left, err = b.cfg.Carrier.Cancel(ctx, key); err != nil {
		return false, fmt.Errorf("cancel shipment %s: %w", key, err)
	}

	return left, nil
}
