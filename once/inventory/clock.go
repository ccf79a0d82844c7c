package inventory

import (
	"context"
	"time"

	"ratchet/once/txn"
)

// learn makes sure that the clock has heard DynamoDB before an end is compared. It reads the
// order's reservation at most once in the life of the Stock.
func (s *Stock) learn(ctx context.Context, order string) error {
	return s.clock.Learn(ctx, func(ctx context.Context) error {
		_, err := s.get(ctx, orderKey(order))
		return err
	})
}

// eachAttempt calls set before each attempt of a transaction that compares the end of the order's
// reservation, with the time of the attempt.
func (s *Stock) eachAttempt(t *txn.Transaction, order string, set func(now time.Time)) {
	t.EachAttempt(func(ctx context.Context) error {
		if err := s.learn(ctx, order); err != nil {
			return err
		}

		set(s.clock.Now())

		return nil
	})
}
