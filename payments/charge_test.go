package payments_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/tests/shop"
)

func fromWallet(id string, amount int64) payments.NewPayment {
	n := of(id, amount)
	n.Payer = "wallet"

	return n
}

func (s *seller) charged(t testing.TB, id string, amount int64) {
	t.Helper()

	if p, err := s.Charge(t.Context(), of(id, amount)); err != nil || p.State != "CAPTURED" {
		t.Fatalf("%+v, %v", p, err)
	}
}

// pendingCharge leaves a charge that the processor has made without an answer.
func (s *seller) pendingCharge(t testing.TB, n payments.NewPayment) {
	t.Helper()
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Charge(ctx, n); return err })

	if _, err := s.sandbox.Sale(t.Context(), payments.Request{Key: n.ID + "/charge", OrderID: n.OrderID, Amount: n.Amount, Currency: n.Currency}); err != nil {
		t.Fatal(err)
	}
}

// set makes the bank fail every request, or answer again. Leave is called with each request
// that fails.
func (b *bank) set(down bool, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.down, b.leave = down, leave
}

func TestChargeTakesTheMoneyOnce(t *testing.T) {
	s := newSeller(t)
	s.fund(t, "wallet", 150)

	for _, n := range []payments.NewPayment{of("p", 100), fromWallet("w", 100)} {
		for range 2 { // a repeat changes nothing
			p, err := s.Charge(t.Context(), n)
			if err != nil || p.State != "CAPTURED" || p.Captured != 100 || p.Capturable != 0 || !p.AtOnce || len(p.Steps) != 1 {
				t.Errorf("%+v, %v", p, err)
			}
		}

		if asked := s.bank.asked[n.ID+"/charge"]; asked != 1 {
			t.Errorf("the processor was asked %d times", asked)
		}
	}
	s.has(t, "shop", 200, 0)
	s.has(t, "wallet", 50, 0)
	s.has(t, "clearing", -250, 0)

	other := of("p", 99)
	if _, err := s.Charge(t.Context(), other); !errors.Is(err, payments.ErrConflict) {
		t.Errorf("another amount: %v", err)
	}

	if _, err := s.Authorize(t.Context(), of("p", 100)); !errors.Is(err, payments.ErrConflict) {
		t.Errorf("an authorization of what was charged: %v", err)
	}

	if _, err := s.Refund(t.Context(), "p", ask("r", 30)); err != nil {
		t.Error(err)
	}
	s.is(t, "p", "PARTIALLY_REFUNDED", 100, 30)
	s.sound(t)
}

func TestChargeIsRefusedBeforeTheProcessorIsAsked(t *testing.T) {
	s := newSeller(t)
	s.fund(t, "wallet", 99)
	s.closeAccount(t, "till")

	withPayee := func(n payments.NewPayment, payee string) payments.NewPayment { n.Payee = payee; return n }
	withEnd := of("e", 100)
	withEnd.ExpiresAt = s.time().Add(time.Hour)

	for want, n := range map[error]payments.NewPayment{
		ledger.ErrInsufficientFunds: fromWallet("w", 100),
		ledger.ErrAccountClosed:     withPayee(of("c", 100), "till"),
		ledger.ErrUnknownAccount:    withPayee(of("u", 100), "ghost"),
		ledger.ErrInvalid:           of("zero", 0),
		payments.ErrInvalid:         withEnd,
	} {
		if _, err := s.Charge(t.Context(), n); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", n.ID, err, want)
		}

		if _, err := s.Get(t.Context(), n.ID); !errors.Is(err, payments.ErrUnknownPayment) {
			t.Errorf("%s: there is a payment: %v", n.ID, err)
		}
	}

	if len(s.bank.asked) != 0 {
		t.Errorf("the processor was asked %v", s.bank.asked)
	}
	s.has(t, "wallet", 99, 0)
	s.sound(t)
}

