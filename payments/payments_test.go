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
	"ratchet/workflow"
)

func TestPaymentIsAuthorizedCapturedAndRefundedInParts(t *testing.T) {
	s := newSeller(t)
	for range 2 { // everything twice: a repeat changes nothing and gets the first answer
		p, err := s.Authorize(t.Context(), of("p", 1000))
		if err != nil || len(p.Steps) == 0 || p.Steps[0].Reference == "" {
			t.Fatal(p, err)
		}
	}
	s.is(t, "p", "AUTHORIZED", 0, 0)
	s.has(t, "clearing", 0, 1000)

	for range 2 {
		if _, err := s.Capture(t.Context(), "p", ask("c-1", 300)); err != nil {
			t.Fatal(err)
		}
	}
	s.is(t, "p", "PARTIALLY_CAPTURED", 300, 0)
	s.has(t, "clearing", -300, 700)
	s.has(t, "shop", 300, 0)

	if _, err := s.Capture(t.Context(), "p", ask("c-2", 700)); err != nil {
		t.Fatal(err)
	}
	s.is(t, "p", "CAPTURED", 1000, 0)

	for range 2 {
		if _, err := s.Refund(t.Context(), "p", ask("r-1", 400)); err != nil {
			t.Fatal(err)
		}
	}
	s.is(t, "p", "PARTIALLY_REFUNDED", 1000, 400)
	s.has(t, "shop", 600, 0)

	if _, err := s.Refund(t.Context(), "p", ask("r-2", 600)); err != nil {
		t.Fatal(err)
	}
	p := s.is(t, "p", "REFUNDED", 1000, 1000)
	s.has(t, "clearing", 0, 0)
	s.has(t, "shop", 0, 0)

	if len(p.Steps) != 5 || p.Pending != nil || p.Capturable != 0 {
		t.Errorf("%+v", p)
	}
	s.sound(t)
}

func TestFinalCaptureReleasesTheRest(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 1000)

	if _, err := s.Capture(t.Context(), "p", payments.StepRequest{ID: "c", Amount: 300, Final: true}); err != nil {
		t.Fatal(err)
	}
	s.is(t, "p", "PARTIALLY_CAPTURED", 300, 0)
	s.has(t, "clearing", -300, 0)

	if _, err := s.Capture(t.Context(), "p", ask("c-2", 1)); !errors.Is(err, payments.ErrExceeded) {
		t.Errorf("after the last: %v", err)
	}
	// A void after a part, and a refund before the rest was captured, do the same.
	for _, id := range []string{"v", "r"} {
		s.authorized(t, id, 1000)

		if _, err := s.Capture(t.Context(), id, ask("c", 300)); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := s.Void(t.Context(), "v"); err != nil {
		t.Fatal(err)
	}
	s.is(t, "v", "PARTIALLY_CAPTURED", 300, 0)

	if _, err := s.Refund(t.Context(), "r", ask("r", 300)); err != nil {
		t.Fatal(err)
	}
	s.is(t, "r", "REFUNDED", 300, 300)
	s.has(t, "clearing", -600, 0)
	s.sound(t)
}

func TestDeclineReleasesTheHoldAndIsFinal(t *testing.T) {
	s := newSeller(t)
	s.setBank(100, 0)

	for range 2 {
		p, err := s.Authorize(t.Context(), of("p", 1000))
		if !errors.Is(err, payments.ErrDeclined) || p.State != "FAILED" {
			t.Errorf("%+v, %v", p, err)
		}
	}
	s.has(t, "clearing", 0, 0)

	if _, err := s.Capture(t.Context(), "p", ask("c", 1)); !errors.Is(err, payments.ErrState) {
		t.Errorf("capture: %v", err)
	}
	s.sound(t)
}

