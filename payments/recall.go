package payments

import (
	"context"
	"errors"
	"fmt"
)

// Recall opens a payment again that the processor has made and the tables lack, because they were restored to an
// earlier time. It asks the processor for the keys of the payment's charge and authorization, and takes no money:
// if one of them has succeeded, the payment is opened by a repeat of it, which the processor answers with
// what it did. It reports whether there is such a payment. With look, nothing is written.
//
// Recall returns ErrVoided if the processor has given the money back, and ErrConflict if it has taken
// another amount. A payment that is in the table is not looked at.
func (s *Payments) Recall(ctx context.Context, n NewPayment, look bool) (found bool, err error) {
	if err := n.Validate(); err != nil {
		return false, fmt.Errorf("recall: %w", err)
	}

	switch _, err := s.Get(ctx, n.ID); {
	case err == nil:
		return false, nil
	case !errors.Is(err, ErrUnknownPayment):
		return false, err
	}

	p := Payment{NewPayment: n}

	for _, kind := range []Kind{Charging, authorizing} {
		op, err := s.cfg.Processor.Lookup(ctx, p.key(string(kind)))
		switch {
		case err != nil:
			return false, fmt.Errorf("recall payment %s: ask the processor: %w", n.ID, err)
		case op.Status == OperationVoided:
			return false, fmt.Errorf("recall payment %s: the processor has given it back: %w", n.ID, ErrVoided)
		case op.Status != OperationSucceeded:
			continue
		case op.Amount != n.Amount || op.Currency != n.Currency:
			return false, fmt.Errorf("recall payment %s: the processor has taken %d %s, and not %d %s: %w", n.ID, op.Amount, op.Currency, n.Amount, n.Currency, ErrConflict)
		case look:
			return true, nil
		}

		_, err = s.start(ctx, n, kind)

		return err == nil, err
	}

	return false, nil
}
