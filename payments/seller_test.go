package payments_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify/webhooks"
	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/tests/shop"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seller takes payments on an engine of its own, from the account "clearing" to the account
// "shop".
type seller struct {
	*payments.Payments
	kit     *shop.Shop
	db      *dynamodb.Client // through the fuse
	direct  *dynamodb.Client
	ledger  *ledger.Ledger
	sandbox *sandbox.Bank
	bank    *bank
	keys    *webhooks.Keys
	fuse    *fuse
	wire    *wire
	faults  *embeddedtest.Transport // of db
	now     atomic.Int64            // epoch ms
}

// bank is the sandbox with injected faults.
type bank struct {
	*sandbox.Bank
	fuse *fuse
	mu   sync.Mutex
	// down fails every request. Leave is called with the first one, if it is not nil.
	down  bool
	leave func()
	// early is how many of the next requests fail before they are carried out, lost how
	// many of those after them are carried out without an answer.
	lost, early int
	asked       map[string]int
	lookups     map[string]int

	voidDown, declineRefunds atomic.Bool
	captures                 error // the answer to captures, nil for the sandbox's
}

var errDown = errors.New("connection refused")

func (b *bank) do(key string, fn func() (string, error)) (string, error) {
	b.mu.Lock()

	b.asked[key]++
	down, early, lost := b.down, b.early > 0, b.lost > 0
	if down && b.leave != nil {
		b.leave()
	}

	switch {
	case early:
		b.early--
	case lost:
		b.lost--
	}
	b.mu.Unlock()

	if down || early {
		return "", errDown
	}

	return b.fuse.string(func() (string, error) {
		reference, err := fn()

		if lost {
			return "", payments.ErrTimeout
		}

		return reference, err
	})
}

func (b *bank) Authorize(ctx context.Context, r payments.Request) (string, error) {
	return b.do(r.Key, func() (string, error) { return b.Bank.Authorize(ctx, r) })
}

func (b *bank) Sale(ctx context.Context, r payments.Request) (string, error) {
	return b.do(r.Key, func() (string, error) { return b.Bank.Sale(ctx, r) })
}

func (b *bank) Capture(ctx context.Context, r payments.Request) (string, error) {
	b.mu.Lock()
	answer := b.captures
	b.mu.Unlock()

	if answer != nil {
		return "", answer
	}

	return b.do(r.Key, func() (string, error) { return b.Bank.Capture(ctx, r) })
}

// answerCaptures makes the bank answer captures with the error.
func (b *bank) answerCaptures(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.captures = err
}

func (b *bank) Refund(ctx context.Context, r payments.Request) (string, error) {
	if b.declineRefunds.Load() {
		return "", payments.ErrDeclined
	}

	return b.do(r.Key, func() (string, error) { return b.Bank.Refund(ctx, r) })
}

func (b *bank) Void(ctx context.Context, key string) error {
	if b.voidDown.Load() {
		return errDown
	}

	_, err := b.do("void "+key, func() (string, error) { return "", b.Bank.Void(ctx, key) })

	return err
}

func (b *bank) Lookup(ctx context.Context, key string) (op payments.Operation, err error) {
	b.mu.Lock()
	b.lookups[key]++
	down := b.down
	b.mu.Unlock()

	if down {
		return op, errDown
	}
	_, err = b.fuse.string(func() (string, error) {
		op, err = b.Bank.Lookup(ctx, key)
		return "", err
	})

	return op, err
}

// fuse kills the worker at a certain call, before or after the call is carried out. Every
// later call fails.
type fuse struct {
	mu    sync.Mutex
	calls int
	at    int // the call from 1, 0 for never
	after bool
	die   func()
}

var errDead = errors.New("the worker is dead")

func (f *fuse) burn() (dead, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.calls++
	if f.at == 0 || f.calls < f.at {
		return false, false
	}

	last = f.calls == f.at && f.after
	if !last {
		f.die()
	}

	return !last, last
}