func TestDeclinedCaptureFailsThePayment(t *testing.T) {
	s := newSeller(t)
	for _, id := range []string{"first", "second"} {
		s.authorized(t, id, 1000)
	}

	if _, err := s.Capture(t.Context(), "second", ask("c-1", 400)); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"first", "second"} { // behind our back the bank closes the authorization
		if err := s.sandbox.Void(t.Context(), id+"/authorize"); err != nil {
			t.Fatal(err)
		}

		for range 2 {
			if _, err := s.Capture(t.Context(), id, ask("c", 600)); !errors.Is(err, payments.ErrVoided) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}

	for id, want := range map[string]int64{"first": 1000, "second": 600} {
		if p, err := s.Get(t.Context(), id); err != nil || p.Uncollected != want {
			t.Errorf("%s: %d are not collected, want %d; %v", id, p.Uncollected, want, err)
		}
	}
	s.is(t, "first", "FAILED", 0, 0)
	s.is(t, "second", "PARTIALLY_CAPTURED", 400, 0)
	s.has(t, "clearing", -400, 600) // the rest of the second
	s.has(t, "shop", 400, 0)
}

// TestUncollectedMoneyIsShown has a processor whose authorization has expired before it says so, and
// a processor that declines: the payment shows the uncollected amount, until it is captured or
// canceled.
func TestUncollectedMoneyIsShown(t *testing.T) {
	for want, said := range map[error]error{payments.ErrExpired: payments.ErrExpired, payments.ErrDeclined: payments.ErrDeclined} {
		s := newSeller(t)
		s.authorized(t, "p", 1000)
		s.bank.answerCaptures(said)

		for range 2 {
			if p, err := s.Capture(t.Context(), "p", ask("c", 600)); !errors.Is(err, want) || !errors.Is(err, payments.ErrDeclined) || p.Uncollected != 1000 {
				t.Errorf("%v: %+v, %v", said, p, err)
			}
		}
		s.is(t, "p", "FAILED", 0, 0)
		s.has(t, "clearing", 0, 0)

		if all, _, err := s.List(t.Context(), "FAILED", "", 0); err != nil || len(all) != 1 || all[0].Uncollected != 1000 {
			t.Errorf("%+v, %v", all, err)
		}

		// The way out: a charge under another id. The first payment is closed.
		n := of("p:2", 1000)
		if _, err := s.Charge(t.Context(), n); err != nil {
			t.Error(err)
		}

		if p, err := s.Cancel(t.Context(), "p"); err != nil || p.Uncollected != 0 {
			t.Errorf("%+v, %v", p, err)
		}
		s.sound(t)
	}
}

