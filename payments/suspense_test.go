package payments_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/tests/shop"
	"ratchet/workflow"
)

// pendingStep leaves a step pending that the processor has not answered: a refund of 60 from
// till to wallet, or a capture of 60 from wallet to till.
func (s *seller) pendingStep(t testing.TB, kind payments.Kind) {
	t.Helper()
	s.pendingStepTo(t, kind, "till")
}

// pendingStepTo is pendingStep with another payee.
func (s *seller) pendingStepTo(t testing.TB, kind payments.Kind, payee string) {
	t.Helper()
	s.fund(t, "wallet", 100)

	n := of("p", 100)
	n.Payer, n.Payee = "wallet", payee
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	if kind == payments.Refunding {
		if _, err := s.Capture(t.Context(), "p", ask("c", 100)); err != nil {
			t.Fatal(err)
		}
	}

	s.unanswered(t, func(ctx context.Context) error { _, err := s.step(ctx, kind); return err })
}

// step sends the request of pendingStep.
func (s *seller) step(ctx context.Context, kind payments.Kind) (payments.Payment, error) {
	if kind == payments.Refunding {
		return s.Refund(ctx, "p", ask("r", 60))
	}

	return s.Capture(ctx, "p", ask("c", 60))
}

func (s *seller) create(t testing.TB, n ledger.NewAccount) {
	t.Helper()

	if n.Currency == "" {
		n.Currency = "EUR"
	}

	if _, _, err := s.ledger.CreateAccount(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// fill brings the account's available money to its upper limit.
func (s *seller) fill(t testing.TB, account string) {
	t.Helper()
	s.create(t, ledger.NewAccount{ID: "world", Side: ledger.Debit, Overdraft: true})

	a, _, err := s.ledger.Account(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}

	const limit = 6 * ledger.MaxAmount
	for rest, n := limit-a.Available, 0; rest > 0; n++ {
		amount := min(rest, ledger.MaxAmount)
		if _, err := s.ledger.Post(t.Context(), ledger.Move(fmt.Sprint("fill-", n), "world", account, amount, "EUR")); err != nil {
			t.Fatal(err)
		}
		rest -= amount
	}
}

// TestStepEndsIfTheCreditedAccountRefuses lets the account that a step credits refuse the
// money after the step began. The processor carries the step out, so the ledger must follow:
// a suspense account gets the money.
func TestStepEndsIfTheCreditedAccountRefuses(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     payments.Kind
		refuse   func(*testing.T, *seller)
		state    workflow.State
		captured int64
		refunded int64
		suspense string
	}{
		{
			name:   "the payer's account is closed during a refund",
			kind:   payments.Refunding,
			refuse: func(t *testing.T, s *seller) { s.closeAccount(t, "wallet") },
			state:  "PARTIALLY_REFUNDED", captured: 100, refunded: 60,
			suspense: "wallet.suspense",
		},
		{
			name:   "the payer's account is full when the refund ends",
			kind:   payments.Refunding,
			refuse: func(t *testing.T, s *seller) { s.fill(t, "wallet") },
			state:  "PARTIALLY_REFUNDED", captured: 100, refunded: 60,
			suspense: "wallet.suspense",
		},
		{
			name:   "the payee's account is full when the capture ends",
			kind:   payments.Capturing,
			refuse: func(t *testing.T, s *seller) { s.fill(t, "till") },
			state:  "PARTIALLY_CAPTURED", captured: 60,
			suspense: "till.suspense",
		},
		{
			name: "the suspense account was emptied and closed by a person",
			kind: payments.Refunding,
			refuse: func(t *testing.T, s *seller) {
				s.closeAccount(t, "wallet")
				s.create(t, ledger.NewAccount{ID: "wallet.suspense"})
				s.closeAccount(t, "wallet.suspense")
			},
			state: "PARTIALLY_REFUNDED", captured: 100, refunded: 60,
			suspense: "wallet.suspense.2",
		},
		{
			name: "the id of the suspense account has an account of another currency",
			kind: payments.Refunding,
			refuse: func(t *testing.T, s *seller) {
				s.closeAccount(t, "wallet")
				s.create(t, ledger.NewAccount{ID: "wallet.suspense", Currency: "USD"})
			},
			state: "PARTIALLY_REFUNDED", captured: 100, refunded: 60,
			suspense: "wallet.suspense.2",
		},
		{
			name: "the suspense account of a full payee is full, and the next one closed",
			kind: payments.Capturing,
			refuse: func(t *testing.T, s *seller) {
				s.fill(t, "till")
				s.create(t, ledger.NewAccount{ID: "till.suspense"})

				for range 6 {
					s.fund(t, "till.suspense", ledger.MaxAmount)
				}
				s.create(t, ledger.NewAccount{ID: "till.suspense.2"})
				s.closeAccount(t, "till.suspense.2")
			},
			state: "PARTIALLY_CAPTURED", captured: 60,
			suspense: "till.suspense.3",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSeller(t)
			s.pendingStep(t, c.kind)
			c.refuse(t, s)
			s.now.Add(time.Minute.Milliseconds())

			if r, err := s.Recover(t.Context(), "", 100); err != nil || r.Finished != 1 || len(r.Left) != 0 {
				t.Errorf("recover: %+v, %v", r, err)
			}

			for range 2 {
				if _, err := s.step(t.Context(), c.kind); err != nil {
					t.Errorf("a repeat: %v", err)
				}
			}

			p := s.is(t, "p", c.state, c.captured, c.refunded)
			if p.Pending != nil {
				t.Fatalf("%+v is pending", p.Pending)
			}

			if last := p.Steps[len(p.Steps)-1]; last.Outcome != payments.Succeeded || last.Reason != "credited to "+c.suspense {
				t.Errorf("%+v", last)
			}

			s.has(t, c.suspense, 60, 0)
			s.sound(t)
		})
	}
}