func (f *fuse) string(fn func() (string, error)) (string, error) {
	dead, last := f.burn()
	if dead {
		return "", errDead
	}
	text, err := fn()

	if last {
		f.die()
		return "", errDead
	}

	return text, err
}

func (f *fuse) set(at int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.at, f.after = 0, at, after
}

// wire is the worker's connection to DynamoDB.
type wire struct {
	fuse  *fuse
	mu    sync.Mutex
	parts []int // of each transaction
	// created is called after a suspense account was created.
	created func()
}

// intercept is a hook of the transport.
func (w *wire) intercept(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
	if err := w.countParts(c); err != nil {
		return nil, err
	}

	dead, last := w.fuse.burn()
	if dead {
		return nil, errDead
	}

	response, err := send()

	if w.created != nil && bytes.Contains(c.Body(), []byte(`.suspense"`)) && bytes.Contains(c.Body(), []byte(`"overdraft"`)) {
		w.created()
	}

	if err == nil && last {
		_ = response.Body.Close()
		w.fuse.die()

		return nil, errDead
	}

	return response, err
}

var secret = webhooks.Secret("0123456789abcdef0123456789abcdef")

func newSeller(t testing.TB) *seller {
	t.Helper()

	engine := embeddedtest.Open(t)
	cfg := engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries

	kit, fuse := shop.Over(t, cfg), &fuse{}
	s := &seller{
		kit: kit, db: kit.DB, direct: dynamodb.NewFromConfig(engine.AWSConfig()), faults: kit.Wire,
		fuse: fuse, wire: &wire{fuse: fuse},
		bank: &bank{fuse: fuse, asked: map[string]int{}, lookups: map[string]int{}},
	}
	s.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	s.faults.Around(s.wire.intercept)
	s.setBank(0, 0)

	var err error
	if s.keys, err = webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}}); err != nil {
		t.Fatal(err)
	}

	s.ledger = s.newLedger()
	kit.Accounts(s.ledger,
		ledger.NewAccount{ID: "clearing", Currency: "EUR", Side: ledger.Debit, Overdraft: true, Shards: 4},
		ledger.NewAccount{ID: "shop", Currency: "EUR", Shards: 2},
		ledger.NewAccount{ID: "wallet", Currency: "EUR"},
		ledger.NewAccount{ID: "till", Currency: "EUR"})
	s.Payments = s.another()

	return s
}

// setBank replaces the sandbox by one on the same table with other shares of orders that
// are declined and of answers that are lost, in percent. The fuse does not count its calls.
func (s *seller) setBank(declined, lost int) {
	s.sandbox = s.kit.Bank(func(c *sandbox.Config) {
		c.DynamoDB, c.DeclinePercent, c.TimeoutPercent = s.direct, declined, lost
	})
	s.bank.Bank = s.sandbox
}

func (s *seller) newLedger() *ledger.Ledger {
	return s.kit.Ledger(func(c *ledger.Config) { c.Now = s.time })
}

func (s *seller) time() time.Time { return time.UnixMilli(s.now.Load()) }

// another returns the payments as another process has them.
func (s *seller) another() *payments.Payments { return s.with(s.ledger, s.bank) }

// with returns the payments of another process, which uses the ledger and the processor.
func (s *seller) with(l *ledger.Ledger, processor payments.Processor) *payments.Payments {
	return s.kit.Payments(l, processor, func(c *payments.Config) { c.Callbacks, c.Now = s.keys, s.time })
}

// unanswered begins a step that the bank does not answer. Its caller leaves with the request,
// and does not wait for the next attempt.
func (s *seller) unanswered(t testing.TB, begin func(context.Context) error) {
	t.Helper()

	ctx, leave := context.WithCancel(t.Context())
	defer leave()

	s.bank.set(true, leave)
	defer s.bank.set(false, nil)

	if err := begin(ctx); !errors.Is(err, payments.ErrUnresolved) {
		t.Fatal(err)
	}
}

func of(id string, amount int64) payments.NewPayment {
	return payments.NewPayment{ID: id, OrderID: "o-" + id, Payer: "clearing", Payee: "shop", Amount: amount, Currency: "EUR"}
}

