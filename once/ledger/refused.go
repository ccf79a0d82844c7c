package ledger

import (
	"context"
	"fmt"
	"strings"

	"ratchet/once/txn"
)

// refused reads the failed parts of a transaction in the order holds, accounts. It
// replaces stale assumptions by the returned items. It returns an error only if the hold
// or account, as it is now, does not allow the transfer; otherwise again is true.
func (p *postCall) refused(ctx context.Context, changes []change, r *txn.CanceledError) (again bool, err error) {
	if !isLedgerPart(r.Part) {
		return false, r // a part of the caller's outranks the accounts
	}

	stale := false
	staleHolds := map[string]bool{} // by account
	for _, f := range append([]txn.Failure{r.Failure}, r.Others...) {
		kind, key, _ := strings.Cut(f.Part, " ")
		kind += " "

		c := findChange(changes, kind, key)
		if c == nil {
			continue // a part of the caller's
		}

		var reason error
		switch kind {
		case partHold:
			h, err := readHold(f.Old)
			if err != nil {
				return false, fmt.Errorf("transfer %s: %w", p.transfer.ID, err)
			}

			p.holds[c.leg.Account] = h
			staleHolds[c.leg.Account] = true
			reason = h.checkSettle(-c.leg.Amount, p.compared)
		case partAccount:
			a, err := readAccount(f.Old)
			if err != nil {
				return false, fmt.Errorf("transfer %s: %w", p.transfer.ID, err)
			}

			p.ledger.cache.replace(key, a)

			// If the hold has changed, the account was compared with an old amount.
			if reason, err = p.checkAccount(ctx, c, a); err == nil && reason == nil && !staleHolds[c.leg.Account] {
				err = p.checkHeld(c, a)
			}

			if err != nil {
				return false, err
			}
		case partEntry:
			continue
		}

		if reason != nil {
			return false, &RefusedError{Op: "transfer", ID: p.transfer.ID, Account: c.leg.Account, Err: reason}
		}

		stale = true
	}

	// Only an entry failed: it exists although its account has not counted it.
	if !stale {
		return false, fmt.Errorf("transfer %s: %w", p.transfer.ID, r)
	}

	return true, nil
}

// isLedgerPart reports whether the ledger added the part, and not its caller. The part is not
// the marker.
func isLedgerPart(part string) bool {
	return strings.HasPrefix(part, partAccount) || strings.HasPrefix(part, partEntry) || strings.HasPrefix(part, partHold)
}

// findChange returns the change of a part, nil if there is none. The part of a hold has
// the name of its account.
func findChange(changes []change, kind, key string) *change {
	for i := range changes {
		if changes[i].key == key || kind == partHold && changes[i].leg.Account == key {
			return &changes[i]
		}
	}

	return nil
}

// checkAccount returns the reason why the account, as it is, does not allow the change. It
// returns nil if only an assumption about the account was stale, or if other shards of the
// account can pay; the next plan then spreads the leg.
func (p *postCall) checkAccount(ctx context.Context, c *change, a *Account) (reason, err error) {
	if err := a.checkOpen(p.transfer.Currency); err != nil {
		return err, nil
	}

	after := a.Available + c.amount
	switch {
	// Held money pays: see checkHeld.
	case c.hold != nil:
		return nil, nil
	case c.amount > 0 && after > maxAvailable, c.amount < 0 && after < minAvailable:
		return ErrBalanceRange, nil
	case a.covers(c.amount):
		return nil, nil
	case a.Shards == 1:
		return ErrInsufficientFunds, nil
	}

	// One shard has too little. The sum of all shards at one moment decides.
	shards, err := p.ledger.readShards(ctx, a.ID)
	if err != nil {
		return nil, err
	}

	if len(shards) == 0 {
		return ErrUnknownAccount, nil // removed since the condition failed
	}

	for _, s := range shards {
		p.ledger.cache.put(shardKey(s.ID, s.shard), s)
	}

	if total := sumShards(shards); !total.covers(c.leg.Amount) {
		return ErrInsufficientFunds, nil
	}

	p.spread[a.ID] = true

	return nil, nil
}

// checkHeld returns ErrCorrupt if the account holds less than the rest of the hold in several tries.
// The hold may have changed meanwhile, so it is read again first.
func (p *postCall) checkHeld(c *change, a *Account) error {
	const tries = 3

	if c.hold == nil || a.Held >= c.freed-c.amount {
		return nil
	}

	delete(p.holds, c.leg.Account)

	// A hold on several shards may be short on each of them in one try.
	if p.shortIn != p.attempt {
		p.short, p.shortIn = p.short+1, p.attempt
	}

	if p.short < tries {
		return nil
	}

	return fmt.Errorf("transfer %s: account %s holds %d, its hold %s has %d left there: %w",
		p.transfer.ID, c.key, a.Held, c.leg.Hold, c.freed-c.amount, ErrCorrupt)
}

// maxParts is how many items one transaction of DynamoDB has.
const maxParts = 100

// size returns how many items the transfer writes, without the caller's parts.
func (p *postCall) size(changes []change) int {
	n := 1 // the record
	for _, leg := range p.transfer.Legs {
		if leg.Hold != "" {
			n += 2 // the hold, and the row of its end
		}
	}

	for _, c := range changes {
		n++ // the account

		if c.amount != 0 {
			n++ // its entry
		}
	}

	return n
}

// refuseSize refuses a transfer of too many items, unless it was made before.
func (p *postCall) refuseSize(ctx context.Context, items int) (Posted, error) {
	// The transfer may have been made when its money was on fewer shards.
	item, err := p.ledger.get(ctx, p.ledger.cfg.Tables.Transfers, transferKey(p.transfer.ID))

	switch {
	case err != nil:
		return Posted{}, fmt.Errorf("read transfer %s: %w", p.transfer.ID, err)
	case len(item) > 0:
		return p.replay(item)
	}

	return Posted{}, &RefusedError{
		Op:  "transfer",
		ID:  p.transfer.ID,
		Err: fmt.Errorf("%w: %d items, at most %d", ErrTooManyShards, items, maxParts),
	}
}
