package payments_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/tests/shop"
)

func (s *seller) closeAccount(t testing.TB, id string) {
	t.Helper()

	if err := s.ledger.CloseAccount(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func TestNoRequestIfAnAccountCannotTakeTheMoney(t *testing.T) {
	s := newSeller(t)
	if _, _, err := s.ledger.CreateAccount(t.Context(), ledger.NewAccount{ID: "dollars", Currency: "USD"}); err != nil {
		t.Fatal(err)
	}

	n := of("ready", 100)
	n.Payee = "till"
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s.closeAccount(t, "till")

	for payee, want := range map[string]error{"ghost": ledger.ErrUnknownAccount, "dollars": ledger.ErrCurrencyMismatch, "till": ledger.ErrAccountClosed} {
		n := of("p-"+payee, 100)
		n.Payee = payee
		var refusal *ledger.RefusedError
		if _, err := s.Authorize(t.Context(), n); !errors.Is(err, want) || !errors.As(err, &refusal) || refusal.Account != payee {
			t.Errorf("payee %s: %v", payee, err)
		}

		if _, err := s.Get(t.Context(), n.ID); !errors.Is(err, payments.ErrUnknownPayment) {
			t.Errorf("payee %s: %v", payee, err)
		}
	}
	// Closed after the authorization: the capture is refused before it is asked for.
	if _, err := s.Capture(t.Context(), "ready", ask("c", 100)); !errors.Is(err, ledger.ErrAccountClosed) || s.bank.asked["ready/c"] != 0 {
		t.Errorf("asked %d times, %v", s.bank.asked["ready/c"], err)
	}

	if _, err := s.Void(t.Context(), "ready"); err != nil {
		t.Error(err)
	}
	// A refund credits the payer.
	s.fund(t, "wallet", 100)

	n = of("back", 100)
	n.Payer = "wallet"
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Capture(t.Context(), "back", ask("c", 100)); err != nil {
		t.Fatal(err)
	}
	s.closeAccount(t, "wallet")

	if _, err := s.Refund(t.Context(), "back", ask("r", 100)); !errors.Is(err, ledger.ErrAccountClosed) || s.bank.asked["back/r"] != 0 {
		t.Errorf("asked %d times, %v", s.bank.asked["back/r"], err)
	}
	s.is(t, "back", "CAPTURED", 100, 0)
	s.sound(t)
}

func TestCaptureForAClosedAccountIsRefunded(t *testing.T) {
	s := newSeller(t)
	n := of("p", 100)
	n.Payee = "till"
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	s.unanswered(t, func(ctx context.Context) error { _, err := s.Capture(ctx, "p", ask("c", 60)); return err })
	s.closeAccount(t, "till")

	s.bank.lost = 2 // the answers to the capture and to its return
	for range 3 {
		if _, err := s.Capture(t.Context(), "p", ask("c", 60)); !errors.Is(err, payments.ErrUnresolved) && (!errors.Is(err, payments.ErrDeclined) || !errors.Is(err, ledger.ErrAccountClosed)) {
			t.Errorf("%v", err)
		}
	}
	s.is(t, "p", "FAILED", 0, 0)
	s.has(t, "clearing", 0, 0)

	for key, want := range map[string]payments.OperationStatus{"p/c": payments.OperationSucceeded, "p/c/return": payments.OperationSucceeded, "p/authorize": payments.OperationSucceeded} {
		if op, err := s.sandbox.Lookup(t.Context(), key); err != nil || op.Status != want {
			t.Errorf("%s: %+v, %v", key, op, err)
		}
	}
}

func TestStepsThatEndAPaymentAreNotLimited(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "v", 1000)

	n := of("e", 1000)
	n.ExpiresAt = s.time().Add(time.Hour)
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	for i := range 50 {
		for _, id := range []string{"v", "e"} {
			if _, err := s.Capture(t.Context(), id, ask(fmt.Sprint("c-", i), 1)); err != nil {
				t.Fatal(err)
			}
		}
	}

	if _, err := s.Capture(t.Context(), "v", ask("more", 1)); !errors.Is(err, payments.ErrExceeded) {
		t.Errorf("one more capture: %v", err)
	}

	if _, err := s.Void(t.Context(), "v"); err != nil {
		t.Errorf("void: %v", err)
	}
	s.now.Add(time.Hour.Milliseconds())

	if r, err := s.Recover(t.Context(), "", 100); err != nil || r.Expired != 1 {
		t.Errorf("expiry: %+v, %v", r, err)
	}

	for i := range 50 {
		amount := int64(1)
		if _, err := s.Refund(t.Context(), "v", ask(fmt.Sprint("r-", i), amount)); err != nil {
			t.Fatal(err)
		}
	}
	s.is(t, "v", "REFUNDED", 50, 50)
	s.has(t, "clearing", -50, 0)
	s.sound(t)
}

func TestRefusedRefundVoidsNothing(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 100)

	if _, err := s.Capture(t.Context(), "p", ask("c", 10)); err != nil {
		t.Fatal(err)
	}

	for want, bad := range map[error]payments.StepRequest{payments.ErrExceeded: ask("r", 99999), payments.ErrInvalid: ask("void", 5), payments.ErrConflict: ask("c", 10)} {
		if _, err := s.Refund(t.Context(), "p", bad); !errors.Is(err, want) {
			t.Errorf("want %v, got %v", want, err)
		}
	}

	if p := s.is(t, "p", "PARTIALLY_CAPTURED", 10, 0); p.Capturable != 90 {
		t.Errorf("%d of 90 may be captured", p.Capturable)
	}
	s.sound(t)
}

