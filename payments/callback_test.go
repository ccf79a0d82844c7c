package payments_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/payments"
)

// body is a callback as the processor writes it.
func body(kind, key string, amount int64, currency string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"timestamp":"2026-11-21T12:00:00Z","data":{"key":%q,"amount":%d,"currency":%q}}`, kind, key, amount, currency)
}

// send signs a callback and brings it in.
func (s *seller) send(t testing.TB, to *payments.Payments, id string, body []byte) (payments.Received, error) {
	t.Helper()

	h, err := s.keys.Sign(id, body)
	if err != nil {
		t.Fatal(err)
	}

	return to.Callback(t.Context(), h, body)
}

func (s *seller) effect(t testing.TB, id string, body []byte, want payments.Effect, reason string) {
	t.Helper()

	if r, err := s.send(t, s.Payments, id, body); err != nil || r.Effect != want || !strings.Contains(r.Reason, reason) {
		t.Errorf("event %s: %+v, %v; want %s, %q", id, r, err, want, reason)
	}
}

// unresolved leaves a capture under way that the processor has carried out.
func (s *seller) unresolved(t testing.TB, id string) {
	t.Helper()
	s.authorized(t, id, 1000)

	s.unanswered(t, func(ctx context.Context) error { _, err := s.Capture(ctx, id, ask("c", 400)); return err })

	r := payments.Request{Key: id + "/c", Authorization: id + "/authorize", OrderID: "o-" + id, Amount: 400, Currency: "EUR"}
	if _, err := s.sandbox.Capture(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestCallbackEndsThePendingStep(t *testing.T) {
	s := newSeller(t)
	s.unresolved(t, "p")
	s.effect(t, "evt-1", body("payment.succeeded", "p/c", 400, "EUR"), payments.EffectEnded, "")
	s.is(t, "p", "PARTIALLY_CAPTURED", 400, 0)
	s.effect(t, "evt-1", body("payment.succeeded", "p/c", 400, "EUR"), payments.EffectRepeated, "")
	s.effect(t, "evt-2", body("payment.succeeded", "p/c", 400, "EUR"), payments.EffectNone, "had ended so")
	s.effect(t, "evt-3", body("payment.failed", "p/c", 400, "EUR"), payments.EffectParked, "otherwise")
	s.is(t, "p", "PARTIALLY_CAPTURED", 400, 0)
	s.sound(t)
}

func TestConcurrentCopiesOfACallbackCountOnce(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "q", 700)
	s.unresolved(t, "p")

	for _, c := range []struct {
		id   string
		body []byte
	}{{"evt-1", body("payment.succeeded", "p/c", 400, "EUR")}, {"evt-2", body("payment.charged_back", "q/authorize", 700, "EUR")}} {
		var counted, repeated atomic.Int32
		var group sync.WaitGroup
		for range 16 {
			other := s.another()
			group.Go(func() {
				for {
					r, err := s.send(t, other, c.id, c.body)
					switch {
					case err != nil: // a conflict; the processor sends it again
					case r.Effect == payments.EffectRepeated:
						repeated.Add(1)
						return
					default:
						counted.Add(1)
						return
					}
				}
			})
		}
		group.Wait()

		if counted.Load() != 1 || repeated.Load() != 15 {
			t.Errorf("%s: %d counted, %d were repeated", c.id, counted.Load(), repeated.Load())
		}
	}
	s.is(t, "p", "PARTIALLY_CAPTURED", 400, 0)
	s.is(t, "q", "CHARGED_BACK", 700, 700)
	s.has(t, "shop", 400, 0)
	s.sound(t)
}

func TestCallbackThatDoesNotFitIsParked(t *testing.T) {
	s := newSeller(t)
	s.unresolved(t, "p")
	s.authorized(t, "a", 50)
	s.captured(t, "c", 50)

	for i, c := range []struct {
		body   []byte
		reason string
	}{
		{body("payment.succeeded", "nobody/c", 400, "EUR"), "unknown payment"},
		{body("payment.succeeded", "p/other", 400, "EUR"), "unknown step"},
		{body("payment.succeeded", "p/c", 401, "EUR"), "another amount"},
		{body("payment.succeeded", "p/c", 400, "USD"), "another currency"},
		{body("payment.failed", "p/authorize", 1000, "EUR"), "otherwise"},
		{body("payment.expired", "a/authorize", 50, "EUR"), "says otherwise when asked"},
		{body("payment.charged_back", "c/authorize", 49, "EUR"), "another amount"},
		{body("payment.charged_back", "a/authorize", 50, "EUR"), "the payment is AUTHORIZED"},
	} {
		s.effect(t, fmt.Sprint("evt-", i), c.body, payments.EffectParked, c.reason)
	}
	s.is(t, "a", "AUTHORIZED", 0, 0)
	s.is(t, "p", "CAPTURING", 0, 0)

	seen := map[string]bool{}
	for after := ""; ; {
		page, next, err := s.Parked(t.Context(), after, 3)
		if err != nil || len(page) > 3 || next != "" && len(page) < 3 {
			t.Fatal(len(page), next, err)
		}

		for _, r := range page {
			seen[r.EventID] = r.Reason != "" && r.PaymentID != "" && !r.At.IsZero()
		}

		if after = next; after == "" {
			break
		}
	}

	if len(seen) != 8 {
		t.Errorf("parked %v", seen)
	}
	// An event that came before its payment is taken when it is sent again.
	early := body("payment.succeeded", "early/authorize", 10, "EUR")
	s.effect(t, "early", early, payments.EffectParked, "unknown payment")
	s.authorized(t, "early", 10)
	s.effect(t, "early", early, payments.EffectNone, "had ended so")
	s.effect(t, "early", early, payments.EffectRepeated, "")
}

func TestProcessorOutranksACallback(t *testing.T) {
	s := newSeller(t)
	s.unanswered(t, func(ctx context.Context) error { _, err := s.Authorize(ctx, of("p", 100)); return err })
	// Nothing was authorized under the key; the callback says it was declined, the
	// processor, when asked, authorizes.
	s.effect(t, "evt", body("payment.failed", "p/authorize", 100, "EUR"), payments.EffectParked, "says otherwise")
	s.is(t, "p", "AUTHORIZED", 0, 0)

	s.bank.down = true
	_, _ = s.Capture(t.Context(), "p", ask("c", 100))
	if r, err := s.send(t, s.Payments, "evt-2", body("payment.succeeded", "p/c", 100, "EUR")); !errors.Is(err, payments.ErrUnresolved) {
		t.Errorf("the processor cannot be asked: %+v, %v", r, err)
	}
	s.bank.down = false
	s.effect(t, "evt-2", body("payment.succeeded", "p/c", 100, "EUR"), payments.EffectEnded, "")
	s.is(t, "p", "CAPTURED", 100, 0)
}

func TestLateExpiryLeavesACapturedPayment(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "paid", 100)
	s.effect(t, "late", body("payment.expired", "paid/authorize", 100, "EUR"), payments.EffectNone, "CAPTURED")
	s.is(t, "paid", "CAPTURED", 100, 0)
	s.authorized(t, "open", 100)

	if err := s.sandbox.Void(t.Context(), "open/authorize"); err != nil {
		t.Fatal(err)
	}
	s.effect(t, "expired", body("payment.expired", "open/authorize", 100, "EUR"), payments.EffectEnded, "")
	s.is(t, "open", "AUTH_EXPIRED", 0, 0)
	s.has(t, "clearing", -100, 0)
	s.effect(t, "news", body("payment.of_a_new_type", "paid/authorize", 100, "EUR"), payments.EffectNone, "unknown type")
}

func TestChargebackMovesWhatWasNotRefunded(t *testing.T) {
	s := newSeller(t)
	s.captured(t, "p", 1000)

	if _, err := s.Refund(t.Context(), "p", ask("r", 300)); err != nil {
		t.Fatal(err)
	}
	s.effect(t, "evt", body("payment.charged_back", "p/authorize", 700, "EUR"), payments.EffectEnded, "")
	s.is(t, "p", "CHARGED_BACK", 1000, 1000)
	s.has(t, "shop", 0, 0)

	if _, err := s.Refund(t.Context(), "p", ask("r-2", 1)); !errors.Is(err, payments.ErrState) {
		t.Errorf("refund of what was charged back: %v", err)
	}
}

// TestChangedByteOfACallbackIsRefused changes each byte of the body and of each header.
func TestChangedByteOfACallbackIsRefused(t *testing.T) {
	s := newSeller(t)
	s.unresolved(t, "p")
	good := body("payment.succeeded", "p/c", 400, "EUR")

	signed, err := s.keys.Sign("evt-1", good)
	if err != nil {
		t.Fatal(err)
	}

	refused := func(what string, h http.Header, body []byte) {
		t.Helper()

		_, err := s.Callback(t.Context(), h, body)
		if !errors.Is(err, webhooks.ErrSignature) && !errors.Is(err, webhooks.ErrMalformed) && !errors.Is(err, webhooks.ErrTimestamp) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range good {
		for _, flip := range []byte{1, 0x20, 0x80} {
			changed := append([]byte(nil), good...)
			changed[i] ^= flip
			refused(fmt.Sprintf("byte %d ^ %d", i, flip), signed, changed)
		}
	}
	refused("a byte more", signed, append(append([]byte(nil), good...), ' '))
	refused("a byte less", signed, good[:len(good)-1])

	for name, values := range signed {
		for i := range values[0] {
			changed := signed.Clone()

			b := []byte(values[0])
			if b[i] ^= 1; b[i] == '=' {
				continue
			}

			changed[name] = []string{string(b)}
			if name == webhooks.HeaderSignature && strings.HasPrefix(string(b), "v1,") && i == len(b)-1 {
				continue // padding bits of base64 may not decide; the strict decoder refuses them
			}
			refused(fmt.Sprintf("header %s, byte %d", name, i), changed, good)
		}
		missing := signed.Clone()
		missing.Del(name)
		refused("without "+name, missing, good)
	}

	old := fmt.Sprint(time.Now().Add(-time.Hour).Unix())
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "evt-1.%s.%s", old, good)

	late := signed.Clone()
	late.Set(webhooks.HeaderTimestamp, old)
	late.Set(webhooks.HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))

	if _, err := s.Callback(t.Context(), late, good); !errors.Is(err, webhooks.ErrTimestamp) {
		t.Errorf("an hour later: %v", err)
	}
	s.is(t, "p", "CAPTURING", 0, 0)

	none := s.kit.Payments(s.ledger, s.bank)
	if _, err := none.Callback(t.Context(), signed, good); !errors.Is(err, payments.ErrNoCallbacks) {
		t.Errorf("without a secret: %v", err)
	}
}

func TestSignedBodyThatIsNoCallbackIsRefused(t *testing.T) {
	s := newSeller(t)
	for says, text := range map[string]string{
		"malformed": `no JSON`, "duplicate": `{"type":"a","type":"b"}`, "data.key": `{"type":"payment.failed","data":{"amount":1,"currency":"EUR"}}`,
		"data.key: ": `{"type":"payment.failed","data":{"KEY":"p/c","amount":1,"currency":"EUR"}}`, "type": `{"Type":"a","data":{"key":"p/c","amount":1}}`,
		"data.amount": `{"type":"payment.failed","data":{"key":"p/c","amount":0}}`, "amount": `{"type":"payment.failed","data":{"key":"p/c","amount":1.5}}`,
		"data.key: paymentId": `{"type":"payment.failed","data":{"key":"event#1/c","amount":1}}`, "after": `{"type":"a","data":{"key":"p/c","amount":1}} {}`,
		"more than": `{"type":"` + strings.Repeat("a", 64<<10) + `"}`,
	} {
		if r, err := s.send(t, s.Payments, "evt", []byte(text)); !errors.Is(err, payments.ErrCallback) || !strings.Contains(err.Error(), strings.TrimSpace(says)) {
			t.Errorf("%.60s: %+v, %v", text, r, err)
		}
	}
}

func FuzzCallback(f *testing.F) {
	s := newSeller(f)
	s.authorized(f, "p", 1000)

	for _, seed := range []string{string(body("payment.succeeded", "p/authorize", 1000, "EUR")), string(body("payment.expired", "p/authorize", 1000, "EUR")),
		`{"type":"payment.charged_back","data":{"key":"p/c","amount":1,"currency":"EUR"}}`, `{`, `[]`, `{"type":1}`, `{"data":null}`} {
		f.Add([]byte(seed))
	}
	n := 0
	f.Fuzz(func(t *testing.T, body []byte) {
		n++
		if _, err := s.send(t, s.Payments, fmt.Sprint("evt-", n), body); err != nil && !errors.Is(err, payments.ErrCallback) {
			t.Error(err)
		}
		// Whatever is signed, nothing moves that the processor does not confirm.
		if p, err := s.Get(t.Context(), "p"); err != nil || p.State != "AUTHORIZED" {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestUnknownEventTypeIsAcknowledged(t *testing.T) {
	s := newSeller(t)
	for i, text := range []string{`{"type":"payout.paid"}`, `{"type":"payout.paid","data":"none"}`, `{"type":"payout.paid","data":{"key":7,"amount":"1.50"}}`} {
		s.effect(t, fmt.Sprint("evt-", i), []byte(text), payments.EffectNone, "unknown type")
	}
}

// The receipt of an event that does not fit is parked by the write that ends the step: a person sees it, even
// if the server dies right after that write.
func TestAnEventThatDoesNotFitIsParkedTogetherWithItsStep(t *testing.T) {
	for reason, row := range map[string]struct {
		event, key string
		begin      func(s *seller)
	}{
		"says otherwise": {"payment.failed", "p/authorize", func(s *seller) {
			s.unanswered(t, func(ctx context.Context) error { _, err := s.Authorize(ctx, of("p", 100)); return err })
		}},
		"the money goes back: account closed": {"payment.succeeded", "p/charge", func(s *seller) {
			n := of("p", 100)
			n.Payee = "till"
			s.pendingCharge(t, n)
			s.closeAccount(t, "till")
		}},
	} {
		s := newSeller(t)
		row.begin(s)

		// The receipt that is written alone, after the step has ended.
		s.faults.Inject(embeddedtest.LoseRequest("PutItem"))

		if r, err := s.send(t, s.Payments, "evt", body(row.event, row.key, 100, "EUR")); err == nil {
			t.Errorf("%s: %+v", reason, r)
		}
		s.faults.Clear()

		if page, _, err := s.Parked(t.Context(), "", 10); err != nil || len(page) != 1 || !strings.Contains(page[0].Reason, reason) {
			t.Errorf("%s: parked are %+v, %v", reason, page, err)
		}
	}
}
