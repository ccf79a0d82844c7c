package reactions

import (
	"context"
	"errors"
	"fmt"

	"ratchet/payments"
	"ratchet/streams"
)

// captureStep is the id of the step that captures an order's payment when the order is
// shipped. It is stored and never changes.
const captureStep = "shipped"

// capture takes the money that was authorized for a shipped order. There is nothing to capture if
// the order costs nothing, was charged at once, or was paid elsewhere. An order that was paid
// elsewhere has no payment, or a canceled one.
//
// The parcel has left, so a capture that can never succeed becomes a dead letter, and a person
// decides.
func (r *Reactions) capture(ctx context.Context, c change) error {
	if err := c.New.Readable("total"); err != nil {
		return streams.Permanent(err)
	}

	if c.New.Total.Amount == 0 {
		return nil
	}

	id, err := r.cfg.Payments.OfOrder(ctx, c.New.LifeIDs())
	if err != nil {
		return err
	}

	p, err := r.cfg.Payments.Capture(ctx, id, payments.StepRequest{
		ID:     captureStep,
		Amount: c.New.Total.Amount,
		Final:  true,
	})

	switch {
	case errors.Is(err, payments.ErrUnknownPayment):
		return nil
	// Charged at once, or canceled because it was paid elsewhere: no step is pending and nothing is left to take.
	case err != nil && p.Pending == nil && (p.Canceled || p.Captured >= c.New.Total.Amount):
		return nil
	case captureIsRefused(err):
		return streams.Permanent(fmt.Errorf("order %s is shipped, and its payment cannot be captured: %w", c.New.ID, err))
	}

	return err
}

// captureIsRefused reports whether err means that no repeat of the capture can succeed.
func captureIsRefused(err error) bool {
	for _, final := range []error{
		payments.ErrDeclined, payments.ErrExpired, payments.ErrState, payments.ErrExceeded,
		payments.ErrVoided, payments.ErrConflict, payments.ErrInvalid,
	} {
		if errors.Is(err, final) {
			return true
		}
	}

	return false
}
