package ledger

import (
	"errors"
	"fmt"
)

// Errors before anything is sent.
var (
	// ErrInvalid means that an argument breaks a rule. The text names both.
	ErrInvalid = errors.New("invalid argument")
	// ErrReserved means that the id belongs to a component that alone may use it; see
	// [Owned]. It comes with ErrInvalid.
	ErrReserved = errors.New("the id belongs to another component")
	// ErrTooManyShards means that the debited money is spread over so many shards that the
	// transfer does not fit into one transaction. Make several transfers. It comes with
	// ErrInvalid, in a [RefusedError].
	ErrTooManyShards = fmt.Errorf("%w: the debited money is spread over too many shards for one transaction", ErrInvalid)
)

// Errors within a [RefusedError]: accounts and records have decided, nothing was written.
var (
	// ErrConflict means that the id was used with other content: a bug in the caller.
	ErrConflict = errors.New("this id was used with other content")
	// ErrInsufficientFunds means that less is available than asked for.
	ErrInsufficientFunds = errors.New("insufficient funds")
	// ErrUnknownAccount means that the account does not exist.
	ErrUnknownAccount = errors.New("unknown account")
	// ErrAccountClosed means that the account takes no transfers and holds any more.
	ErrAccountClosed = errors.New("the account is closed")
	// ErrAccountInUse means that the account has a balance or a hold and cannot be closed.
	ErrAccountInUse = errors.New("the account is not empty")
	// ErrCurrencyMismatch means that the account has another currency.
	ErrCurrencyMismatch = errors.New("the account has another currency")
	// ErrBalanceRange means that a shard of the account would have less than -9·10^15 or
	// more than 6·10^15 minor units available, or hold more than 3·10^15.
	ErrBalanceRange = errors.New("the balance would be out of range")
	// ErrUnknownHold means that the account has no such hold.
	ErrUnknownHold = errors.New("unknown hold")
	// ErrHoldClosed means that the hold was settled or released before.
	ErrHoldClosed = errors.New("the hold is closed")
	// ErrHoldExpired means that the hold can no longer be settled.
	ErrHoldExpired = errors.New("the hold has expired")
	// ErrHoldExceeded means that the hold has less left than asked for.
	ErrHoldExceeded = errors.New("the hold has less left")
)

// ErrCorrupt means that the tables contradict each other. `ratchet ledger verify` lists
// the contradictions.
var ErrCorrupt = errors.New("the ledger contradicts itself")

// RefusedError says which operation was refused, and by which account.
type RefusedError struct {
	// Op is the operation: "transfer", "hold", "release", "create account", ...
	Op, ID string
	// Account refused the operation. It is empty if the record under the id did.
	Account string
	// Err is one of the errors of this package.
	Err error
}

func (r *RefusedError) Error() string {
	if r.Account == "" {
		return fmt.Sprintf("%s %s: %v", r.Op, r.ID, r.Err)
	}

	return fmt.Sprintf("%s %s: account %s: %v", r.Op, r.ID, r.Account, r.Err)
}

// Unwrap returns the reason.
func (r *RefusedError) Unwrap() error { return r.Err }
