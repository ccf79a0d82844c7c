package shipping

import (
	"context"
	"errors"
	"fmt"

	"ratchet/internal/ids"
	"ratchet/once"
)

// ErrCanceled means that the shipment was canceled before. The carrier books nothing under
// its key.
var ErrCanceled = errors.New("shipment canceled")

// ErrCanceledByCarrier means that the carrier has canceled the shipment, and no call of [Booker.Cancel]
// has. A person has to decide: cancel the order, or book again ([Booker.BookAgain]).
var ErrCanceledByCarrier = errors.New("the carrier has canceled the shipment, and nobody here has")

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

// Effect is the last part of a shipment's effect key, orderId/incarnation/transitionId/shipping.
const Effect = "shipping"

// Config configures a [Booker].
type Config struct {
	// Claims stores which shipments were booked. Required.
	Claims *once.Claims
	// Carrier is required.
	Carrier Carrier
	// Numbers makes [Booker.BookAgain] possible. Optional.
	Numbers Numbers
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
// first tracking number. Book returns ErrCanceled, for good, if the shipment was canceled by Cancel, and
// ErrCanceledByCarrier if the carrier says that it is canceled and nothing was booked again. The latter is
// not stored, so that a later call asks the carrier again. A call costs one read and one write. Callers at
// the same moment may all ask the carrier, which books once per key.
func (b *Booker) Book(ctx context.Context, key, orderID string) (tracking string, err error) {
	tracking, err = b.bookOne(ctx, key, orderID)
	if errors.Is(err, ErrCanceledByCarrier) {
		number, fault := b.newest(ctx, key)

		switch {
		case fault != nil:
			err = fault
		case number > 1:
			tracking, err = b.bookOne(ctx, Numbered(key, number), orderID)
		}
	}

	if err != nil {
		return "", fmt.Errorf("book shipment of order %s: %w", orderID, err)
	}

	return tracking, nil
}

// bookOne books the shipment with the key, which may have a number.
func (b *Booker) bookOne(ctx context.Context, key, orderID string) (tracking string, err error) {
	booked := false

	var answer error // the carrier's error

	text, _, err := b.cfg.Claims.DoRepeatable(ctx, key, []byte(orderID), func(ctx context.Context) ([]byte, error) {
		tracking, err := b.cfg.Carrier.Book(ctx, key, orderID)
		if answer = err; err != nil {
			return nil, err
		}

		booked = true

		return result{Tracking: &tracking}.encode()
	})
	if errors.Is(err, ErrCanceled) {
		return b.afterCanceled(ctx, key, orderID, answer)
	}

	if err != nil {
		return "", err
	}

	stored, err := decodeResult(text)
	if err != nil {
		return "", err
	}

	if stored.Canceled && booked {
		// A call of Cancel closed the claim while the carrier was booking. If its own request reached the
		// carrier before the booking, the booking may stand. So the carrier is asked to cancel once more.
		if _, err := b.cfg.Carrier.Cancel(ctx, key); err != nil {
			return "", fmt.Errorf("cancel it, because it was canceled meanwhile: %w", err)
		}
	}

	if stored.Canceled {
		return "", ErrCanceled
	}

	return *stored.Tracking, nil
}

// afterCanceled says who has canceled the shipment of which the carrier says, in answer, that it is canceled. Cancel
// closes the claim before it asks the carrier, so an open claim means that Cancel has not.
func (b *Booker) afterCanceled(ctx context.Context, key, orderID string, answer error) (tracking string, err error) {
	stored, found, err := b.lookUp(ctx, key, orderID)
	switch {
	case err != nil:
		return "", err
	case !found:
		// The answer says why. It is no ErrCanceled here, because that means that Cancel has canceled.
		return "", fmt.Errorf("%w: %v", ErrCanceledByCarrier, answer) //nolint:errorlint // see above
	case stored.Canceled:
		return "", ErrCanceled
	}

	return *stored.Tracking, nil // another caller has booked it
}

// Booked reports whether a booking of the effect key's newest shipment is stored. It asks no carrier.
func (b *Booker) Booked(ctx context.Context, key, orderID string) (bool, error) {
	number, err := b.newest(ctx, key)
	if err != nil {
		return false, err
	}
	stored, found, err := b.lookUp(ctx, Numbered(key, number), orderID)

	return found && !stored.Canceled, err
}

// lookUp returns what is stored of the shipment. It writes nothing.
func (b *Booker) lookUp(ctx context.Context, key, orderID string) (stored result, found bool, err error) {
	text, _, err := b.cfg.Claims.DoRepeatable(ctx, key, []byte(orderID), func(context.Context) ([]byte, error) {
		return nil, errNothingBooked
	})
	if errors.Is(err, errNothingBooked) {
		return result{}, false, nil
	}

	if err == nil {
		stored, err = decodeResult(text)
	}

	return stored, err == nil, err
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
		case errors.Is(err, ErrUnknownShipment), err == nil && shipment.Status == Canceled:
			return nil, errNothingBooked
		case err != nil:
			return nil, err
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

// Cancel stops the shipment with the effect key, and those that were booked again under it, and reports
// whether a parcel had left. If no booking is stored, Cancel first closes the claim: a later Book then
// returns ErrCanceled without asking the carrier, and a Book that runs at the same time cancels its booking
// when it ends. The order must have ended before: from then on nothing is booked again.
func (b *Booker) Cancel(ctx context.Context, key string) (left bool, err error) {
	number, err := b.newest(ctx, key)
	if err != nil {
		return false, fmt.Errorf("cancel shipment %s: %w", key, err)
	}

	for n := range number {
		gone, err := b.cancelOne(ctx, Numbered(key, n+1))
		if err != nil {
			return false, err
		}
		left = left || gone
	}

	return left, err
}

// cancelOne stops the shipment with the key, which may have a number.
func (b *Booker) cancelOne(ctx context.Context, key string) (left bool, err error) {
	// The same payload as in Book: a claim with another payload would be a mismatch.
	orderID, _, ofOrder := ids.Cut(key)
	if !ofOrder {
		return false, fmt.Errorf("cancel shipment %s: it is no effect key", key)
	}

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
