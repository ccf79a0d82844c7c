package ledger

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Post makes a transfer, or returns the transfer that was made under its id before. The error
// of a transfer that is refused is a [*RefusedError]. If txn.Retryable reports true, DynamoDB has
// not decided: repeat the call under the same id.
func (l *Ledger) Post(ctx context.Context, t Transfer, parts ...TxPart) (Posted, error) {
	if err := t.Validate(); err != nil {
		return Posted{}, fmt.Errorf("transfer: %w", err)
	}

	return l.post(ctx, t, parts)
}

func (l *Ledger) post(ctx context.Context, t Transfer, parts []TxPart) (Posted, error) {
	p := &postCall{
		ledger:   l,
		transfer: t,
		parts:    parts,
		id:       rand.Text(),
		digest:   t.digest(),
		holds:    map[string]*Hold{},
		spread:   map[string]bool{},
	}

	for attempt := 1; ; attempt++ {
		p.attempt = attempt

		posted, again, err := p.try(ctx)
		if !again {
			return posted, err
		}

		if attempt == l.cfg.attempts || !waitBeforeRetry(ctx, attempt) {
			return Posted{}, contended(ctx, "transfer", t.ID)
		}
	}
}

// postCall is one call of Post.
type postCall struct {
	ledger   *Ledger
	transfer Transfer
	parts    []TxPart
	at       time.Time // of this try, for the records
	compared time.Time // with the ends of holds, in the last attempt
	id       string    // stored in the record, so that the call recognizes its own write
	digest   []byte
	attempt  int
	holds    map[string]*Hold // as last seen, by leg.Account
	spread   map[string]bool  // sharded accounts whose selected shard had too little
	short    int              // in how many tries an account held less than its hold has left
	shortIn  int              // the last of these tries
}

// change is a change that the transfer makes to one item of an account.
type change struct {
	leg    Leg
	shard  int
	key    string   // shardKey of the item
	amount int64    // 0 if the transfer only returns held money to this item
	hold   *Hold    // the hold that pays, nil for none
	freed  int64    // the part of the hold that is returned in addition
	before *Account // the account that the conditions assume, nil if it is unknown
	entry  *Posting // nil if amount is 0
}

// try plans the transfer and sends it once. It reports again if an assumption was stale;
// the present accounts and holds have then replaced the stale ones.
func (p *postCall) try(ctx context.Context) (posted Posted, again bool, err error) {
	changes, err := p.plan(ctx)
	if err != nil {
		return Posted{}, false, err
	}

	// Only the plan shows how many shards, and so how many items, a leg takes.
	if n := p.size(changes); n > maxParts {
		posted, err := p.refuseSize(ctx, n)
		return posted, false, err
	}

	keys := make([]string, len(changes))
	for i := range changes {
		keys[i] = changes[i].key
	}

	unlock, err := p.ledger.locks.lock(ctx, keys)
	if err != nil {
		return Posted{}, false, errors.Join(contended(ctx, "transfer", p.transfer.ID), err)
	}
	defer unlock()

	// The accounts are loaded under the locks: a call that held the locks before has put its
	// results into the cache.
	accounts, err := p.ledger.loadAccounts(ctx, keys)
	if err != nil {
		return Posted{}, false, err
	}

	for i := range changes {
		if a, ok := accounts[changes[i].key]; ok {
			changes[i].before = &a
		}
	}

	p.at = p.ledger.clock.Now()
	// In milliseconds, as a later call reads the time.
	posted = Posted{Transfer: p.transfer, At: time.UnixMilli(p.at.UnixMilli()).UTC()}
	posted.Postings = addEntries(changes)

	err = p.ledger.writer.Write(ctx, p.transaction(changes, posted))
	var refused *txn.CanceledError
	switch {
	case err == nil:
		p.updateCache(changes)
		return posted, false, nil
	case !errors.As(err, &refused):
		// The transfer may have been made: then the cached accounts are out of date.
		p.ledger.cache.forget(keys...)
		return Posted{}, false, fmt.Errorf("transfer %s: %w", p.transfer.ID, err)
	case refused.Marker:
		posted, err = p.replay(refused.Old)
		return posted, false, err
	}

	again, err = p.refused(ctx, changes, refused)

	return Posted{}, again, err
}

