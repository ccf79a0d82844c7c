package ledger

import (
	"errors"
	"fmt"
)

// Before anything was sent.
var (
	// ErrInvalid: an argument breaks a rule; the text names both.
	ErrInvalid = errors.New("invalid argument")
	// ErrReserved: the id is that of a component, which alone may use it; see [Owned].
	// It comes with ErrInvalid.
	ErrReserved = errors.New("the id belongs to another component")
)

// Decided by the accounts and records: nothing was written. They come within a
// [Refusal].
var (
	// ErrConflict: the id was used with other content. A bug in the caller.
	ErrConflict = errors.New("this id was used with other content")
	// ErrInsufficientFunds: less is available than asked for.
	ErrInsufficientFunds = errors.New("insufficient funds")
	// ErrUnknownAccount: there is no such account.
	ErrUnknownAccount = errors.New("unknown account")
	// ErrAccountClosed: the account takes part in nothing any more.
	ErrAccountClosed = errors.New("the account is closed")
	// ErrAccountInUse: an account with a balance or a hold cannot be closed.
	ErrAccountInUse = errors.New("the account is not empty")
	// ErrCurrencyMismatch: the account has another currency.
	ErrCurrencyMismatch = errors.New("the account has another currency")
	// ErrBalanceRange: the balance would pass MaxBalance.
	ErrBalanceRange = errors.New("the balance would be out of range")
	// ErrUnknownHold: the account has no such hold.
	ErrUnknownHold = errors.New("unknown hold")
	// ErrHoldClosed: the hold was settled or released before.
	ErrHoldClosed = errors.New("the hold is closed")
	// ErrHoldExpired: the hold may no longer be settled.
	ErrHoldExpired = errors.New("the hold has expired")
	// ErrHoldExceeded: the hold has less left than asked for.
	ErrHoldExceeded = errors.New("the hold has less left")
)

// ErrCorrupt: the tables contradict each other; `ratchet ledger verify` lists where.
var ErrCorrupt = errors.New("the ledger contradicts itself")

// Refusal says what was refused, and by which account.
type Refusal struct {
	// Op is what was asked for: "transfer", "hold", "release", "create account", ...
	Op, ID string
	// Account refused it; empty when the record under the id did.
	Account string
	// Err is one of the errors of this package.
	Err error
}

func (r *Refusal) Error() string {
	if r.Account == "" {
		return fmt.Sprintf("%s %s: %v", r.Op, r.ID, r.Err)
	}
	return fmt.Sprintf("%s %s: account %s: %v", r.Op, r.ID, r.Account, r.Err)
}

// Unwrap is the reason.
func (r *Refusal) Unwrap() error { return r.Err }
