package payments_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
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
)

// operations are calls about the payment of the id, which before has prepared. An answer of
// the processor or the ledger that is expected is no error.
var operations = map[string]struct {
	before func(t *testing.T, s *seller, id string)
	do     func(ctx context.Context, t *testing.T, s *seller, p *payments.Payments, id string) error
}{
	"authorize": {nothing, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Authorize(ctx, of(id, 100))
		return err
	}},
	"authorize again": {authorized, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Authorize(ctx, of(id, 100))
		return err
	}},
	"authorize what has expired": {nothing, func(ctx context.Context, _ *testing.T, s *seller, p *payments.Payments, id string) error {
		n := of(id, 100)
		n.ExpiresAt = s.time()
		_, err := p.Authorize(ctx, n)

		return unless(err, payments.ErrInvalid)
	}},
	"charge": {nothing, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Charge(ctx, of(id, 100))
		return err
	}},
	"charge again": {charged, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Charge(ctx, of(id, 100))
		return err
	}},
	"charge from a wallet": {withWallet, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Charge(ctx, between("wallet-"+id, "shop", id))
		return err
	}},
	"charge for a closed account": {closedTill, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Charge(ctx, between("clearing", "till-"+id, id))
		return unless(err, ledger.ErrAccountClosed)
	}},
	"a charge whose account was closed": {closedDuringCharge, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Charge(ctx, between("clearing", "till-"+id, id))
		return unless(err, payments.ErrDeclined)
	}},
	"capture": {authorized, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Capture(ctx, id, ask("c", 40))
		return err
	}},
	"a capture that is declined": {authorized, func(ctx context.Context, _ *testing.T, s *seller, p *payments.Payments, id string) error {
		s.bank.answerCaptures(payments.ErrDeclined)
		defer s.bank.answerCaptures(nil)

		_, err := p.Capture(ctx, id, ask("c", 40))

		return unless(err, payments.ErrDeclined)
	}},
	"a second capture that is declined": {capturedInPart, func(ctx context.Context, _ *testing.T, s *seller, p *payments.Payments, id string) error {
		s.bank.answerCaptures(payments.ErrDeclined)
		defer s.bank.answerCaptures(nil)

		_, err := p.Capture(ctx, id, ask("c-2", 10))

		return unless(err, payments.ErrDeclined)
	}},
	"a capture whose account was closed": {closedDuringCapture, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Capture(ctx, id, ask("c", 40))
		return unless(err, payments.ErrDeclined)
	}},
	"refund": {charged, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Refund(ctx, id, ask("r", 60))
		return err
	}},
	"refund of a part": {capturedInPart, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Refund(ctx, id, ask("r", 10))
		return err
	}},
	"a refund that is declined": {charged, func(ctx context.Context, _ *testing.T, s *seller, p *payments.Payments, id string) error {
		s.bank.declineRefunds.Store(true)
		defer s.bank.declineRefunds.Store(false)

		_, err := p.Refund(ctx, id, ask("r", 60))

		return unless(err, payments.ErrDeclined)
	}},
	"a refund whose account was closed": {closedDuringRefund, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Refund(ctx, id, ask("r", 60))
		return err
	}},
	"void":                   {authorized, voidIt},
	"void of a part":         {capturedInPart, voidIt},
	"void of what expired":   {expiredOne, voidIt},
	"cancel nothing":         {nothing, cancelIt},
	"cancel what is held":    {authorized, cancelIt},
	"cancel a charge":        {charged, cancelIt},
	"cancel a part":          {capturedInPart, cancelIt},
	"cancel a pending step":  {func(t *testing.T, s *seller, id string) { s.unresolved(t, id) }, cancelIt},
	"cancel what was voided": {voided, cancelIt},
	"get": {authorized, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
		_, err := p.Get(ctx, id)
		return err
	}},
	"list": {nothing, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, _ string) error {
		_, _, err := p.List(ctx, "", "", 10)
		return err
	}},
	"parked": {nothing, func(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, _ string) error {
		_, _, err := p.Parked(ctx, "", 10)
		return err
	}},
	"callback of an unknown type":    {nothing, callback("payment.news", "c", 1)},
	"callback of an unknown payment": {nothing, callback("payment.failed", "c", 1)},
	"callback of another step":       {authorized, callback("payment.failed", "c", 1)},
	"callback of a pending step":     {func(t *testing.T, s *seller, id string) { s.unresolved(t, id) }, callback("payment.succeeded", "c", 400)},
	"callback of an expiry": {func(t *testing.T, s *seller, id string) {
		t.Helper()
		authorized(t, s, id)

		if err := s.sandbox.Void(t.Context(), id+"/authorize"); err != nil {
			t.Fatal(err)
		}
	}, callback("payment.expired", "authorize", 100)},
	"callback of a chargeback": {charged, callback("payment.charged_back", "charge", 100)},
	"recover a step":           {pendingCaptures, recoverAll},
	"recover what has expired": {aboutToExpire, recoverAll},
	"recover a stale row": {func(t *testing.T, s *seller, id string) {
		t.Helper()
		authorized(t, s, id)

		for shard, due := range map[string]string{"steps#1": "000000000000001#" + id + "#gone", "expiry#2": "000000000000001#nobody-" + id + "#"} {
			row := map[string]types.AttributeValue{"shard": &types.AttributeValueMemberS{Value: shard}, "due": &types.AttributeValueMemberS{Value: due}}
			if _, err := s.direct.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.PaymentTables().Due), Item: row}); err != nil {
				t.Fatal(err)
			}
		}
	}, recoverAll},
}

