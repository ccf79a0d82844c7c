package transitions_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/transitions"
	"ratchet/workflow"
)

// withoutRetries opens the orders with a client that sends everything once, so that this package
// alone has to resolve unknown outcomes.
func (s *orders) withoutRetries(t *testing.T, attempts int) {
	t.Helper()
	s.DB = dynamodb.New(s.DB.Options(), func(o *dynamodb.Options) { o.Retryer = embeddedtest.NoRetries() })
	s.reconfigure(func(c *transitions.Config) { c.Journal, c.Attempts = s.mode, attempts })
}

// lose loses the answers of the next n writes and counts writes from now on.
func (s *orders) lose(n int) {
	s.Wire.Reset()
	s.Wire.Inject(embeddedtest.LoseAnswer(embeddedtest.Writes()...).Next(n))
}

// writes returns how many writes were sent since the call of lose.
func (s *orders) writes() int { return s.Wire.Count(embeddedtest.Writes()...) }

// TestWorkerPoint30_LostAnswersAreResolvedWithoutRetriesOfTheSDK loses three answers in a row of
// every kind of call. The call is Applied all the same, and a repetition is Replayed.
func TestWorkerPoint30_LostAnswersAreResolvedWithoutRetriesOfTheSDK(t *testing.T) {
	for name, request := range map[string]transitions.Request{"id given": given("o-1", workflow.Pay, 2), "id assigned": keyed("o-1", workflow.Pay, "r")} {
		t.Run(name, func(t *testing.T) {
			inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
				s := newOrders(t)
				s.place(t, "o-1")
				s.withoutRetries(t, 8)

				s.lose(3)

				if r := s.want(t, request, transitions.Applied); s.writes() != 4 || r.Transition.ID != 2 || r.Order.State != workflow.PaymentReceived {
					t.Errorf("%d writes, %+v", s.writes(), r.Order)
				}
				s.want(t, request, transitions.Replayed)
			})
		})
	}

	t.Run("create", func(t *testing.T) {
		inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
			s := newOrders(t)
			s.withoutRetries(t, 8)
			s.lose(3)
			s.place(t, "o-1") // wants Applied

			if s.writes() != 4 {
				t.Errorf("%d writes", s.writes())
			}
		})
	})
	t.Run("edit", func(t *testing.T) {
		inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
			s := newOrders(t)
			s.place(t, "o-1")
			s.withoutRetries(t, 8)

			s.lose(3)

			if r := edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e"), cup)); s.writes() != 4 || r.ContentVersion != 1 || len(r.Order.Items) != 2 {
				t.Errorf("%d writes, %+v", s.writes(), r)
			}
		})
	})
}

// TestLosingEveryAnswerReturnsOutcomeUnknown loses the answers of all attempts.
func TestLosingEveryAnswerReturnsOutcomeUnknown(t *testing.T) {
	inBothModesOnVirtualTime(t, func(t *testing.T, newOrders maker) {
		s := newOrders(t)
		s.place(t, "o-1")
		s.withoutRetries(t, 2)
		s.lose(2)

		if _, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2)); !errors.Is(err, transitions.ErrOutcomeUnknown) || !transitions.Retryable(err) {
			t.Errorf("got %v", err)
		}
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
	})
}

// TestAWriteThatMeetsATransactionIsRetried answers the first writes with
// TransactionConflictException, as DynamoDB does while a transaction changes the order. The
// SDK does not retry it.
func TestAWriteThatMeetsATransactionIsRetried(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	conflicts := s.Wire.Inject(embeddedtest.Answer("TransactionConflictException", moves...).Next(2))
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

	if n := conflicts.Strikes(); n != 2 {
		t.Errorf("%d conflicts, want 2", n)
	}
}

// TestATransactionIsMadeOnceWhenItsTokenHasExpired sends every attempt of a
// transaction with another token, as if ten minutes lay between them. Then only the order
// itself shows that the transaction was made.
func TestATransactionIsMadeOnceWhenItsTokenHasExpired(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.withoutRetries(t, 8)
	s.lose(2)
	token := regexp.MustCompile(`"ClientRequestToken":"[^"]*"`)
	s.Wire.Before(func(c *embeddedtest.Call) error {
		c.SetBody(token.ReplaceAll(c.Body(), fmt.Appendf(nil, `"ClientRequestToken":"%s-%d"`, c.Operation, c.N)))
		return nil
	})

	if r := s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.Applied); s.writes() != 3 || r.Transition.ID != 2 {
		t.Errorf("%d writes, %+v", s.writes(), r.Transition)
	}
	s.want(t, given("o-1", workflow.Ship, 3), transitions.Applied)

	if rows, err := s.History(t.Context(), "o-1", 0, 0); err != nil || len(rows) != 3 {
		t.Errorf("rows %+v, error %v", rows, err)
	}
}

// TestAJournalThatDoesNotAnswerLeavesTheOutcomeUnknown: the order refuses the write, but an
// earlier attempt without an answer may have been made. Only the journal could tell, and it cannot be
// read.
func TestAJournalThatDoesNotAnswerLeavesTheOutcomeUnknown(t *testing.T) {
	s := newOrders(t)
	s.ToAndFro(t, s.Orders, "o-1", 20, 20)
	s.withoutRetries(t, 2)
	s.forgetRequests()
	s.Wire.Inject(embeddedtest.Answer("ServiceUnavailable", "Query"))
	s.lose(1)

	_, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2))
	if !errors.Is(err, transitions.ErrOutcomeUnknown) || !errors.Is(err, transitions.ErrUnavailable) {
		t.Errorf("got %v", err)
	}

	if _, err := s.Apply(t.Context(), keyed("o-1", workflow.Pay, "r")); !errors.Is(err, transitions.ErrUnavailable) || errors.Is(err, transitions.ErrOutcomeUnknown) {
		t.Errorf("no write was sent, so the outcome is known: %v", err)
	}
	s.Wire.Clear()
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
}
