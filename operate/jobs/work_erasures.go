package jobs

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/operate/erasure"
	"ratchet/transitions"
)

// Erasures is the work of [EraseOrders].
type Erasures struct {
	Orders *transitions.Orders
	Eraser *erasure.Eraser
}

// CodeNotErasable: the order has not ended, or work about it waits.
const CodeNotErasable = "not_erasable"

// Select implements [Work]. It scans the table of the orders.
func (w Erasures) Select(ctx context.Context, j Job, found func(Subject) error) error {
	filter := "attribute_not_exists(erasedAt)"
	in := dynamodb.ScanInput{FilterExpression: &filter}

	return w.Orders.Scan(ctx, transitions.Sweep{Segments: 1}, in, func(ctx context.Context, order *transitions.Order, err error) error {
		switch {
		// An order that cannot be read still has its id and its state.
		case !isOf(j.Tenant, string(order.ID)), !w.Orders.Definition().Terminal(order.State):
			return nil
		case err == nil && (!order.ErasedAt.IsZero() || !order.EnteredAt().Before(j.Filter.EndedBefore)):
			return nil
		case err != nil:
			return found(Subject{ID: string(order.ID), Code: CodeNotErasable})
		}

		return w.check(ctx, order, found)
	})
}

func (w Erasures) check(ctx context.Context, order *transitions.Order, found func(Subject) error) error {
	code, err := codeOfErasure(w.Eraser.Check(ctx, order))
	if err != nil {
		return err
	}

	s := Subject{ID: string(order.ID)}
	if code != CodeDone {
		s.Code = code
	}

	return found(s)
}

// Look implements [Work].
func (w Erasures) Look(ctx context.Context, j Job, id string) (s Subject, err error) {
	order, exists, err := w.Orders.Get(ctx, transitions.OrderID(id))

	code, err := codeOfErasure(err)
	switch {
	case err != nil:
		return Subject{}, err
	case code != CodeDone:
		return Subject{ID: id, Code: code}, nil
	case !exists || !isOf(j.Tenant, id):
		return Subject{ID: id, Code: CodeGone}, nil
	}

	err = w.check(ctx, order, func(found Subject) error {
		s = found
		return nil
	})

	return s, err
}

// Act implements [Work].
func (w Erasures) Act(ctx context.Context, _ Job, s Subject) (code string, err error) {
	_, err = w.Eraser.Erase(ctx, transitions.OrderID(s.ID))

	return codeOfErasure(err)
}

func codeOfErasure(err error) (code string, unexpected error) {
	if err == nil {
		return CodeDone, nil
	}

	if errors.Is(err, transitions.ErrUnknownOrder) {
		return CodeGone, nil
	}

	if erasure.Keeps(err) {
		return CodeNotErasable, nil
	}

	return "", err
}
