package shipping

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Errors of [Booker.BookAgain].
var (
	// ErrNotCanceled means that the carrier does not say that the shipment is canceled, so no other one
	// may take its place.
	ErrNotCanceled = errors.New("the carrier has not canceled the shipment")
	// ErrNumberTaken is returned by Numbers.Advance if another call has taken the number.
	ErrNumberTaken = errors.New("the shipment's number is taken")
)

// Numbers stores how often a shipment was booked again.
type Numbers interface {
	// Newest returns the number of the newest shipment of the effect key, at least 1.
	Newest(ctx context.Context, key string) (int, error)
	// Advance makes number the newest, on the condition that the one before it is the newest and that the
	// order still is to be shipped. It returns ErrNumberTaken if the number was taken before.
	Advance(ctx context.Context, key string, number int) error
}

// Numbered returns the key of the shipment with the number: the effect key itself for 1, with the number
// as a last part for those that were booked again.
func Numbered(key string, number int) string {
	if number <= 1 {
		return key
	}

	return key + "/" + strconv.Itoa(number)
}

// Unnumbered returns the effect key of a shipment's key.
func Unnumbered(key string) string {
	if i := strings.LastIndex(key, "/"+Effect+"/"); i >= 0 {
		return key[:i+1+len(Effect)]
	}

	return key
}

// IsEffect reports whether the last parts of a key, from the effect on, are those of a shipment.
func IsEffect(effect string) bool {
	number, err := strconv.Atoi(strings.TrimPrefix(effect, Effect+"/"))

	return effect == Effect || err == nil && number > 1 && effect == Numbered(Effect, number)
}

// newest returns the number of the newest shipment of the effect key.
func (b *Booker) newest(ctx context.Context, key string) (int, error) {
	if b.cfg.Numbers == nil {
		return 1, nil
	}

	return b.cfg.Numbers.Newest(ctx, key)
}

// BookAgain books another shipment in the place of one that the carrier has canceled, under the effect key
// and the next number, and returns its tracking number. A carrier that can be asked must say that the
// shipment is canceled, else the answer is ErrNotCanceled. Another carrier is asked to cancel it, which
// closes its key. If an earlier call has taken the number and has not booked, BookAgain books under that
// number. It returns ErrCanceled if the order's shipment was canceled by [Booker.Cancel].
func (b *Booker) BookAgain(ctx context.Context, key, orderID string) (tracking string, err error) {
	if b.cfg.Numbers == nil {
		return "", errors.New("shipping: Config.Numbers: must be set to book again")
	}

	tracking, err = b.bookAgain(ctx, key, orderID)
	if err != nil {
		err = fmt.Errorf("book shipment of order %s again: %w", orderID, err)
	}

	return tracking, err
}

func (b *Booker) bookAgain(ctx context.Context, key, orderID string) (tracking string, err error) {
	number, err := b.cfg.Numbers.Newest(ctx, key)
	if err != nil {
		return "", err
	}
	last := Numbered(key, number)

	stored, found, err := b.lookUp(ctx, last, orderID)
	switch {
	case err != nil:
		return "", err
	case stored.Canceled:
		return "", ErrCanceled
	case !found && number > 1:
		// An earlier call has taken this number and may not have booked.
		if tracking, err = b.bookOne(ctx, last, orderID); !errors.Is(err, ErrCanceledByCarrier) {
			return tracking, err
		}
	}

	if err := b.confirmCanceled(ctx, last); err != nil {
		return "", err
	}

	// Another call that has taken the number books under the same key.
	if err := b.cfg.Numbers.Advance(ctx, key, number+1); err != nil && !errors.Is(err, ErrNumberTaken) {
		return "", err
	}

	return b.bookOne(ctx, Numbered(key, number+1), orderID)
}

// confirmCanceled returns nil if the carrier says that the shipment is canceled.
func (b *Booker) confirmCanceled(ctx context.Context, key string) error {
	if asker, can := b.cfg.Carrier.(Asker); can {
		shipment, err := asker.Get(ctx, key)

		switch {
		case err == nil && shipment.Status == Canceled:
			return nil
		case err == nil:
			return fmt.Errorf("%w: it says that it is %q", ErrNotCanceled, shipment.Status)
		case !errors.Is(err, ErrUnknownShipment):
			return err
		}
	}

	// Cancel closes the key, so that nothing is booked under it any more.
	switch left, err := b.cfg.Carrier.Cancel(ctx, key); {
	case err != nil:
		return err
	case left:
		return fmt.Errorf("%w: the parcel has left", ErrNotCanceled)
	}

	return nil
}
