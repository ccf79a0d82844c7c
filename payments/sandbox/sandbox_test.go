package sandbox_test

import (
	"errors"
	"fmt"
	"testing"

	"ratchet/embedded/embeddedtest"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// order returns an order id that the sandbox treats as asked.
func order(s *sandbox.Bank, declined bool) string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("o-%d", i); s.Declines(id) == declined {
			return id
		}
	}
}

func newSandbox(t *testing.T, declines, timeouts uint32) *sandbox.Bank {
	t.Helper()
	return &sandbox.Bank{DynamoDB: embeddedtest.DynamoDB(t, sandbox.Table("charges")), Table: "charges",
		DeclinePercent: declines, TimeoutPercent: timeouts}
}

func TestOneChargePerKey(t *testing.T) {
	s := newSandbox(t, 0, 0)
	c := payments.Charge{Key: "k", OrderID: "o-1", Amount: 2500, Currency: "EUR"}

	first, err := s.Charge(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	if again, err := s.Charge(t.Context(), c); err != nil || again != first {
		t.Errorf("again: %q, %v", again, err)
	}

	c.Amount++
	if _, err := s.Charge(t.Context(), c); !errors.Is(err, payments.ErrConflict) {
		t.Errorf("another amount under the key: %v", err)
	}
}

func TestADeclineIsFinal(t *testing.T) {
	s := newSandbox(t, 50, 0)
	c := payments.Charge{Key: "k", OrderID: order(s, true), Amount: 1, Currency: "EUR"}
	for range 2 {
		if _, err := s.Charge(t.Context(), c); !errors.Is(err, payments.ErrDeclined) {
			t.Fatal(err)
		}
	}
}

func TestATimeoutHasChargedAndASecondAskTells(t *testing.T) {
	s := newSandbox(t, 0, 100)
	c := payments.Charge{Key: "k", OrderID: "o-1", Amount: 1, Currency: "EUR"}
	if _, err := s.Charge(t.Context(), c); !errors.Is(err, payments.ErrTimeout) {
		t.Fatal(err)
	}

	if id, err := s.Charge(t.Context(), c); err != nil || id == "" {
		t.Errorf("%q, %v", id, err)
	}
}

func TestVoidClosesTheKey(t *testing.T) {
	s := newSandbox(t, 0, 0)
	for _, charged := range []bool{true, false} {
		c := payments.Charge{Key: fmt.Sprint("k", charged), OrderID: "o-1", Amount: 1, Currency: "EUR"}
		if charged {
			if _, err := s.Charge(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}

		for range 2 {
			if err := s.Void(t.Context(), c.Key); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := s.Charge(t.Context(), c); !errors.Is(err, payments.ErrVoided) {
			t.Errorf("charged before: %v: %v", charged, err)
		}
	}
}
