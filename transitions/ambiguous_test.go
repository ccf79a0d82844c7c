package transitions_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/transitions"
	"ratchet/workflow"
)

// withoutRetries gives the shop a client that sends everything once, so that settling
// an outcome is up to this package alone.
func (s *shop) withoutRetries(t *testing.T, attempts int) {
	t.Helper()
	s.db = dynamodb.New(s.db.Options(), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	s.reconfigure(t, func(c *transitions.Config) { c.Journal, c.Attempts = s.mode, attempts })
}

// lose drops the first n answers of writes that were made, and counts the writes.
func (s *shop) lose(n int) (sent *int) {
	sent = new(int)
	s.wire.after = func(r *http.Request, response *http.Response) (*http.Response, error) {
		target := r.Header.Get("X-Amz-Target")
		if !moves(r) && !strings.HasSuffix(target, ".PutItem") {
			return response, nil
		}

		if *sent++; *sent <= n {
			_ = response.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}

		return response, nil
	}

	return sent
}

// TestLostAnswersAreSettledWithoutTheSDK loses three answers in a row of every kind of
// call. The caller learns that it was the one, and the next one that it was.
func TestLostAnswersAreSettledWithoutTheSDK(t *testing.T) {
	inBothModes(t, func(t *testing.T, newShop maker) {
		for name, request := range map[string]transitions.Request{"id given": given("o-1", workflow.Pay, 2), "id assigned": keyed("o-1", workflow.Pay, "r")} {
			t.Run(name, func(t *testing.T) {
				s := newShop(t)
				s.place(t, "o-1")
				s.withoutRetries(t, 8)

				sent := s.lose(3)
				if r := s.want(t, request, transitions.Applied); *sent != 4 || r.Transition.ID != 2 || r.Order.State != workflow.PaymentReceived {
					t.Errorf("%d writes, %+v", *sent, r.Order)
				}
				s.want(t, request, transitions.Replayed)
			})
		}
		t.Run("create", func(t *testing.T) {
			s := newShop(t)
			s.withoutRetries(t, 8)
			sent := s.lose(3)
			s.place(t, "o-1") // wants Applied

			if *sent != 4 {
				t.Errorf("%d writes", *sent)
			}
		})
		t.Run("edit", func(t *testing.T) {
			s := newShop(t)
			s.place(t, "o-1")
			s.withoutRetries(t, 8)

			sent := s.lose(3)
			if r := edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "e"), cup)); *sent != 4 || r.ContentVersion != 1 || len(r.Order.Items) != 2 {
				t.Errorf("%d writes, %+v", *sent, r)
			}
		})
	})
}

// TestAnOutcomeThatStaysUnknownIsSaidSo loses every answer that the attempts allow.
func TestAnOutcomeThatStaysUnknownIsSaidSo(t *testing.T) {
	inBothModes(t, func(t *testing.T, newShop maker) {
		s := newShop(t)
		s.place(t, "o-1")
		s.withoutRetries(t, 2)
		s.lose(2)

		if _, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2)); !errors.Is(err, transitions.ErrOutcomeUnknown) || !transitions.Retryable(err) {
			t.Errorf("got %v", err)
		}
		s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
	})
}

// TestAnOrderInSomebodysTransactionIsTriedAgain: a write that meets a transaction under
// way on the same order is no answer, and the SDK leaves it to its caller.
func TestAnOrderInSomebodysTransactionIsTriedAgain(t *testing.T) {
	s := newShop(t)
	s.place(t, "o-1")
	refused := 0
	s.wire.before = func(r *http.Request) *http.Response {
		if !moves(r) || refused == 2 {
			return nil
		}
		refused++

		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException"}`))}
	}
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

	if refused != 2 {
		t.Errorf("refused %d times, want 2", refused)
	}
}

// TestATokenThatHasExpiredIsNotNeeded gives every sending of a transaction another
// token, as if ten minutes lay between them: then the order itself tells.
func TestATokenThatHasExpiredIsNotNeeded(t *testing.T) {
	s := newShopIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.withoutRetries(t, 8)
	sent := s.lose(2)
	token := regexp.MustCompile(`"ClientRequestToken":"[^"]*"`)
	n := 0

	s.wire.before = func(r *http.Request) *http.Response {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		n++
		body = token.ReplaceAll(body, fmt.Appendf(nil, `"ClientRequestToken":"other-%d"`, n))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))

		return nil
	}
	if r := s.want(t, keyed("o-1", workflow.Pay, "r"), transitions.Applied); *sent != 3 || r.Transition.ID != 2 {
		t.Errorf("%d writes, %+v", *sent, r.Transition)
	}
	s.want(t, given("o-1", workflow.Ship, 3), transitions.Applied)

	if rows, err := s.History(t.Context(), "o-1", 0, 0); err != nil || len(rows) != 3 {
		t.Errorf("rows %+v, error %v", rows, err)
	}
}

// TestAJournalThatDoesNotAnswerLeavesTheOutcomeUnknown: the write was refused, but an
// earlier sending of it may have been made; only the journal could tell, and is silent.
func TestAJournalThatDoesNotAnswerLeavesTheOutcomeUnknown(t *testing.T) {
	s := newShop(t)
	s.toAndFro(t, "o-1", 20, 20)
	s.withoutRetries(t, 2)
	s.wire.before = func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			return nil
		}
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Request: r, Body: http.NoBody}
	}

	_, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2))
	if !errors.Is(err, transitions.ErrOutcomeUnknown) || !errors.Is(err, transitions.ErrUnavailable) {
		t.Errorf("got %v", err)
	}

	if _, err := s.Apply(t.Context(), keyed("o-1", workflow.Pay, "r")); !errors.Is(err, transitions.ErrUnavailable) || errors.Is(err, transitions.ErrOutcomeUnknown) {
		t.Errorf("nothing had been sent: %v", err)
	}
	s.wire.before = nil
	s.want(t, given("o-1", workflow.Pay, 2), transitions.Replayed)
}
