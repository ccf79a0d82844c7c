package shipping

import (
	"context"
	"errors"
	"fmt"
)

// ErrCannotHold means that the carrier cannot hold the shipment, now or ever: its parcel leaves.
var ErrCannotHold = errors.New("the carrier cannot hold the shipment")

// Holder is a [Carrier] that can keep a parcel from leaving for a while.
type Holder interface {
	// Hold keeps the shipment's parcel from leaving (held), or lets it leave again. It may come before
	// Book: the shipment that is booked then is held. at is the transition that asks: a call changes
	// nothing if the carrier has had one with the same or a larger at, so a late call undoes none that
	// was made after it. It reports whether the parcel had left. It returns ErrCannotHold if the carrier
	// cannot hold this shipment.
	Hold(ctx context.Context, key string, at int64, held bool) (left bool, err error)
}

// HoldEffect is the last part of the effect key of a hold, orderId/incarnation/transitionId/hold.
const HoldEffect = "hold"

// HoldAnswer is the carrier's answer to a hold. The texts are stored.
type HoldAnswer string

// The answers to a hold.
const (
	// Held: the parcel does not leave until the hold ends.
	Held HoldAnswer = "held"
	// HadLeft: the parcel had left before.
	HadLeft HoldAnswer = "left"
	// CannotHold: the carrier cannot hold it, and it leaves.
	CannotHold HoldAnswer = "cannot hold"
)

// Hold asks the carrier to hold the newest shipment of the effect key, and returns its answer. It is stored
// under the effect, which is the effect key of the transition that asks: a repeat gets the first answer. A
// carrier that is no [Holder] is not asked, and nothing is stored.
func (b *Booker) Hold(ctx context.Context, key, effect string, at int64) (HoldAnswer, error) {
	holder, can := b.cfg.Carrier.(Holder)
	if !can {
		return CannotHold, nil
	}

	text, _, err := b.cfg.Claims.DoRepeatable(ctx, effect, []byte(key), func(ctx context.Context) ([]byte, error) {
		number, err := b.newest(ctx, key)
		if err != nil {
			return nil, err
		}

		switch left, err := holder.Hold(ctx, Numbered(key, number), at, true); {
		case errors.Is(err, ErrCannotHold):
			return []byte(CannotHold), nil
		case err != nil:
			return nil, err
		case left:
			return []byte(HadLeft), nil
		}

		return []byte(Held), nil
	})
	if err != nil {
		return "", fmt.Errorf("hold shipment %s: %w", key, err)
	}

	return HoldAnswer(text), nil
}

// EndHold lets the parcel of the newest shipment of the effect key leave again. at is the transition that
// has ended the hold. The carrier knows a repeat by it.
func (b *Booker) EndHold(ctx context.Context, key string, at int64) error {
	holder, can := b.cfg.Carrier.(Holder)
	if !can {
		return nil
	}

	number, err := b.newest(ctx, key)
	if err == nil {
		_, err = holder.Hold(ctx, Numbered(key, number), at, false)
	}

	if err != nil && !errors.Is(err, ErrCannotHold) {
		return fmt.Errorf("end the hold of shipment %s: %w", key, err)
	}

	return nil
}

// HoldAnswered returns the stored answer to the hold with the effect key, "" if there is none yet. It asks
// no carrier.
func (b *Booker) HoldAnswered(ctx context.Context, key, effect string) (HoldAnswer, error) {
	if _, can := b.cfg.Carrier.(Holder); !can {
		return CannotHold, nil
	}

	text, _, err := b.cfg.Claims.DoRepeatable(ctx, effect, []byte(key), func(context.Context) ([]byte, error) {
		return nil, errNothingBooked
	})
	if errors.Is(err, errNothingBooked) {
		return "", nil
	}

	return HoldAnswer(text), err
}
