package payments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"ratchet/once/ledger"
)

// A suspense account takes the money of a step that the processor has carried out, if the account to
// credit refuses it: the account was closed after the step began, or its balance would leave its
// range. A person moves the money on from there. The two texts are part of stored ids and records.
const (
	suspenseSuffix = ".suspense"
	suspenseReason = "credited to "

	maxAccountID = 128 // bytes
	// maxSuspense is how many suspense accounts of one account a step tries. The next account is
	// needed only if the one before is full, of another kind, or closed by a person.
	maxSuspense = 100
)

// suspenseID returns the id of the n-th suspense account of an account, from 1. It begins with the
// account's id, so it belongs to the same tenant. If the result would be longer than maxAccountID,
// the end of the account's id is a digest of it.
func suspenseID(account string, n int) string {
	suffix := suspenseSuffix
	if n > 1 {
		suffix += "." + strconv.Itoa(n)
	}

	if room := maxAccountID - len(suffix); len(account) > room {
		sum := sha256.Sum256([]byte(account))
		digest := "." + hex.EncodeToString(sum[:10])
		account = account[:room-len(digest)] + digest
	}

	return account + suffix
}

// refuses reports whether the account has refused the transfer.
func refuses(account string, err error) bool {
	var refusal *ledger.RefusedError
	return errors.As(err, &refusal) && refusal.Account == account
}

// postToSuspense makes the transfer of a step to a suspense account, after the account to credit
// (the second leg's) has refused it. Two workers may choose different suspense accounts: the
// transfer's id and the payment's revision let only one of them end the step.
func (s *Payments) postToSuspense(ctx context.Context, next Payment, t ledger.Transfer, kind Kind, parts []ledger.TxPart) (Payment, error) {
	debited, refused := t.Legs[0], t.Legs[1]

	// A charge or capture for a closed account is returned at the processor instead. The transaction
	// requires that the payee's account is open, so that two workers cannot decide differently.
	if kind != Refunding {
		open, err := s.ledger.RequireOpen(ctx, t.ID, refused.Account, t.Currency)
		if err != nil {
			return next, err
		}

		parts = append(slices.Clip(parts), open)
	}

	for n := 1; n <= maxSuspense; n++ {
		id := suspenseID(refused.Account, n)
		// The payer's account may itself be this suspense account. A transfer needs two different ones.
		if id == debited.Account {
			continue
		}

		_, _, err := s.cfg.Ledger.CreateAccount(ctx, ledger.NewAccount{ID: id, Currency: t.Currency})
		switch {
		case errors.Is(err, ledger.ErrConflict):
			continue
		case err != nil:
			return next, err
		}

		t.Legs = []ledger.Leg{debited, {Account: id, Amount: refused.Amount}}
		// Stored with the transfer, so that a person finds the money.
		next.Steps[len(next.Steps)-1].Reason = suspenseReason + id

		now, err := s.postStep(ctx, next, t, parts)
		if !refuses(id, err) {
			return now, err
		}
	}

	return next, fmt.Errorf("%w: all %d suspense accounts of %s refuse the money", ErrUnresolved, maxSuspense, refused.Account)
}