// TestRefundOfAClosedAccountIsNotStuck closes the payer's account while the processor
// carries the refund out.
func TestRefundOfAClosedAccountIsNotStuck(t *testing.T) {
	s := newSeller(t)
	s.pendingStep(t, payments.Refunding)

	during := &interrupted{bank: s.bank, once: func() { s.closeAccount(t, "wallet") }}
	p := s.with(s.ledger, during)

	if got, err := p.Refund(t.Context(), "p", ask("r", 60)); err != nil || got.State != "PARTIALLY_REFUNDED" {
		t.Errorf("%+v, %v", got, err)
	}

	s.has(t, "till", 40, 0)
	s.has(t, "wallet", 0, 0)
	s.has(t, "wallet.suspense", 60, 0)
	s.sound(t)

	// Nothing is left pending, so the payment takes the next request: it is refused before
	// the processor is asked.
	if _, err := s.Refund(t.Context(), "p", ask("r-2", 40)); !errors.Is(err, ledger.ErrAccountClosed) {
		t.Errorf("another refund: %v", err)
	}
	s.is(t, "p", "PARTIALLY_REFUNDED", 100, 60)
}

// TestRefundFromTheSuspenseAccountOfThePayer refunds from the account that would be the
// payer's suspense account. A transfer needs two accounts, so the next one is taken.
func TestRefundFromTheSuspenseAccountOfThePayer(t *testing.T) {
	s := newSeller(t)
	s.create(t, ledger.NewAccount{ID: "wallet.suspense"})
	s.pendingStepTo(t, payments.Refunding, "wallet.suspense")
	s.closeAccount(t, "wallet")

	if _, err := s.step(t.Context(), payments.Refunding); err != nil {
		t.Error(err)
	}

	s.is(t, "p", "PARTIALLY_REFUNDED", 100, 60)
	s.has(t, "wallet.suspense", 40, 0)
	s.has(t, "wallet.suspense.2", 60, 0)
	s.sound(t)
}

// interrupted is the bank with something that happens once, during a refund or capture.
type interrupted struct {
	*bank
	once func()
}

func (i *interrupted) interrupt() {
	if once := i.once; once != nil {
		i.once = nil
		once()
	}
}

func (i *interrupted) Refund(ctx context.Context, r payments.Request) (string, error) {
	reference, err := i.bank.Refund(ctx, r)
	i.interrupt()

	return reference, err
}

func (i *interrupted) Capture(ctx context.Context, r payments.Request) (string, error) {
	reference, err := i.bank.Capture(ctx, r)
	i.interrupt()

	return reference, err
}

// TestWorkersAgreeOnASuspenseAccount lets two workers end one step. The slower one sees
// another account refuse, or none: it must find the step ended.
func TestWorkersAgreeOnASuspenseAccount(t *testing.T) {
	for _, kind := range []payments.Kind{payments.Refunding, payments.Capturing} {
		s := newSeller(t)
		s.pendingStep(t, kind)

		credited := map[payments.Kind]string{payments.Refunding: "wallet", payments.Capturing: "till"}[kind]
		slow := s.with(s.ledger, &interrupted{bank: s.bank, once: func() {
			s.fill(t, credited)

			if _, err := s.step(t.Context(), kind); err != nil {
				t.Errorf("%s: the faster worker: %v", kind, err)
			}

			// The account takes money again.
			if _, err := s.ledger.Post(t.Context(), ledger.Move("room", credited, "world", ledger.MaxAmount, "EUR")); err != nil {
				t.Error(err)
			}
		}})

		var err error
		if kind == payments.Refunding {
			_, err = slow.Refund(t.Context(), "p", ask("r", 60))
		} else {
			_, err = slow.Capture(t.Context(), "p", ask("c", 60))
		}

		if err != nil {
			t.Errorf("%s: the slower worker: %v", kind, err)
		}

		s.has(t, credited+".suspense", 60, 0)
		s.has(t, credited, 5*ledger.MaxAmount, 0)
		s.sound(t)
	}
}

