package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"ratchet/ledger"
	"ratchet/payments"
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