func TestEachLimitHasItsError(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "p", 1000)
	s.authorized(t, "a", 1000)

	for name, c := range map[string]struct {
		do   func() error
		want error
	}{
		"more than authorized": {func() error { _, err := s.Capture(t.Context(), "a", ask("c", 1001)); return err }, payments.ErrExceeded},
		"more than captured":   {func() error { _, err := s.Refund(t.Context(), "p", ask("r", 1001)); return err }, payments.ErrExceeded},
		"refund of nothing":    {func() error { _, err := s.Refund(t.Context(), "a", ask("r", 1)); return err }, payments.ErrState},
		"capture again":        {func() error { _, err := s.Capture(t.Context(), "p", ask("c-2", 1)); return err }, payments.ErrState},
		"void what is taken":   {func() error { _, err := s.Void(t.Context(), "p"); return err }, payments.ErrState},
		"the step's id":        {func() error { _, err := s.Capture(t.Context(), "p", ask("c", 999)); return err }, payments.ErrConflict},
		"the id, another kind": {func() error { _, err := s.Refund(t.Context(), "p", ask("c", 1000)); return err }, payments.ErrConflict},
		"the payment's id":     {func() error { _, err := s.Authorize(t.Context(), of("p", 999)); return err }, payments.ErrConflict},
		"another payer": {func() error {
			n := of("p", 1000)
			n.Payer = "wallet"
			s.fund(t, "wallet", 1000)
			_, err := s.Authorize(t.Context(), n)

			return err
		}, payments.ErrConflict},
		"no such payment":   {func() error { _, err := s.Capture(t.Context(), "nobody", ask("c", 1)); return err }, payments.ErrUnknownPayment},
		"a step of our own": {func() error { _, err := s.Capture(t.Context(), "a", ask("void", 1)); return err }, payments.ErrInvalid},
		"a bad id":          {func() error { _, err := s.Get(t.Context(), "event#1"); return err }, payments.ErrInvalid},
		"nothing":           {func() error { _, err := s.Capture(t.Context(), "a", ask("c", 0)); return err }, payments.ErrInvalid},
		"payer is payee":    {func() error { n := of("x", 1); n.Payee = n.Payer; _, err := s.Authorize(t.Context(), n); return err }, payments.ErrInvalid},
		"no order":          {func() error { n := of("x", 1); n.OrderID = ""; _, err := s.Authorize(t.Context(), n); return err }, payments.ErrInvalid},
		"a currency":        {func() error { n := of("x", 1); n.Currency = "euro"; _, err := s.Authorize(t.Context(), n); return err }, payments.ErrInvalid},
		"an account":        {func() error { n := of("x", 1); n.Payer = "nobody"; _, err := s.Authorize(t.Context(), n); return err }, ledger.ErrUnknownAccount},
		"the payer's balance": {func() error {
			n := of("x", 99999)
			n.Payer = "wallet"
			_, err := s.Authorize(t.Context(), n)
			return err
		}, ledger.ErrInsufficientFunds},
	} {
		if err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: want %v, got %v", name, c.want, err)
		}
	}

	if _, err := s.Get(t.Context(), "x"); !errors.Is(err, payments.ErrUnknownPayment) {
		t.Errorf("a refused payment left a record: %v", err)
	}
	s.sound(t)
}

func TestRefundSetsTheMoneyAsideBeforeItsRequest(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "p", 1000)

	if _, err := s.ledger.Post(t.Context(), ledger.Move("payout", "shop", "clearing", 700, "EUR")); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Refund(t.Context(), "p", ask("r", 400)); !errors.Is(err, ledger.ErrInsufficientFunds) {
		t.Errorf("got %v", err)
	}
	s.is(t, "p", "CAPTURED", 1000, 0)

	if n := s.bank.asked["p/r"]; n != 0 {
		t.Errorf("the processor was asked %d times", n)
	}
	s.fund(t, "shop", 800) // some shard has enough again

	if _, err := s.Refund(t.Context(), "p", ask("r", 400)); err != nil {
		t.Fatal(err)
	}
	s.is(t, "p", "PARTIALLY_REFUNDED", 1000, 400)
	s.sound(t)
}

func TestTimeoutIsResolvedByALookup(t *testing.T) {
	s := newSeller(t)
	s.setBank(0, 100) // everything is carried out, but the first answer is lost
	s.captured(t, "p", 1000)

	if _, err := s.Refund(t.Context(), "p", ask("r", 1000)); err != nil {
		t.Fatal(err)
	}

	for key, n := range s.bank.asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times: the key tells", key, n)
		}
	}
	s.bank.early = 2 // never arrived: the key is unknown, so it is asked for again
	s.authorized(t, "q", 10)

	if n := s.bank.asked["q/authorize"]; n != 3 {
		t.Errorf("asked %d times", n)
	}

	s.setBank(100, 0)

	s.bank.lost = 1
	if p, err := s.Authorize(t.Context(), of("d", 10)); !errors.Is(err, payments.ErrDeclined) || p.State != "FAILED" {
		t.Errorf("declined, and the answer lost: %+v, %v", p, err)
	}
	s.sound(t)
}