// unless returns err if it is none of the expected ones.
func unless(err error, expected ...error) error {
	for _, e := range expected {
		if errors.Is(err, e) {
			return nil
		}
	}

	return err
}

func between(payer, payee, id string) payments.NewPayment {
	n := of(id, 100)
	n.Payer, n.Payee = payer, payee

	return n
}

func nothing(*testing.T, *seller, string) {}

func authorized(t *testing.T, s *seller, id string) { t.Helper(); s.authorized(t, id, 100) }

func charged(t *testing.T, s *seller, id string) { t.Helper(); s.charged(t, id, 100) }

func capturedInPart(t *testing.T, s *seller, id string) {
	t.Helper()
	authorized(t, s, id)

	if _, err := s.Capture(t.Context(), id, ask("c", 40)); err != nil {
		t.Fatal(err)
	}
}

func voided(t *testing.T, s *seller, id string) {
	t.Helper()
	authorized(t, s, id)

	if _, err := s.Void(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func withWallet(t *testing.T, s *seller, id string) {
	t.Helper()
	s.create(t, ledger.NewAccount{ID: "wallet-" + id})
	s.fund(t, "wallet-"+id, 100)
}

func closedTill(t *testing.T, s *seller, id string) {
	t.Helper()
	s.create(t, ledger.NewAccount{ID: "till-" + id})
	s.closeAccount(t, "till-"+id)
}

func closedDuringCharge(t *testing.T, s *seller, id string) {
	t.Helper()
	s.create(t, ledger.NewAccount{ID: "till-" + id})
	s.pendingCharge(t, between("clearing", "till-"+id, id))
	s.closeAccount(t, "till-"+id)
}

func closedDuringCapture(t *testing.T, s *seller, id string) {
	t.Helper()
	s.create(t, ledger.NewAccount{ID: "till-" + id})

	if _, err := s.Authorize(t.Context(), between("clearing", "till-"+id, id)); err != nil {
		t.Fatal(err)
	}
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Capture(ctx, id, ask("c", 40)); return err })
	s.closeAccount(t, "till-"+id)
}