// replay answers from the record that exists under the id.
func (p *postCall) replay(old dynamo.Item) (Posted, error) {
	posted, err := readPosted(old)
	switch {
	case err != nil:
		return Posted{}, err
	case !bytes.Equal(dynamo.Bytes(old, "digest"), p.digest):
		return Posted{}, &RefusedError{Op: "transfer", ID: p.transfer.ID, Err: ErrConflict}
	}

	// If the record has this call's id, the answer to an earlier attempt was lost.
	posted.Replayed = dynamo.Text(old, "call") != p.id

	return posted, nil
}

// updateCache stores the accounts as the transfer left them. After a stale assumption it
// removes them instead: other processes write these accounts, too, and reading them for
// the next transfer is cheaper than a refused transaction.
func (p *postCall) updateCache(changes []change) {
	for _, c := range changes {
		if p.attempt > 1 {
			p.ledger.cache.forget(c.key)
			continue
		}

		after := *c.before
		after.revision++
		if c.entry != nil {
			after.Entries, after.Balance = c.entry.Sequence, c.entry.Balance
		}

		if c.hold == nil {
			after.Available += c.amount
		} else {
			after.Held += c.amount - c.freed
			after.Available += c.freed
		}

		p.ledger.cache.put(c.key, &after)
	}
}

// addEntries sets the entry of each change that has an amount and returns the entries.
func addEntries(changes []change) (all []Posting) {
	for i := range changes {
		c := &changes[i]
		if c.amount == 0 {
			continue
		}

		// The numbers of an unknown account do not matter: its update is impossible.
		entry := Posting{Account: c.leg.Account, Shard: c.shard, Amount: c.amount, Sequence: 1, Balance: c.amount}
		if c.before != nil {
			entry.Sequence, entry.Balance = c.before.Entries+1, c.before.Balance+c.amount
		}

		c.entry = &entry
		all = append(all, entry)
	}

	return all
}

// Names of the parts of the transaction.
const (
	partRecord  = "transfer"
	partAccount = "account "
	partEntry   = "entry "
	partHold    = "hold "
)

// transaction returns the parts in the order of their rank: the record, the caller's
// parts, holds, accounts and entries.
func (p *postCall) transaction(changes []change, posted Posted) *txn.Transaction {
	l, tables := p.ledger, p.ledger.cfg.Tables

	t := &txn.Transaction{}
	t.Marker(partRecord, l.putNew(tables.Transfers, "transferId", posted.item(p.id, p.digest)))

	for _, add := range p.parts {
		add(t)
	}

	for _, leg := range p.transfer.Legs {
		if leg.Hold == "" {
			continue
		}

		h := p.holds[leg.Account]
		update := h.settleUpdate(tables.Holds, -leg.Amount, leg.Release)
		// While the hold is in conflict, an account that holds too little tells nothing: another call
		// may have settled the hold.
		t.AddDecisive(partHold+leg.Account, types.TransactWriteItem{Update: update.Part()}, nil)

		if !h.ExpiresAt.IsZero() {
			l.eachAttempt(t, func(now time.Time) {
				p.compared = now
				update.Bind(":now", dynamo.N(now.UnixMilli()))
			})
		}

		// The hold ends with this transfer, so there is nothing left to expire.
		if len(h.partsAfter(-leg.Amount, leg.Release)) == 0 {
			h.deleteDueRow(tables.Holds, t)
		}
	}

	for _, c := range changes {
		t.Add(partAccount+c.key, p.accountUpdate(c), nil)

		if c.entry != nil {
			// The condition of the account pins the number, so no entry of the ledger can have it.
			item := entryItem(c.key, p.transfer, *c.entry, p.at)
			t.Add(partEntry+c.key, l.putNew(tables.Entries, "accountId", item), txn.FailWith(ErrCorrupt))
		}
	}

	return t
}
