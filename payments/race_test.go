package payments_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/payments"
	"ratchet/tests/shop"
)

// meddle lets change run before each transaction of the payments.
func (s *seller) meddle(t *testing.T, change func(transaction int)) {
	t.Helper()

	n := 0
	s.faults.Before(func(c *embeddedtest.Call) error {
		if c.Is("dynamodb.TransactWriteItems") {
			n++
			change(n)
		}

		return nil
	})
}

// touch writes the payment as another call does, without changing it.
func (s *seller) touch(t *testing.T, id string) {
	t.Helper()

	_, err := s.direct.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(shop.PaymentTables().Payments),
		Key:                       map[string]types.AttributeValue{"paymentId": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression:          aws.String("SET revision = revision + :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A call starts over when another one has changed the payment, twenty times at most.
func TestACallThatLosesEveryRaceGivesUp(t *testing.T) {
	const most = 20

	for name, c := range map[string]struct {
		before func(t *testing.T, s *seller, id string)
		do     func(s *seller) error
		want   error
		says   string
	}{
		"capture": {authorized, func(s *seller) error { _, err := s.Capture(t.Context(), "p", ask("c", 40)); return err },
			txn.ErrContended, "capture payment p: "},
		"refund": {charged, func(s *seller) error { _, err := s.Refund(t.Context(), "p", ask("r", 40)); return err },
			txn.ErrContended, "refund payment p: "},
		"cancel": {authorized, func(s *seller) error { _, err := s.Cancel(t.Context(), "p"); return err },
			txn.ErrContended, "cancel payment p: "},
		"the end of a capture": {pendingCaptures, func(s *seller) error { _, err := s.Capture(t.Context(), "p", ask("c", 40)); return err },
			payments.ErrBusy, "payment p: "},
	} {
		for _, lost := range []int{most, most - 1} {
			s := newSeller(t)
			c.before(t, s, "p")

			transactions := 0
			s.meddle(t, func(n int) {
				if transactions = n; n <= lost {
					s.touch(t, "p")
				}
			})

			err := c.do(s)
			if lost == most && (!errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), c.says) || transactions != most) {
				t.Errorf("%s: %v after %d transactions", name, err, transactions)
			}

			if lost < most && err != nil {
				t.Errorf("%s, but the last: %v", name, err)
			}
		}
	}
}

// Only a void overtakes a step, and only the step that opens the payment.
func TestAStepWaitsForThePendingOne(t *testing.T) {
	s := newSeller(t)
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Authorize(ctx, of("opening", 100)); return err })
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Charge(ctx, of("charging", 100)); return err })
	pendingCaptures(t, s, "capturing")
	s.charged(t, "refunding", 100)
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Refund(ctx, "refunding", ask("r", 40)); return err })

	for id, step := range map[string]string{"opening": "authorize", "charging": "charge", "capturing": "c", "refunding": "r"} {
		_, capture := s.Capture(t.Context(), id, ask("other", 1))
		_, refund := s.Refund(t.Context(), id, ask("other", 1))
		errs := []error{capture, refund}

		if id == "capturing" || id == "refunding" {
			_, void := s.Void(t.Context(), id)
			errs = append(errs, void)
		}

		for _, err := range errs {
			if !errors.Is(err, payments.ErrBusy) || !strings.Contains(err.Error(), "step "+step) {
				t.Errorf("%s: %v", id, err)
			}
		}

		if p, err := s.Get(t.Context(), id); err != nil || p.Pending == nil || p.Pending.ID != step {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}

	for _, id := range []string{"opening", "charging"} {
		if p, err := s.Void(t.Context(), id); err != nil || p.State != "VOIDED" {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
}

// A payment whose record is lost while a step of it is under way is reported as unknown.
func TestAPaymentThatIsLostMeanwhileIsUnknown(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 100)

	s.meddle(t, func(n int) {
		if n > 1 {
			return
		}

		key := map[string]types.AttributeValue{"paymentId": &types.AttributeValueMemberS{Value: "p"}}
		if _, err := s.direct.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.PaymentTables().Payments), Key: key}); err != nil {
			t.Error(err)
		}
	})

	if _, err := s.Capture(t.Context(), "p", ask("c", 40)); !errors.Is(err, payments.ErrUnknownPayment) {
		t.Errorf("%v", err)
	}
	s.has(t, "shop", 0, 0)
}