func ask(id string, amount int64) payments.StepRequest {
	return payments.StepRequest{ID: id, Amount: amount}
}

func (s *seller) authorized(t testing.TB, id string, amount int64) {
	t.Helper()

	if p, err := s.Authorize(t.Context(), of(id, amount)); err != nil || p.State != "AUTHORIZED" {
		t.Fatalf("%+v, %v", p, err)
	}
}

func (s *seller) captured(t testing.TB, id string, amount int64) {
	t.Helper()
	s.authorized(t, id, amount)

	if p, err := s.Capture(t.Context(), id, ask("c", amount)); err != nil || p.State != "CAPTURED" {
		t.Fatalf("%+v, %v", p, err)
	}
}

// is checks the state and the sums of a payment.
func (s *seller) is(t testing.TB, id string, state workflow.State, captured, refunded int64) payments.Payment {
	t.Helper()

	p, err := s.Get(t.Context(), id)
	if err != nil || p.State != state || p.Captured != captured || p.Refunded != refunded {
		t.Errorf("payment %s is %s with %d captured and %d refunded (%+v), %v; want %s, %d, %d", id, p.State, p.Captured, p.Refunded, p, err, state, captured, refunded)
	}

	return p
}

// has checks the balance and the held money of an account.
func (s *seller) has(t testing.TB, id string, balance, held int64) {
	t.Helper()

	a, found, err := s.ledger.Account(t.Context(), id)
	if err != nil || !found || a.Balance != balance || a.Held != held {
		t.Errorf("account %s has %d, holds %d (%v); want %d, %d", id, a.Balance, a.Held, err, balance, held)
	}
}

// sound fails the test if the ledger has a contradiction, if a due row is missing or stale,
// or if payments and processor disagree.
func (s *seller) sound(t testing.TB) {
	t.Helper()

	if _, err := s.ledger.Verify(t.Context(), func(f ledger.Finding) error { t.Errorf("%+v", f); return nil }, nil); err != nil {
		t.Fatal(err)
	}

	pending := 0
	for after := ""; ; {
		page, next, err := s.List(t.Context(), "", after, 0)
		if err != nil {
			t.Fatal(err)
		}

		for _, p := range page {
			if p.Pending != nil {
				pending++
			}

			if p.Capturable > 0 && !p.ExpiresAt.IsZero() {
				pending++
			}
		}

		if after = next; after == "" {
			break
		}
	}

	if out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(shop.PaymentTables().Due)}); err != nil || int(out.Count) != pending {
		t.Errorf("%d rows are due, want %d; %v", out.Count, pending, err)
	}

	theirs := map[string]string{}
	if err := s.sandbox.Report(t.Context(), func(key, kind string, amount int64, currency string) error {
		theirs[key] = fmt.Sprint(kind, amount, currency)
		return nil
	}); err != nil {
		t.Fatal(err)
	}

	ours := map[string]string{}
	for after := ""; ; {
		page, next, err := s.List(t.Context(), "", after, 0)
		if err != nil {
			t.Fatal(err)
		}

		for _, p := range page {
			for _, step := range p.Steps {
				if step.Outcome == payments.Succeeded && slices.Contains([]payments.Kind{payments.Charging, payments.Capturing, payments.Refunding}, step.Kind) {
					ours[p.ID+"/"+step.ID] = fmt.Sprint(step.Kind, step.Amount, p.Currency)
				}
			}
		}

		if after = next; after == "" {
			break
		}
	}

	if fmt.Sprint(ours) != fmt.Sprint(theirs) {
		t.Errorf("ours  %v\ntheirs %v", ours, theirs)
	}
}

// fund credits an account.
func (s *seller) fund(t testing.TB, account string, amount int64) {
	t.Helper()

	id := strings.ReplaceAll(fmt.Sprint("fund/", account, amount, s.now.Add(1)), " ", "")
	if _, err := s.ledger.Post(t.Context(), ledger.Move(id, "clearing", account, amount, "EUR")); err != nil {
		t.Fatal(err)
	}
}