func TestUnresolvedStepKeepsItsHoldAndIsRecovered(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "p", 1000)
	s.authorized(t, "void", 50)

	s.bank.down = true
	for id, do := range map[string]func() error{
		"authorize": func() error { _, err := s.Authorize(t.Context(), of("new", 70)); return err },
		"refund":    func() error { _, err := s.Refund(t.Context(), "p", ask("r", 400)); return err },
		"void":      func() error { _, err := s.Void(t.Context(), "void"); return err },
	} {
		if err := do(); !errors.Is(err, payments.ErrUnresolved) {
			t.Errorf("%s: %v", id, err)
		}
	}
	s.is(t, "p", "REFUND_PENDING", 1000, 0)
	s.has(t, "shop", 1000, 400)
	s.has(t, "clearing", -1000, 120)

	if _, err := s.Refund(t.Context(), "p", ask("r-2", 1)); !errors.Is(err, payments.ErrBusy) {
		t.Errorf("another step meanwhile: %v", err)
	}

	if r, err := s.Recover(t.Context(), "", 100); err != nil || r.Finished != 0 || len(r.Left) != 0 {
		t.Errorf("its worker may still be at it: %+v, %v", r, err)
	}
	s.now.Add(time.Minute.Milliseconds())

	if r, err := s.Recover(t.Context(), "", 100); err != nil || r.Finished != 0 || len(r.Left) != 3 {
		t.Errorf("the processor is still down: %+v, %v", r, err)
	}

	s.bank.down = false
	s.now.Add((15 * time.Second).Milliseconds()) // the steps were postponed

	var finished atomic.Int32
	var group sync.WaitGroup
	for range 4 { // several sweeps at once
		other := s.another()
		group.Go(func() {
			r, err := other.Recover(t.Context(), "", 100)
			if err != nil || len(r.Left) != 0 || r.Next != "" {
				t.Errorf("%+v, %v", r, err)
			}
			finished.Add(int32(r.Finished))
		})
	}
	group.Wait()
	s.is(t, "p", "PARTIALLY_REFUNDED", 1000, 400)
	s.is(t, "new", "AUTHORIZED", 0, 0)
	s.is(t, "void", "VOIDED", 0, 0)
	s.has(t, "clearing", -600, 70)
	s.sound(t)
}

func TestVoidOvertakesAnUnresolvedAuthorization(t *testing.T) {
	s := newSeller(t)
	s.bank.down = true
	if _, err := s.Authorize(t.Context(), of("p", 100)); !errors.Is(err, payments.ErrUnresolved) {
		t.Fatal(err)
	}

	s.bank.down = false
	if p, err := s.Void(t.Context(), "p"); err != nil || p.State != "VOIDED" {
		t.Errorf("%+v, %v", p, err)
	}

	if _, err := s.Authorize(t.Context(), of("p", 100)); !errors.Is(err, payments.ErrVoided) {
		t.Errorf("the authorization comes late: %v", err)
	}

	if _, err := s.sandbox.Authorize(t.Context(), payments.Request{Key: "p/authorize", OrderID: "o-p", Amount: 100, Currency: "EUR"}); !errors.Is(err, payments.ErrVoided) {
		t.Errorf("and at the processor: %v", err)
	}
	s.has(t, "clearing", 0, 0)
}