// TestChargeOfAClosedAccountGetsThePayment repeats a charge after its accounts were closed.
func TestChargeOfAClosedAccountGetsThePayment(t *testing.T) {
	s := newSeller(t)
	n := of("p", 100)
	n.Payee = "till"
	if _, err := s.Charge(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	if _, err := s.ledger.Post(t.Context(), ledger.Move("out", "till", "clearing", 100, "EUR")); err != nil {
		t.Fatal(err)
	}
	s.closeAccount(t, "till")

	if p, err := s.Charge(t.Context(), n); err != nil || p.State != "CAPTURED" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDeclinedChargeIsFinal(t *testing.T) {
	s := newSeller(t)
	s.fund(t, "wallet", 100)
	s.setBank(100, 0)

	for range 2 {
		if _, err := s.Charge(t.Context(), fromWallet("p", 100)); !errors.Is(err, payments.ErrDeclined) {
			t.Errorf("%v", err)
		}
	}
	s.is(t, "p", "FAILED", 0, 0)
	s.has(t, "wallet", 100, 0)
	s.sound(t)
}

// TestChargeThatTheLedgerRefusesIsReturned closes the payee's account after the processor
// has taken the money and before anybody knows.
func TestChargeThatTheLedgerRefusesIsReturned(t *testing.T) {
	for _, payer := range []string{"clearing", "wallet"} {
		t.Run(payer, func(t *testing.T) {
			s := newSeller(t)
			s.fund(t, "wallet", 100)

			n := of("p", 100)
			n.Payer, n.Payee = payer, "till"
			s.pendingCharge(t, n)
			s.closeAccount(t, "till")

			for range 2 {
				if _, err := s.Charge(t.Context(), n); !errors.Is(err, payments.ErrDeclined) || !errors.Is(err, ledger.ErrAccountClosed) {
					t.Errorf("%v", err)
				}
			}

			s.is(t, "p", "VOIDED", 0, 0)
			s.has(t, "wallet", 100, 0)
			s.has(t, "clearing", -100, 0)

			if op, err := s.sandbox.Lookup(t.Context(), "p/charge"); err != nil || op.Status != payments.OperationVoided {
				t.Errorf("the processor has %+v, %v", op, err)
			}

			if _, found, err := s.ledger.Account(t.Context(), "till.suspense"); found || err != nil {
				t.Errorf("there is a suspense account: %v", err)
			}
			s.sound(t)
		})
	}
}

// deplete brings every shard of the account to its lower limit, or below.
func (s *seller) deplete(t testing.TB, account string, shards int, available int64) {
	t.Helper()

	for shard := range shards {
		key := account
		if shard > 0 {
			key = fmt.Sprint(account, "#", shard)
		}

		_, err := s.direct.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName:                 aws.String(shop.LedgerTables().Accounts),
			Key:                       map[string]types.AttributeValue{"accountId": &types.AttributeValueMemberS{Value: key}},
			UpdateExpression:          aws.String("SET available = :a"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":a": &types.AttributeValueMemberN{Value: fmt.Sprint(available)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPayerAtItsLimitLeavesNoStepPending has a payer with overdraft at its lower limit, and
// below it. What is held is captured; a charge, which holds nothing, is returned by the processor.
func TestPayerAtItsLimitLeavesNoStepPending(t *testing.T) {
	const limit = -9 * ledger.MaxAmount
	for _, available := range []int64{limit, limit - 1} {
		s := newSeller(t)
		s.authorized(t, "held", 100)
		s.deplete(t, "clearing", 4, available)

		if p, err := s.Capture(t.Context(), "held", ask("c", 100)); err != nil || p.State != "CAPTURED" {
			t.Errorf("%+v, %v", p, err)
		}

		for range 2 {
			if _, err := s.Charge(t.Context(), of("p", 100)); !errors.Is(err, payments.ErrDeclined) {
				t.Errorf("%v", err)
			}
		}

		if p := s.is(t, "p", "VOIDED", 0, 0); p.Pending != nil || p.Steps[0].Reason != "the ledger refused" {
			t.Errorf("%+v", p)
		}

		if op, err := s.sandbox.Lookup(t.Context(), "p/charge"); err != nil || op.Status != payments.OperationVoided {
			t.Errorf("the processor has %+v, %v", op, err)
		}
	}
}

// TestReturnOfAChargeIsFinishedByRecover has a processor that takes the money and then stops
// answering: the charge is refused and the return goes on.
func TestReturnOfAChargeIsFinishedByRecover(t *testing.T) {
	s := newSeller(t)
	n := of("p", 100)
	n.Payee = "till"
	s.pendingCharge(t, n)
	s.closeAccount(t, "till")

	s.bank.voidDown.Store(true)

	if _, err := s.Charge(t.Context(), n); !errors.Is(err, payments.ErrUnresolved) {
		t.Errorf("%v", err)
	}

	if _, err := s.Charge(t.Context(), n); !errors.Is(err, payments.ErrDeclined) {
		t.Errorf("%v", err)
	}

	s.bank.voidDown.Store(false)
	s.now.Add(time.Minute.Milliseconds())

	if r, err := s.Recover(t.Context(), "", 10); err != nil || r.Finished != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	s.is(t, "p", "VOIDED", 0, 0)
	s.sound(t)
}

func TestConcurrentChargesAndCancelsAgree(t *testing.T) {
	s := newSeller(t)
	s.setBank(0, 30)

	var charges, cancels atomic.Int32
	var group sync.WaitGroup
	for i := range 12 {
		other := s.another()
		group.Go(func() {
			if i%3 == 0 {
				if _, err := other.Cancel(t.Context(), "p"); err != nil {
					t.Errorf("cancel: %v", err)
				}
				cancels.Add(1)

				return
			}

			switch _, err := other.Charge(t.Context(), of("p", 100)); {
			case err == nil:
				charges.Add(1)
			case !errors.Is(err, payments.ErrVoided) && !errors.Is(err, payments.ErrUnresolved):
				t.Errorf("charge: %v", err)
			}
		})
	}
	group.Wait()

	if p, err := s.Get(t.Context(), "p"); err != nil || p.Pending != nil || p.Captured != p.Refunded || !p.Canceled {
		t.Errorf("%+v, %v after %d charges and %d cancels", p, err, charges.Load(), cancels.Load())
	}
	s.has(t, "clearing", 0, 0)
	s.has(t, "shop", 0, 0)
	s.sound(t)
}

func TestOrdersHavePaymentIDs(t *testing.T) {
	long, longer := strings.Repeat("x", 61), strings.Repeat("x", 62)
	tenant := strings.Repeat("t", 20) + ":"

	ids := map[string]string{}
	for _, order := range []string{"o-1", strings.Repeat("x", 60), long, longer, "an order", "o/1", payments.IDForOrder(long), "", tenant + long[1:], tenant + long, tenant + longer, "t" + tenant + long, "ü:o-1"} {
		id := payments.IDForOrder(order)
		if other, twice := ids[id]; twice {
			t.Errorf("%q and %q are %s", order, other, id)
		}
		ids[id] = order

		n := of("p", 1)
		n.ID = id
		if err := n.Validate(); err != nil {
			t.Errorf("%q: %v", order, err)
		}
	}

	// The id is stored: it must never change.
	if ids["o-1"] != "o-1" || payments.IDForOrder("an order") != "sha256-cd6f6beb919ac128004da1067feb1007006d0c5c441bd9c9061e" {
		t.Errorf("%v", ids)
	}

	// The payment belongs to the tenant of its order, and to no other.
	if id := payments.IDForOrder(tenant + long); !strings.HasPrefix(id, tenant) || len(id) > 81 {
		t.Error(id)
	}

	if id := payments.IDForOrder("t" + tenant + long); !strings.HasPrefix(id, ":") {
		t.Error(id)
	}
}

func TestOrdersHaveAccounts(t *testing.T) {
	s := newSeller(t)

	for range 2 {
		a, err := payments.OpenOrderAccounts(t.Context(), s.ledger, "EUR")
		if err != nil || a != payments.AccountsForOrders("EUR") {
			t.Fatalf("%+v, %v", a, err)
		}

		n := of("p", 100)
		n.Payer, n.Payee = a.Payer, a.Payee
		if _, err := s.Charge(t.Context(), n); err != nil {
			t.Error(err)
		}
	}

	// The shop was paid out, and the order is canceled all the same.
	a := payments.AccountsForOrders("EUR")
	if _, err := s.ledger.Post(t.Context(), ledger.Move("out", a.Payee, "clearing", 100, "EUR")); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Cancel(t.Context(), "p"); err != nil {
		t.Error(err)
	}
	s.has(t, a.Payer, 0, 0)
	s.has(t, a.Payee, -100, 0)

	if _, _, err := s.ledger.CreateAccount(t.Context(), ledger.NewAccount{ID: "orders:clearing:USD", Currency: "USD"}); err != nil {
		t.Fatal(err)
	}

	if _, err := payments.OpenOrderAccounts(t.Context(), s.ledger, "USD"); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("%v", err)
	}
}
