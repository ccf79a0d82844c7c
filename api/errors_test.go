package api

import (
	"errors"
	"fmt"
	"testing"

	"ratchet/once"
	"ratchet/once/actions"
	"ratchet/once/inventory"
	"ratchet/once/ledger"
	"ratchet/once/txn"
	"ratchet/payments"
	"ratchet/shipping/reports"
	"ratchet/streams/deadletters"
	"ratchet/transitions"
)

// A refusal of a domain package is never a failure of the server.
func TestNoRefusalBecomesAFailureOfTheServer(t *testing.T) {
	s, err := newService(Config{Secret: make([]byte, secretBytes)}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}

	for _, refusal := range []error{
		transitions.ErrInvalidRequest, transitions.ErrOrderFull, transitions.ErrUnknownOrder, transitions.ErrUnknownVersion,
		inventory.ErrExpired, inventory.ErrConflict, inventory.ErrOutOfStock, inventory.ErrClosed, inventory.ErrInvalid,
		once.ErrMismatch, once.ErrUnknownOutcome, once.ErrStaleOwner, once.ErrLeaseExpired, once.ErrEnded, once.ErrInvalid,
		actions.ErrInvalid, actions.ErrConflict,
		ledger.ErrInvalid, ledger.ErrReserved, ledger.ErrTooManyShards, ledger.ErrConflict, ledger.ErrInsufficientFunds, ledger.ErrUnknownAccount,
		ledger.ErrAccountClosed, ledger.ErrAccountInUse, ledger.ErrCurrencyMismatch, ledger.ErrBalanceRange, ledger.ErrUnknownHold, ledger.ErrHoldClosed,
		ledger.ErrHoldExpired, ledger.ErrHoldExceeded,
		payments.ErrDeclined, payments.ErrVoided, payments.ErrExpired, payments.ErrConflict, payments.ErrInvalid, payments.ErrUnknownPayment,
		payments.ErrExceeded, payments.ErrState, payments.ErrBusy, payments.ErrCallback, payments.ErrNoCallbacks, reports.ErrCallback, reports.ErrNoCallbacks,
		deadletters.ErrNotFound, deadletters.ErrRedriving, deadletters.ErrUnreadable,
		txn.ErrInvalid,
	} {
		wrapped := fmt.Errorf("do a thing: %w", refusal)
		if p := s.asProblem(t.Context(), wrapped, nil); p.Status >= 500 || p.Status < 400 {
			t.Errorf("%v: %d %s", refusal, p.Status, p.Code)
		}
	}

	if p := s.asProblem(t.Context(), errors.New("a bug"), nil); p.Status != 500 {
		t.Errorf("an unknown error: %d", p.Status)
	}
}

// The first row that matches counts, so none may hide a later one.
func TestNoRowOfTheErrorsHidesAnother(t *testing.T) {
	for i, row := range domainErrors {
		for _, before := range domainErrors[:i] {
			if errors.Is(row.err, before.err) {
				t.Errorf("%q comes behind %q", row.err, before.err)
			}
		}
	}

	s, err := newService(Config{Secret: make([]byte, secretBytes)}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}

	reserved := ledger.NewHold{ID: "p-1#payment", Account: "a", Amount: 1, Currency: "EUR"}.Validate()
	if p := s.asProblem(t.Context(), reserved, nil); p.Detail != "The id is one that only the server uses." {
		t.Errorf("%v: %+v", reserved, p)
	}
}