// A chargeback that the ledger refuses is for a person to look at.
func TestAChargebackThatTheAccountCannotPayIsParked(t *testing.T) {
	s := newSeller(t)
	s.charged(t, "p", 100)

	if _, err := s.ledger.Post(t.Context(), ledger.Move("out", "shop", "clearing", 100, "EUR")); err != nil {
		t.Fatal(err)
	}
	s.effect(t, "evt", body("payment.charged_back", "p/charge", 100, "EUR"), payments.EffectParked, ledger.ErrInsufficientFunds.Error())
	s.is(t, "p", "CAPTURED", 100, 0)

	// The money comes back, and so does the event.
	s.fund(t, "shop", 200)
	s.effect(t, "evt", body("payment.charged_back", "p/charge", 100, "EUR"), payments.EffectEnded, "")
	s.is(t, "p", "CHARGED_BACK", 100, 100)

	// While a step is pending, the processor must send the event again. The same holds for the rest
	// of an authorization: the bank takes back only captured money.
	s.charged(t, "q", 100)
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Refund(ctx, "q", ask("r", 40)); return err })

	if r, err := s.send(t, s.Payments, "evt-2", body("payment.charged_back", "q/charge", 100, "EUR")); !errors.Is(err, payments.ErrBusy) || !strings.Contains(err.Error(), "callback for payment q: ") {
		t.Errorf("%+v, %v", r, err)
	}
	capturedInPart(t, s, "r")
	s.effect(t, "evt-3", body("payment.charged_back", "r/c", 40, "EUR"), payments.EffectParked, "another amount")
	s.is(t, "r", "PARTIALLY_CAPTURED", 40, 0)

	// An expiry that comes during a capture means nothing.
	pendingCaptures(t, s, "e")
	s.effect(t, "evt-4", body("payment.expired", "e/authorize", 100, "EUR"), payments.EffectNone, "the payment is CAPTURING")
}

// Two processes begin a refund under one id. The later one goes on with the refund that is
// stored, or says that it is another one, or that it cannot read it.
func TestARefundThatAnotherCallHasBegunGoesOn(t *testing.T) {
	for _, c := range []struct {
		amount int64
		outage bool
		want   string
	}{
		{40, false, ""},
		{41, false, payments.ErrConflict.Error()},
		{40, true, "read payment p: "},
	} {
		s := newSeller(t)
		s.charged(t, "p", 100)

		other := s.another()
		s.meddle(t, func(n int) {
			if n > 1 {
				return
			}

			if _, err := other.Refund(t.Context(), "p", ask("r", 40)); err != nil {
				t.Error(err)
			}

			if c.outage {
				s.faults.Inject(embeddedtest.Answer("AccessDeniedException").If(readsPayment).Next(1))
			}
		})

		p, err := s.Refund(t.Context(), "p", ask("r", c.amount))
		if c.want == "" && (err != nil || p.Refunded != 40) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c, p, err)
		}
		s.is(t, "p", "PARTIALLY_REFUNDED", 100, 40)
		s.sound(t)
	}
}

// An event is received only when the processor has said what became of the payment.
func TestAnEventWaitsForTheProcessor(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 100)
	s.bank.set(true, nil)

	if r, err := s.send(t, s.Payments, "evt", body("payment.expired", "p/authorize", 100, "EUR")); !errors.Is(err, errDown) || !strings.Contains(err.Error(), "callback for payment p: ") {
		t.Errorf("%+v, %v", r, err)
	}
	s.bank.set(false, nil)
	s.is(t, "p", "AUTHORIZED", 0, 0)
	s.effect(t, "evt", body("payment.expired", "p/authorize", 100, "EUR"), payments.EffectParked, "says otherwise when asked")
}

// A step of which the processor says nothing is asked for three times, and looked up after
// each. A void may be repeated, so it is not looked up.
func TestTheProcessorIsAskedThreeTimes(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 100)
	s.authorized(t, "q", 100)
	s.bank.set(true, nil)

	if _, err := s.Capture(t.Context(), "p", ask("c", 40)); !errors.Is(err, payments.ErrUnresolved) || !errors.Is(err, errDown) || !strings.HasPrefix(err.Error(), "capture payment p: ") {
		t.Errorf("%v", err)
	}

	if _, err := s.Void(t.Context(), "q"); !errors.Is(err, payments.ErrUnresolved) || !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}

	if s.bank.asked["p/c"] != 3 || s.bank.lookups["p/c"] != 3 || s.bank.asked["void q/authorize"] != 3 || s.bank.lookups["q/void"] != 0 {
		t.Errorf("asked %v, looked up %v", s.bank.asked, s.bank.lookups)
	}
}