func TestExpiredPaymentIsReleased(t *testing.T) {
	s := newSeller(t)
	for i := range 12 {
		n := of(fmt.Sprint("p-", i), 100)
		if i < 10 {
			n.ExpiresAt = s.time().Add(time.Hour)
		}

		if _, err := s.Authorize(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := s.Capture(t.Context(), "p-0", ask("c", 40)); err != nil {
		t.Fatal(err)
	}

	if _, err := s.Capture(t.Context(), "p-1", ask("c", 100)); err != nil {
		t.Fatal(err)
	}
	s.now.Add(time.Hour.Milliseconds())

	expired, calls := 0, 1
	for after := ""; ; calls++ {
		r, err := s.Recover(t.Context(), after, 5)
		if err != nil || len(r.Left) != 0 {
			t.Fatalf("%+v, %v", r, err)
		}

		expired += r.Expired
		if after = r.Next; after == "" {
			break
		}
	}

	if expired != 9 || calls < 2 {
		t.Errorf("%d expired in %d calls", expired, calls)
	}
	s.is(t, "p-0", "PARTIALLY_CAPTURED", 40, 0)
	s.is(t, "p-1", "CAPTURED", 100, 0)
	s.is(t, "p-2", "AUTH_EXPIRED", 0, 0)
	s.is(t, "p-11", "AUTHORIZED", 0, 0)
	s.has(t, "clearing", -140, 200)

	if p, err := s.Capture(t.Context(), "p-2", ask("c", 1)); !errors.Is(err, payments.ErrState) || !errors.Is(err, payments.ErrExpired) || p.Uncollected != 100 {
		t.Errorf("capture: %+v, %v", p, err)
	}

	if p, err := s.Void(t.Context(), "p-2"); err != nil || p.State != "VOIDED" || p.Uncollected != 0 {
		t.Errorf("void: %+v, %v", p, err)
	}
	s.sound(t)
}

func TestStaleDueRowIsDeleted(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "p", 10)

	for _, row := range []map[string]types.AttributeValue{
		{"shard": &types.AttributeValueMemberS{Value: "steps#0"}, "due": &types.AttributeValueMemberS{Value: "000000000000001#p#gone"}},
		{"shard": &types.AttributeValueMemberS{Value: "steps#3"}, "due": &types.AttributeValueMemberS{Value: "000000000000001#nobody#c"}},
		{"shard": &types.AttributeValueMemberS{Value: "expiry#0"}, "due": &types.AttributeValueMemberS{Value: "000000000000001#p#"}},
	} {
		if _, err := s.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.PaymentTables().Due), Item: row}); err != nil {
			t.Fatal(err)
		}
	}

	if r, err := s.Recover(t.Context(), "", 100); err != nil || r.Finished+r.Expired+len(r.Left) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	s.sound(t) // counts the rows

	for _, after := range []string{"x", "99|", "steps|a", "steps"} {
		if _, err := s.Recover(t.Context(), after, 1); !errors.Is(err, payments.ErrInvalid) {
			t.Errorf("after %q: %v", after, err)
		}
	}
}

func TestConcurrentWorkersDoAStepOnceAndNeverTakeTooMuch(t *testing.T) {
	s := newSeller(t)
	s.authorized(t, "p", 1000)

	var group sync.WaitGroup
	for i := range 24 {
		other := s.another()
		group.Go(func() { // 8 captures of 300, each by three workers: 3 of them fit
			_, err := other.Capture(t.Context(), "p", ask(fmt.Sprint("c-", i%8), 300))
			if err != nil && !errors.Is(err, payments.ErrExceeded) && !errors.Is(err, payments.ErrBusy) {
				t.Error(err)
			}
		})
	}
	group.Wait()

	for i := range 8 {
		_, _ = s.Capture(t.Context(), "p", ask(fmt.Sprint("c-", i), 300))
	}
	s.is(t, "p", "PARTIALLY_CAPTURED", 900, 0)
	s.sound(t)

	for i := range 24 {
		other := s.another()
		group.Go(func() {
			_, err := other.Refund(t.Context(), "p", ask(fmt.Sprint("r-", i%8), 400))
			if err != nil && !errors.Is(err, payments.ErrExceeded) && !errors.Is(err, payments.ErrBusy) && !errors.Is(err, ledger.ErrInsufficientFunds) {
				t.Error(err)
			}
		})
	}
	group.Wait()

	if p, _ := s.Get(t.Context(), "p"); p.Refunded > p.Captured || p.Pending != nil {
		t.Errorf("%+v", p)
	}
	s.sound(t)
}