func TestExpiredPaymentIsNotOpened(t *testing.T) {
	s := newSeller(t)
	n := of("p", 100)
	for _, n.ExpiresAt = range []time.Time{s.time(), s.time().Add(-time.Hour)} {
		if _, err := s.Authorize(t.Context(), n); !errors.Is(err, payments.ErrInvalid) {
			t.Errorf("expires at %s: %v", n.ExpiresAt, err)
		}
	}
	s.has(t, "clearing", 0, 0)

	n.ExpiresAt = s.time().Add(time.Minute)
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s.now.Add(time.Hour.Milliseconds())

	if p, err := s.Authorize(t.Context(), n); err != nil || p.State != "AUTHORIZED" {
		t.Errorf("a repeat that comes late gets the payment: %+v, %v", p, err)
	}
}

func TestRecoverSkipsAPaymentThatCannotBeFinished(t *testing.T) {
	s := newSeller(t)
	for i := range 6 {
		s.authorized(t, fmt.Sprint("p-", i), 100)
	}

	for i := range 6 {
		s.unanswered(t, func(ctx context.Context) error {
			_, err := s.Capture(ctx, fmt.Sprint("p-", i), ask("c", 100))
			return err
		})
	}

	for _, id := range []string{"p-1", "p-4"} { // the hold is lost
		if _, err := s.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.LedgerTables().Holds), Key: map[string]types.AttributeValue{
			"accountId": &types.AttributeValueMemberS{Value: "clearing"}, "holdId": &types.AttributeValueMemberS{Value: id + "#payment"}}}); err != nil {
			t.Fatal(err)
		}
	}
	s.now.Add(time.Minute.Milliseconds())

	finished, left, calls := 0, 0, 0
	for after := ""; ; {
		r, err := s.Recover(t.Context(), after, 1)
		if calls++; err != nil || calls > 10 {
			t.Fatalf("call %d: %v", calls, err)
		}

		finished, left = finished+r.Finished, left+len(r.Left)
		if after = r.Next; after == "" {
			break
		}
	}

	if finished != 4 || left != 2 {
		t.Errorf("%d finished, %d left", finished, left)
	}
}

func TestOnlyPaymentsMoveTheMoneyOfPayments(t *testing.T) {
	s := newSeller(t)
	s.fund(t, "wallet", 1000)

	mine := ledger.NewHold{ID: "p", Account: "wallet", Amount: 1, Currency: "EUR"} // not the hold of payment p, which has another owner
	if _, _, err := s.ledger.Reserve(t.Context(), mine); err != nil {
		t.Fatal(err)
	}

	if _, err := s.ledger.Post(t.Context(), ledger.Move("p/c", "clearing", "till", 1, "EUR")); err != nil {
		t.Fatal(err)
	}

	n := of("p", 900)
	n.Payer = "wallet"
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	if _, err := s.ledger.Release(t.Context(), "wallet", "p"); err != nil {
		t.Fatal(err)
	}
	s.has(t, "wallet", 1000, 900) // it was the other one

	if _, err := s.ledger.Release(t.Context(), "wallet", "p#payment"); !errors.Is(err, ledger.ErrReserved) {
		t.Errorf("release: %v", err)
	}

	spend := ledger.Move("steal", "wallet", "till", 900, "EUR")
	spend.Legs[0].Hold = "p#payment"
	if _, err := s.ledger.Post(t.Context(), spend); !errors.Is(err, ledger.ErrReserved) {
		t.Errorf("transfer: %v", err)
	}

	if _, err := s.Capture(t.Context(), "p", ask("c", 900)); err != nil {
		t.Fatal(err)
	}
	s.is(t, "p", "CAPTURED", 900, 0)
	s.has(t, "wallet", 100, 0)
	s.sound(t)
}

func TestCrashDuringTheRefundOfACaptureRefundsItOnce(t *testing.T) {
	closed := func() *seller {
		s := newSeller(t)
		n := of("p", 100)
		n.Payee = "till"
		if _, err := s.Authorize(t.Context(), n); err != nil {
			t.Fatal(err)
		}

		s.unanswered(t, func(ctx context.Context) error { _, err := s.Capture(ctx, "p", ask("c", 60)); return err })
		s.closeAccount(t, "till")
		s.now.Add(time.Minute.Milliseconds())
		s.fuse.set(0, false)

		return s
	}

	whole := closed()
	if _, err := whole.Capture(t.Context(), "p", ask("c", 60)); !errors.Is(err, ledger.ErrAccountClosed) {
		t.Fatal(err)
	}

	calls := whole.fuse.calls
	for at := 1; at <= calls; at++ {
		for _, after := range []bool{false, true} {
			s := closed()
			ctx, die := context.WithCancel(t.Context())
			s.fuse.die = die
			s.fuse.set(at, after)
			_, _ = s.Capture(ctx, "p", ask("c", 60))
			die()
			s.fuse.set(0, false)

			if r, err := s.Recover(t.Context(), "", 100); err != nil || len(r.Left) != 0 {
				t.Errorf("call %d, after %v: %+v, %v", at, after, r, err)
			}
			s.is(t, "p", "FAILED", 0, 0)
			s.has(t, "clearing", 0, 0)

			sum := map[string]int64{}
			if err := s.sandbox.Report(t.Context(), func(_, kind string, amount int64, _ string) error { sum[kind] += amount; return nil }); err != nil {
				t.Fatal(err)
			}

			if sum["capture"] != 60 || sum["refund"] != 60 {
				t.Errorf("call %d, after %v: the processor says %v", at, after, sum)
			}
		}
	}
}
