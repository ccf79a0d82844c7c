package jobs

import (
	"context"
	"errors"
	"slices"

	"ratchet/operate/erasure"
	"ratchet/transitions"
)

// Erasures is the work of [EraseOrders].
type Erasures struct {
	Ended  erasure.Ended
	Eraser *erasure.Eraser
}

// codeNotErasable: the order has not ended, or work about it waits.
const codeNotErasable = "not_erasable"

// Select implements [Work].
func (w Erasures) Select(ctx context.Context, j Job, found func(Subject) error) error {
	return w.Ended.Before(ctx, j.Tenant, j.Filter.EndedBefore, func(order *transitions.Order, err error) error {
		if err != nil {
			return found(Subject{ID: string(order.ID), Code: codeNotErasable})
		}

		return w.check(ctx, order, found)
	})
}

func (w Erasures) check(ctx context.Context, order *transitions.Order, found func(Subject) error) error {
	code, err := codeOfErasure(w.Eraser.Check(ctx, order))
	if err != nil {
		return err
	}

	s := Subject{ID: string(order.ID), Mark: string(order.Incarnation)}
	if code != codeDone {
		s.Code = code
	}

	return found(s)
}

// Look implements [Work].
func (w Erasures) Look(ctx context.Context, j Job, id string) (s Subject, err error) {
	order, exists, err := w.Ended.Orders.Get(ctx, transitions.OrderID(id))

	code, err := codeOfErasure(err)
	switch {
	case err != nil:
		return Subject{}, err
	case code != codeDone:
		return Subject{ID: id, Code: code}, nil
	case !exists || !isOf(j.Tenant, id):
		return Subject{ID: id, Code: codeGone}, nil
	}

	err = w.check(ctx, order, func(found Subject) error {
		s = found
		return nil
	})

	return s, err
}

// Act implements [Work].
func (w Erasures) Act(ctx context.Context, j Job, s Subject) (code string, err error) {
	_, err = w.Eraser.EraseIf(ctx, transitions.OrderID(s.ID), func(order *transitions.Order) error {
		seen := order.ID.Life(transitions.Incarnation(s.Mark))

		switch {
		// The order that was selected is gone, and another one has its id. One that was renewed is still the same.
		case s.Mark != "" && !slices.Contains(order.LifeIDs(), seen):
			return transitions.ErrUnknownOrder
		case j.Filter.EndedBefore.IsZero() || !order.ErasedAt.IsZero():
			return nil
		}

		// It may have moved and ended again since.
		ended, err := erasure.EndedBefore(order, j.Filter.EndedBefore)
		if err == nil && !ended {
			err = transitions.ErrNotEnded
		}

		return err
	})

	return codeOfErasure(err)
}

func codeOfErasure(err error) (code string, unexpected error) {
	if err == nil {
		return codeDone, nil
	}

	if errors.Is(err, transitions.ErrUnknownOrder) {
		return codeGone, nil
	}

	if erasure.Keeps(err) {
		return codeNotErasable, nil
	}

	return "", err
}
