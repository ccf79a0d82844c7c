package sandbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// order returns the id of an order that the bank declines, or does not.
func order(b *sandbox.Bank, declined bool) string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("o-%d", i); b.Declines(id) == declined {
			return id
		}
	}
}

func newBank(t *testing.T, declinePercent, timeoutPercent int) *sandbox.Bank {
	t.Helper()

	b, err := sandbox.New(sandbox.Config{
		DynamoDB:       embeddedtest.DynamoDB(t, sandbox.Table("charges")),
		Table:          "charges",
		DeclinePercent: declinePercent,
		TimeoutPercent: timeoutPercent,
	})
	if err != nil {
		t.Fatal(err)
	}

	return b
}

func TestSaleIsMadeOncePerKey(t *testing.T) {
	b := newBank(t, 0, 0)
	c := payments.Request{Key: "k", OrderID: "o-1", Amount: 2500, Currency: "EUR"}

	first, err := b.Sale(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	if again, err := b.Sale(t.Context(), c); err != nil || again != first {
		t.Errorf("again: %q, %v", again, err)
	}

	c.Amount++
	if _, err := b.Sale(t.Context(), c); !errors.Is(err, payments.ErrConflict) {
		t.Errorf("another amount under the key: %v", err)
	}
}

func TestDeclineIsFinal(t *testing.T) {
	b := newBank(t, 50, 0)
	c := payments.Request{Key: "k", OrderID: order(b, true), Amount: 1, Currency: "EUR"}
	for range 2 {
		if _, err := b.Sale(t.Context(), c); !errors.Is(err, payments.ErrDeclined) {
			t.Fatal(err)
		}
	}
}

func TestSaleWithALostAnswerIsFoundByItsRepeat(t *testing.T) {
	b := newBank(t, 0, 100)
	c := payments.Request{Key: "k", OrderID: "o-1", Amount: 1, Currency: "EUR"}
	if _, err := b.Sale(t.Context(), c); !errors.Is(err, payments.ErrTimeout) {
		t.Fatal(err)
	}

	if id, err := b.Sale(t.Context(), c); err != nil || id == "" {
		t.Errorf("%q, %v", id, err)
	}
}

func TestVoidClosesTheKey(t *testing.T) {
	b := newBank(t, 0, 0)
	for _, charged := range []bool{true, false} {
		c := payments.Request{Key: fmt.Sprint("k", charged), OrderID: "o-1", Amount: 1, Currency: "EUR"}
		if charged {
			if _, err := b.Sale(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}

		for range 2 {
			if err := b.Void(t.Context(), c.Key); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := b.Sale(t.Context(), c); !errors.Is(err, payments.ErrVoided) {
			t.Errorf("charged before: %v: %v", charged, err)
		}
	}
}

func TestProcessorActsOncePerKey(t *testing.T) {
	b := newBank(t, 0, 0)
	request := func(key string, amount int64) payments.Request {
		return payments.Request{Key: key, Authorization: "p/authorize", OrderID: "o-1", Amount: amount, Currency: "EUR"}
	}

	for _, c := range []struct {
		name    string
		do      func() (string, error)
		wantErr error
	}{
		{"authorize 100", func() (string, error) { return b.Authorize(t.Context(), request("p/authorize", 100)) }, nil},
		{"authorize again", func() (string, error) { return b.Authorize(t.Context(), request("p/authorize", 100)) }, nil},
		{"another amount", func() (string, error) { return b.Authorize(t.Context(), request("p/authorize", 1)) }, payments.ErrConflict},
		{"capture 60", func() (string, error) { return b.Capture(t.Context(), request("p/c", 60)) }, nil},
		{"capture again", func() (string, error) { return b.Capture(t.Context(), request("p/c", 60)) }, nil},
		{"41 more than is left", func() (string, error) { return b.Capture(t.Context(), request("p/d", 41)) }, payments.ErrDeclined},
		{"refund 60", func() (string, error) { return b.Refund(t.Context(), request("p/r", 60)) }, nil},
		{"refund again", func() (string, error) { return b.Refund(t.Context(), request("p/r", 60)) }, nil},
		{"one more than was captured", func() (string, error) { return b.Refund(t.Context(), request("p/s", 1)) }, payments.ErrDeclined},
		{"a refund under the key of a capture", func() (string, error) { return b.Refund(t.Context(), request("p/c", 60)) }, payments.ErrConflict},
		{"void", func() (string, error) { return "", b.Void(t.Context(), "p/authorize") }, nil},
		{"capture after the void", func() (string, error) { return b.Capture(t.Context(), request("p/e", 1)) }, payments.ErrVoided},
		{"authorize after the void", func() (string, error) { return b.Authorize(t.Context(), request("p/authorize", 100)) }, payments.ErrVoided},
	} {
		if _, err := c.do(); !errors.Is(err, c.wantErr) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.wantErr)
		}
	}

	for key, want := range map[string]payments.OperationStatus{
		"p/authorize": payments.OperationVoided,
		"p/c":         payments.OperationSucceeded,
		"p/d":         "",
	} {
		if op, err := b.Lookup(t.Context(), key); err != nil || op.Status != want {
			t.Errorf("lookup of %s: %+v, %v; want %q", key, op, err, want)
		}
	}

	report := map[string]string{}
	if err := b.Report(t.Context(), func(key, kind string, amount int64, currency string) error {
		report[key] = fmt.Sprint(kind, " ", amount, " ", currency)
		return nil
	}); err != nil || len(report) != 2 || report["p/c"] != "capture 60 EUR" || report["p/r"] != "refund 60 EUR" {
		t.Errorf("report %v, %v", report, err)
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := sandbox.New(sandbox.Config{DeclinePercent: -1, TimeoutPercent: 101})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"DynamoDB", "Table", "DeclinePercent -1", "TimeoutPercent 101"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