// readsPayment reports whether the call reads the record of a payment.
func readsPayment(c *embeddedtest.Call) bool {
	return c.Is("dynamodb.GetItem") && bytes.Contains(c.Body(), []byte(`"TableName":"payments"`))
}

// A step that another worker ends first is answered by the payment as that worker left it. If
// the payment cannot be read, the error says so.
func TestAStepThatAnotherWorkerEndsIsItsAnswer(t *testing.T) {
	for _, kind := range []payments.Kind{payments.Capturing, payments.Refunding} {
		s := newSeller(t)
		s.pendingStep(t, kind)

		worker := func(then func()) *payments.Payments {
			return s.with(s.ledger, &interrupted{bank: s.bank, once: func() {
				if _, err := s.step(t.Context(), kind); err != nil {
					t.Errorf("%s: the faster worker: %v", kind, err)
				}
				then()
			}})
		}
		do := func(p *payments.Payments) (payments.Payment, error) {
			if kind == payments.Refunding {
				return p.Refund(t.Context(), "p", ask("r", 60))
			}

			return p.Capture(t.Context(), "p", ask("c", 60))
		}

		got, err := do(worker(func() { s.now.Add(1000) }))
		if stored, getErr := s.Get(t.Context(), "p"); err != nil || getErr != nil || !got.UpdatedAt.Equal(stored.UpdatedAt) || got.Revision != stored.Revision {
			t.Errorf("%s: %+v, %v; stored is %+v, %v", kind, got, err, stored, getErr)
		}

		s = newSeller(t)
		s.pendingStep(t, kind)
		slow := worker(func() { s.faults.Inject(embeddedtest.Answer("AccessDeniedException").If(readsPayment).Next(1)) })

		if _, err := do(slow); err == nil || !strings.Contains(err.Error(), "read payment p: ") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A step that no other worker writes reads its payment before it begins, and not again.
func TestAStepReadsItsPaymentFirst(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 100)

	reads := 0
	s.faults.Before(func(c *embeddedtest.Call) error {
		if readsPayment(c) {
			reads++
		}

		return nil
	})

	if _, err := s.Capture(t.Context(), "p", ask("c", 100)); err != nil || reads != 1 {
		t.Errorf("capture: %v after %d reads", err, reads)
	}

	// A refund reads the payment once more, because a rest may have to be voided.
	if _, err := s.Refund(t.Context(), "p", ask("r", 100)); err != nil || reads != 1+2 {
		t.Errorf("refund: %v after %d reads", err, reads)
	}
}

// token is the field by which DynamoDB recognizes a repeated transaction for ten minutes.
var token = regexp.MustCompile(`"ClientRequestToken":"[^"]*"`)

// A write whose answer was lost is known again by the record, also when DynamoDB has forgotten
// its token: the call goes on, and leaves nothing to others.
func TestAWriteWithoutAnAnswerIsKnownAgain(t *testing.T) {
	const save = 2 // the transaction that refuses the charge, after the transfer was refused

	s := newSeller(t)
	closedDuringCharge(t, s, "p")

	n := 0
	s.faults.Before(func(c *embeddedtest.Call) error {
		if !c.Is("dynamodb.TransactWriteItems") {
			return nil
		}
		n++
		c.SetBody(token.ReplaceAll(c.Body(), fmt.Appendf(nil, `"ClientRequestToken":"fresh-%d"`, n)))

		if n == save {
			return embeddedtest.ErrAnswerLost
		}

		return nil
	})

	if p, err := s.Charge(t.Context(), between("clearing", "till-p", "p")); !errors.Is(err, payments.ErrDeclined) || p.Pending != nil || p.State != "VOIDED" {
		t.Errorf("%+v, %v after %d transactions", p, err, n)
	}

	if p := s.is(t, "p", "VOIDED", 0, 0); p.Pending != nil {
		t.Errorf("%+v is pending", p.Pending)
	}
}
