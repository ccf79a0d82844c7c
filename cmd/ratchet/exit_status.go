package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ratchet/ledger"
	"ratchet/payments"
	"ratchet/payments/reconcile"
	"ratchet/txn"
)

// moneyStatus is the exit status of an error of the ledger or the payments.
func moneyStatus(err error) (status int, known bool) {
	var refusal *ledger.Refusal
	is := func(all ...error) bool {
		for _, e := range all {
			if errors.Is(err, e) {
				return true
			}
		}

		return false
	}
	switch {
	case errors.As(err, &refusal) && slices.Contains([]string{"release", "statement", "close account"}, refusal.Op) &&
		is(ledger.ErrUnknownHold, ledger.ErrUnknownAccount): // what the command names, not what it touches
		return exitNotFound, true
	case is(reconcile.ErrHeader):
		return exitUsage, true
	case is(ledger.ErrInvalid, payments.ErrInvalid, txn.ErrInvalid):
		return exitUsage, true
	case is(payments.ErrUnknownPayment):
		return exitNotFound, true
	case is(payments.ErrDeclined, payments.ErrVoided, payments.ErrConflict, payments.ErrExceeded, payments.ErrState, payments.ErrBusy), errors.As(err, &refusal):
		return exitRefused, true
	}

	return 0, false
}

// amountFlag says in one place how amounts are written.
const amountFlag = "in minor units (cents), a whole number above 0"

// needAmount refuses a command whose amount was left out: 0 is not what was meant.
func needAmount(c *cobra.Command) error {
	if !c.Flags().Changed("amount") {
		return usageError("%s needs --amount: %s", c.CommandPath(), amountFlag)
	}
	return nil
}

// pacer tells how far something has come, at most every two seconds.
type pacer struct {
	out  io.Writer
	told time.Time
}

func newPacer(out io.Writer) *pacer { return &pacer{out, time.Now()} }

func (p *pacer) tell(format string, args ...any) {
	if now := time.Now(); now.Sub(p.told) >= 2*time.Second {
		p.told = now
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}