// TestCaptureForAPayeeThatIsFullAndThenClosed checks that a worker which found the payee full
// does not credit a suspense account once the payee is closed: other workers then refund the
// capture at the processor.
func TestCaptureForAPayeeThatIsFullAndThenClosed(t *testing.T) {
	s := newSeller(t)
	s.pendingStep(t, payments.Capturing)
	s.fill(t, "till")

	// The worker that finds the payee full creates the suspense account next.
	s.wire.created = func() {
		s.wire.created = nil
		for i := range 6 {
			if _, err := s.ledger.Post(t.Context(), ledger.Move(fmt.Sprint("empty-", i), "till", "world", ledger.MaxAmount, "EUR")); err != nil {
				t.Error(err)
			}
		}
		s.closeAccount(t, "till")
	}

	if _, err := s.Capture(t.Context(), "p", ask("c", 60)); !errors.Is(err, payments.ErrDeclined) || !errors.Is(err, ledger.ErrAccountClosed) {
		t.Errorf("got %v", err)
	}

	s.is(t, "p", "FAILED", 0, 0)
	s.has(t, "wallet", 100, 0)
	s.has(t, "till.suspense", 0, 0)

	if op, err := s.sandbox.Lookup(t.Context(), "p/c/return"); err != nil || op.Status != payments.OperationSucceeded {
		t.Errorf("%+v, %v", op, err)
	}
}

// TestCrashDuringARefundToSuspenseCreditsItOnce kills the worker at each of its calls.
func TestCrashDuringARefundToSuspenseCreditsItOnce(t *testing.T) {
	closed := func() *seller {
		s := newSeller(t)
		s.pendingStep(t, payments.Refunding)
		s.closeAccount(t, "wallet")
		s.now.Add(time.Minute.Milliseconds())
		s.fuse.set(0, false)

		return s
	}

	whole := closed()
	if _, err := whole.step(t.Context(), payments.Refunding); err != nil {
		t.Fatal(err)
	}

	calls := whole.fuse.calls
	for at := 1; at <= calls; at++ {
		for _, after := range []bool{false, true} {
			s := closed()
			ctx, die := context.WithCancel(t.Context())
			s.fuse.die = die
			s.fuse.set(at, after)
			_, _ = s.step(ctx, payments.Refunding)
			die()
			s.fuse.set(0, false)

			if r, err := s.Recover(t.Context(), "", 100); err != nil || len(r.Left) != 0 {
				t.Errorf("call %d, after %v: %+v, %v", at, after, r, err)
			}

			s.is(t, "p", "PARTIALLY_REFUNDED", 100, 60)
			s.has(t, "till", 40, 0)
			s.has(t, "wallet.suspense", 60, 0)
			s.sound(t)
		}
	}
}

// A step whose suspense accounts all refuse the money stays pending, for a person to look at.
func TestAStepWithoutASuspenseAccountStaysPending(t *testing.T) {
	const most = 100

	for refusing, want := range map[int]error{most: payments.ErrUnresolved, most - 1: nil} {
		s := newSeller(t)
		s.pendingStep(t, payments.Refunding)
		s.closeAccount(t, "wallet")

		for n := 1; n <= refusing; n++ {
			id := "wallet.suspense"
			if n > 1 {
				id += fmt.Sprint(".", n)
			}

			// An account of another kind.
			if _, err := s.direct.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.LedgerTables().Accounts), Item: map[string]types.AttributeValue{
				"accountId": &types.AttributeValueMemberS{Value: id}, "currency": &types.AttributeValueMemberS{Value: "USD"}}}); err != nil {
				t.Fatal(err)
			}
		}

		p, err := s.step(t.Context(), payments.Refunding)
		if !errors.Is(err, want) || want == nil && err != nil || (p.Pending != nil) != (want != nil) {
			t.Errorf("%d refuse: %+v, %v", refusing, p, err)
		}

		if want != nil && !strings.HasSuffix(err.Error(), "all 100 suspense accounts of wallet refuse the money") {
			t.Errorf("%v", err)
		}
	}
}

// A payee whose account is lost is no reason to credit a suspense account.
func TestACaptureForALostAccountStaysPending(t *testing.T) {
	for _, outage := range []bool{false, true} {
		s := newSeller(t)
		s.pendingStep(t, payments.Capturing)

		if _, err := s.direct.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.LedgerTables().Accounts), Key: map[string]types.AttributeValue{"accountId": &types.AttributeValueMemberS{Value: "till"}}}); err != nil {
			t.Fatal(err)
		}

		want := ledger.ErrUnknownAccount.Error()
		if outage {
			want = "AccessDeniedException"
			s.faults.Inject(embeddedtest.Answer(want, "BatchGetItem").Next(1))
		}

		if _, err := s.step(t.Context(), payments.Capturing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("outage %v: %v", outage, err)
		}

		if p := s.is(t, "p", "CAPTURING", 0, 0); p.Pending == nil {
			t.Errorf("outage %v: %+v", outage, p)
		}
	}
}