func TestListReturnsEveryPaymentOnce(t *testing.T) {
	s := newSeller(t)
	for i := range 7 {
		s.authorized(t, fmt.Sprint("p-", i), 10)
	}
	s.captured(t, "c", 10)

	seen := 0
	for after := ""; ; {
		page, next, err := s.List(t.Context(), "AUTHORIZED", after, 3)
		if err != nil || len(page) > 3 || next != "" && len(page) < 3 {
			t.Fatal(len(page), next, err)
		}
		seen += len(page)

		if after = next; after == "" {
			break
		}
	}

	if seen != 7 {
		t.Errorf("%d of 7", seen)
	}

	for _, c := range []struct {
		state workflow.State
		limit int
	}{{"", -1}, {"", 1001}, {"PAID", 1}} {
		if _, _, err := s.List(t.Context(), c.state, "", c.limit); !errors.Is(err, payments.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := payments.New(payments.Config{})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"DynamoDB", "Tables.Payments", "Tables.Due", "Ledger", "Processor"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

// mistaken is the bank that loses every capture and then knows something else of its key.
type mistaken struct {
	*bank
	knows payments.Operation
	fails error // of the lookup
}

func (m *mistaken) Capture(context.Context, payments.Request) (string, error) {
	return "", payments.ErrTimeout
}

func (m *mistaken) Lookup(context.Context, string) (payments.Operation, error) {
	return m.knows, m.fails
}

// The processor's record of a step's key is its answer, whatever the call said.
func TestALookupAnswersForALostCall(t *testing.T) {
	for _, c := range []struct {
		knows payments.Operation
		fails error
		want  error
		state workflow.State
	}{
		{payments.Operation{Status: payments.OperationDeclined}, nil, payments.ErrDeclined, "FAILED"},
		{payments.Operation{Status: payments.OperationVoided}, nil, payments.ErrVoided, "FAILED"},
		{payments.Operation{}, nil, payments.ErrTimeout, "CAPTURING"},
		{payments.Operation{}, errDown, errDown, "CAPTURING"},
	} {
		s := newSeller(t)
		s.authorized(t, "p", 100)

		_, err := s.with(s.ledger, &mistaken{bank: s.bank, knows: c.knows, fails: c.fails}).Capture(t.Context(), "p", ask("c", 60))
		if !errors.Is(err, c.want) || errors.Is(err, payments.ErrUnresolved) != (c.state == "CAPTURING") {
			t.Errorf("%+v, %v: %v", c.knows, c.fails, err)
		}
		s.is(t, "p", c.state, 0, 0)
	}
}

func TestLookupOfAnotherAmountOrCurrencyIsNoSuccess(t *testing.T) {
	for _, c := range []struct {
		name  string
		knows payments.Operation
		state workflow.State
	}{
		{"the step itself", payments.Operation{Amount: 60, Currency: "EUR"}, "PARTIALLY_CAPTURED"},
		{"a larger amount", payments.Operation{Amount: 61, Currency: "EUR"}, "FAILED"},
		{"a smaller amount", payments.Operation{Amount: 59, Currency: "EUR"}, "FAILED"},
		{"another currency", payments.Operation{Amount: 60, Currency: "USD"}, "FAILED"},
	} {
		s := newSeller(t)
		s.authorized(t, "p", 100)

		c.knows.Status = payments.OperationSucceeded
		p, err := s.with(s.ledger, &mistaken{bank: s.bank, knows: c.knows}).Capture(t.Context(), "p", ask("c", 60))

		if failed := c.state == "FAILED"; errors.Is(err, payments.ErrDeclined) != failed || !failed && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}

		if step := p.Steps[len(p.Steps)-1]; p.State == "FAILED" && step.Reason != "conflict" {
			t.Errorf("%s: %+v", c.name, step)
		}

		if c.state == "FAILED" {
			s.is(t, "p", c.state, 0, 0)
			s.has(t, "shop", 0, 0)
			s.has(t, "clearing", 0, 0)
		} else {
			s.is(t, "p", c.state, 60, 0)
			s.has(t, "shop", 60, 0)
		}
	}
}
