package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/workflow"
)

// serve returns a client of a bank whose answers pass through a handler of the test.
func serve(t *testing.T, declinePercent int, around func(http.Handler) http.Handler) (*bank, *sandbox.Bank) {
	t.Helper()

	behind, err := sandbox.New(sandbox.Config{
		DynamoDB: embeddedtest.DynamoDB(t, sandbox.Table("operations")), Table: "operations", DeclinePercent: declinePercent,
	})
	if err != nil {
		t.Fatal(err)
	}

	web := httptest.NewServer(around(handler(behind, "secret")))
	t.Cleanup(web.Close)

	b, err := newBank(web.URL, "secret")
	if err != nil {
		t.Fatal(err)
	}

	return b, behind
}

func plain(h http.Handler) http.Handler { return h }

// sales returns number and sum of the sales that the bank has made.
func sales(t *testing.T, b *sandbox.Bank) (n int, sum int64) {
	t.Helper()

	err := b.Report(t.Context(), func(_, kind string, amount int64, _ string) error {
		if kind == string(payments.Charging) {
			n, sum = n+1, sum+amount
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return n, sum
}

// TestAnOrderIsPaidOnceThoughTheBanksAnswerIsLost: the bank has taken the money and answers 503.
// The payment looks up its key.
func TestAnOrderIsPaidOnceThoughTheBanksAnswerIsLost(t *testing.T) {
	var lost atomic.Bool
	b, behind := serve(t, 0, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut || !lost.CompareAndSwap(false, true) {
				h.ServeHTTP(w, r)
				return
			}

			h.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "", http.StatusServiceUnavailable)
		})
	})

	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{Parts: server.Parts{Bank: b}}})
	env.SetStock("mug", 1)
	env.Execute(ratchettest.NewOrder("o-1", "mug"))
	env.WantOrder("o-1", workflow.Delivered, 4)

	if n, sum := sales(t, behind); n != 1 || sum != 1000 || !lost.Load() {
		t.Errorf("%d sales of %d, want one of 1000", n, sum)
	}
}

func TestADeclinedPaymentEndsItsOrder(t *testing.T) {
	b, behind := serve(t, 100, plain)

	env := ratchettest.Start(t, ratchettest.Config{Server: server.Config{Parts: server.Parts{Bank: b}}})
	env.SetStock("mug", 1)
	env.Execute(ratchettest.NewOrder("o-1", "mug"))
	env.WantOrder("o-1", workflow.PaymentFailed, 2)

	if n, _ := sales(t, behind); n != 0 {
		t.Errorf("%d sales", n)
	}
}

// TestTheBankActsOncePerKey, and only a decision counts as an answer.
func TestTheBankActsOncePerKey(t *testing.T) {
	b, behind := serve(t, 0, plain)
	request := payments.Request{Key: "o-1/payment/charge", Authorization: "o-1/payment/charge", OrderID: "o-1", Amount: 500, Currency: "EUR"}

	for range 2 {
		if reference, err := b.Sale(t.Context(), request); err != nil || reference == "" {
			t.Fatal(reference, err)
		}
	}

	if o, err := b.Lookup(t.Context(), request.Key); err != nil || o.Status != payments.OperationSucceeded || o.Amount != 500 {
		t.Errorf("lookup: %+v, %v", o, err)
	}

	if o, err := b.Lookup(t.Context(), "o-9/payment"); err != nil || o != (payments.Operation{}) {
		t.Errorf("an unknown key: %+v, %v", o, err)
	}

	other := request
	other.Amount++

	if _, err := b.Sale(t.Context(), other); !errors.Is(err, payments.ErrConflict) {
		t.Errorf("another amount: %v", err)
	}

	if err := errors.Join(b.Void(t.Context(), request.Key), b.Void(t.Context(), request.Key)); err != nil {
		t.Fatal(err)
	}

	if _, err := b.Sale(t.Context(), request); !errors.Is(err, payments.ErrVoided) {
		t.Errorf("after the void: %v", err)
	}

	if n, _ := sales(t, behind); n != 0 {
		t.Errorf("%d sales are left", n)
	}

	// A wrong token, a body that is no answer and a bank that is gone decide nothing.
	b.token = "wrong"
	if _, err := b.Authorize(t.Context(), request); !errors.Is(err, payments.ErrTimeout) || !strings.Contains(err.Error(), "status 401") {
		t.Errorf("a wrong token: %v", err)
	}

	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	b.url = html.URL

	if _, err := b.Capture(t.Context(), request); !errors.Is(err, payments.ErrTimeout) {
		t.Errorf("no JSON: %v", err)
	}
	html.Close()

	if _, err := b.Refund(t.Context(), request); !errors.Is(err, payments.ErrTimeout) {
		t.Errorf("no bank: %v", err)
	}

	if _, err := newBank("bank.example", ""); err == nil {
		t.Error("an address that is no URL is accepted")
	}
}