func closedDuringRefund(t *testing.T, s *seller, id string) {
	t.Helper()
	withWallet(t, s, id)

	if _, err := s.Charge(t.Context(), between("wallet-"+id, "shop", id)); err != nil {
		t.Fatal(err)
	}
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Refund(ctx, id, ask("r", 60)); return err })
	s.closeAccount(t, "wallet-"+id)
}

func pendingCaptures(t *testing.T, s *seller, id string) {
	t.Helper()
	authorized(t, s, id)
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Capture(ctx, id, ask("c", 40)); return err })
	s.now.Add(time.Minute.Milliseconds())
}

func aboutToExpire(t *testing.T, s *seller, id string) {
	t.Helper()

	n := of(id, 100)
	n.ExpiresAt = s.time().Add(time.Minute)
	if _, err := s.Authorize(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s.now.Add(time.Minute.Milliseconds())
}

func expiredOne(t *testing.T, s *seller, id string) {
	t.Helper()
	aboutToExpire(t, s, id)

	if err := recoverAll(t.Context(), t, s, s.Payments, id); err != nil {
		t.Fatal(err)
	}
}

func voidIt(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
	_, err := p.Void(ctx, id)
	return err
}

func cancelIt(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, id string) error {
	_, err := p.Cancel(ctx, id)
	return err
}

// recoverAll returns an error also for a payment that is left.
func recoverAll(ctx context.Context, _ *testing.T, _ *seller, p *payments.Payments, _ string) error {
	r, err := p.Recover(ctx, "", 100)
	for _, left := range r.Left {
		err = errors.Join(err, errors.New(left.Reason))
	}

	return err
}

func callback(kind, step string, amount int64) func(context.Context, *testing.T, *seller, *payments.Payments, string) error {
	return func(_ context.Context, t *testing.T, s *seller, p *payments.Payments, id string) error {
		_, err := s.send(t, p, "evt-"+id, body(kind, id+"/"+step, amount, "EUR"))
		return err
	}
}

// TestFailuresOfDynamoDBAreErrors lets each call of each operation fail, one at a time. The
// operation says so, and a repeat goes on where it was.
func TestFailuresOfDynamoDBAreErrors(t *testing.T) {
	for name, o := range operations {
		t.Run(name, func(t *testing.T) {
			s := newSeller(t)

			calls := 0
			for struck := true; struck; calls++ {
				id := nthID(calls)
				o.before(t, s, id)

				// Another process, which has seen no account yet.
				p := s.newProcess()
				fault := s.faults.Inject(embeddedtest.Answer("AccessDeniedException").From(calls + 1).Next(1))
				err := o.do(t.Context(), t, s, p, id)

				fault.Remove()

				if struck = fault.Strikes() > 0; struck && (err == nil || !strings.Contains(err.Error(), "AccessDenied") || errors.Is(err, ledger.ErrCorrupt)) {
					t.Errorf("call %d failed: %v", calls+1, err)
				}

				if err := o.do(t.Context(), t, s, p, id); err != nil {
					t.Errorf("after call %d failed: %v", calls+1, err)
				}
			}

			if calls < 2 {
				t.Error("the operation makes no call")
			}
			s.noContradiction(t)
		})
	}
}

// nthID returns a payment's id. All of them select one shard of an account, which is not the
// first, so each payment makes the same calls.
func nthID(n int) string {
	for i := 0; ; i++ {
		id := fmt.Sprint("p-", i)
		h := fnv.New32a()
		_, _ = h.Write([]byte(id))

		if h.Sum32()%4 != 1 {
			continue
		}

		if n--; n < 0 {
			return id
		}
	}
}

// newProcess returns the payments as a process has them that has just begun.
func (s *seller) newProcess() *payments.Payments { return s.with(s.newLedger(), s.bank) }

// noContradiction fails the test if the ledger has one.
func (s *seller) noContradiction(t *testing.T) {
	t.Helper()

	if _, err := s.ledger.Verify(t.Context(), func(f ledger.Finding) error { t.Errorf("%+v", f); return nil }, nil); err != nil {
		t.Fatal(err)
	}
}
