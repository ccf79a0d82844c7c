package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ratchet/txn"
)

// refused reads the parts that failed, in the order holds, accounts. What a line
// assumed and is no longer true is replaced from the returned items; only what is
// really in the way becomes an error.
func (p *posting) refused(ctx context.Context, lines []line, r *txn.Refused) (again bool, err error) {
	if !ours(r.Part) {
		return false, r // a part from beside has the say
	}

	stale := false
	for _, f := range append([]txn.Failure{r.Failure}, r.Others...) {
		kind, key, _ := strings.Cut(f.Part, " ")

		ln := lineOf(lines, kind+" ", key)
		if ln == nil {
			continue // a part from beside
		}

		var reason error
		switch kind + " " {
		case partHold:
			h := holdOf(f.Old)
			p.holds[ln.leg.Account] = h
			reason = h.cannot(-ln.leg.Amount, p.at)
		case partAccount:
			a := accountOf(f.Old)
			p.ledger.known.put(key, a)

			if reason, err = p.cannot(ctx, ln, a); err != nil {
				return false, err
			}
		case partEntry:
			continue
		}

		if reason != nil {
			return false, &Refusal{Op: "transfer", ID: p.transfer.ID, Account: ln.leg.Account, Err: reason}
		}
		stale = true
	}

	if !stale { // an entry is there that its account has not made
		return false, fmt.Errorf("transfer %s: %w", p.transfer.ID, r)
	}

	return true, nil
}

func ours(part string) bool {
	return part == partRecord || strings.HasPrefix(part, partAccount) || strings.HasPrefix(part, partEntry) || strings.HasPrefix(part, partHold)
}

// lineOf finds the line of a part; that of a hold is named after its account.
func lineOf(lines []line, kind, key string) *line {
	for i := range lines {
		if lines[i].key == key || kind == partHold && lines[i].leg.Account == key {
			return &lines[i]
		}
	}

	return nil
}

// cannot says why the account, as it is, does not take the line; nil when only what
// was assumed of it is out of date.
func (p *posting) cannot(ctx context.Context, ln *line, a *Account) (reason, err error) {
	if err := a.cannotServe(p.transfer.Currency); err != nil {
		return err, nil
	}

	after := a.Available + ln.amount
	switch {
	case after > MaxBalance || after < -MaxBalance:
		return ErrBalanceRange, nil
	case ln.hold != nil || a.covers(ln.amount):
		return nil, nil
	case a.Shards == 1:
		return ErrInsufficientFunds, nil
	}
	// One shard has too little: what do all of them have? Their sum at one moment decides.
	shards, err := p.ledger.shards(ctx, a.ID)
	if err != nil {
		return nil, err
	}

	for _, s := range shards {
		p.ledger.known.put(shardKey(s.ID, s.shard), s)
	}

	if total := sum(shards); !total.covers(ln.leg.Amount) {
		return ErrInsufficientFunds, nil
	}
	p.spread[a.ID] = true

	return nil, nil
}

// cannotServe says why the account takes part in nothing of this currency.
func (a *Account) cannotServe(currency string) error {
	switch {
	case a == nil:
		return ErrUnknownAccount
	case a.Status != Open:
		return ErrAccountClosed
	case a.Currency != currency:
		return ErrCurrencyMismatch
	}

	return nil
}

// covers reports whether the available money stays on the account's side when the
// amount is added.
func (a *Account) covers(amount int64) bool {
	switch {
	case a.Overdraft:
		return true
	case amount < 0:
		return a.Side == Debit || a.Available+amount >= 0
	}

	return a.Side == Credit || a.Available+amount <= 0
}

// expired reports whether the hold may no longer be settled.
func (h *Hold) expired(now time.Time) bool { return !h.ExpiresAt.IsZero() && !now.Before(h.ExpiresAt) }
