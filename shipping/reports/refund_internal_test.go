package reports

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ratchet/once/ledger"
	"ratchet/payments"
	"ratchet/shipping"
)

// TestWhatARefundLeadsTo: it is done, may pass, needs a person, or is a failure that the carrier sees.
func TestWhatARefundLeadsTo(t *testing.T) {
	failure := errors.New("no connection")

	for _, row := range []struct {
		err     error
		answer  shipping.Answer
		reason  string
		command string
	}{
		{nil, shipping.Accepted, "", ""},
		{payments.ErrUnresolved, shipping.Retry, payments.ErrUnresolved.Error(), ""},
		{payments.ErrBusy, shipping.Retry, payments.ErrBusy.Error(), ""},
		{payments.ErrDeclined, shipping.Retry, "cannot be given back", "ratchet payments get p-1"},
		{payments.ErrExceeded, shipping.Retry, "cannot be given back", "ratchet payments get p-1"},
		{payments.ErrState, shipping.Retry, "cannot be given back", "ratchet payments get p-1"},
		{payments.ErrConflict, shipping.Retry, "cannot be given back", "ratchet payments get p-1"},
		{&ledger.RefusedError{}, shipping.Retry, "cannot be given back", "ratchet payments get p-1"},
		{failure, shipping.Accepted, "", ""},
	} {
		err := row.err
		if err != nil {
			err = fmt.Errorf("refund: %w", err)
		}

		rule, failed := refundRuling("a", "p-1", err)
		if rule.answer != row.answer || !strings.Contains(rule.reason, row.reason) || (row.reason == "") != (rule.reason == "") || rule.command != row.command {
			t.Errorf("%v: %+v", row.err, rule)
		}

		if errors.Is(failed, failure) != errors.Is(row.err, failure) || (failed != nil) != errors.Is(row.err, failure) {
			t.Errorf("%v: %v", row.err, failed)
		}
	}
}
