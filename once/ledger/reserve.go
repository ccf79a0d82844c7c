package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Reserve sets money aside. A repeat returns the hold as it is now, and replayed. The
// money of a sharded account comes from one shard or, if that has too little, from several
// in the same transaction. The error of a hold that is not made is a [*RefusedError].
func (l *Ledger) Reserve(ctx context.Context, n NewHold, parts ...TxPart) (h Hold, replayed bool, err error) {
	if err := n.Validate(); err != nil {
		return Hold{}, false, fmt.Errorf("hold: %w", err)
	}

	return l.reserve(ctx, n, parts)
}

func (l *Ledger) reserve(ctx context.Context, n NewHold, parts []TxPart) (h Hold, replayed bool, err error) {
	now := l.clock.Now()
	r := reserveCall{
		ledger: l,
		hold: Hold{
			NewHold:   n,
			Status:    HoldActive,
			Remaining: n.Amount,
			CreatedAt: time.UnixMilli(now.UnixMilli()).UTC(),
		},
		id:    rand.Text(),
		at:    now,
		parts: parts,
	}

	for attempt := 1; ; attempt++ {
		h, replayed, again, err := r.try(ctx)
		if !again {
			return h, replayed, err
		}

		if attempt == l.cfg.attempts || !waitBeforeRetry(ctx, attempt) {
			return Hold{}, false, contended(ctx, "hold", n.ID)
		}
	}
}

// reserveCall is one call of Reserve.
type reserveCall struct {
	ledger *Ledger
	hold   Hold
	id     string // stored in the record, so that the call recognizes its own write
	at     time.Time
	parts  []TxPart
	shards []*Account // as read together, after the first shard had too little
}

// try sends the hold once. It reports again if another choice of shards may have enough.
func (r *reserveCall) try(ctx context.Context) (h Hold, replayed, again bool, err error) {
	if r.hold.parts, err = r.chooseShards(ctx); err != nil {
		return Hold{}, false, false, err
	}

	err = r.ledger.writer.Write(ctx, r.transaction())
	var refused *txn.CanceledError
	switch {
	case err == nil:
		return r.hold, false, false, nil
	case !errors.As(err, &refused):
		return Hold{}, false, false, fmt.Errorf("hold %s: %w", r.hold.ID, err)
	case refused.Marker:
		h, replayed, err = r.replay(refused.Old)
		return h, replayed, false, err
	case !strings.HasPrefix(refused.Part, partAccount): // a part of the caller's
		return Hold{}, false, false, refused
	}

	a, err := readAccount(refused.Old)
	if err != nil {
		return Hold{}, false, false, fmt.Errorf("hold %s: %w", r.hold.ID, err)
	}

	reason, err := r.checkAccount(ctx, a, refused.Part)
	switch {
	case err != nil:
		return Hold{}, false, false, err
	case reason != nil:
		return Hold{}, false, false, &RefusedError{Op: "hold", ID: r.hold.ID, Account: r.hold.Account, Err: reason}
	}

	return Hold{}, false, true, nil
}

// transaction returns the parts in the order of their rank: the record, the caller's
// parts, the due row, the accounts.
func (r *reserveCall) transaction() *txn.Transaction {
	tables := r.ledger.cfg.Tables

	t := &txn.Transaction{}
	t.Marker("hold", r.ledger.putNew(tables.Holds, "accountId", r.hold.item(r.id)))

	for _, add := range r.parts {
		add(t)
	}

	r.hold.addDueRow(tables.Holds, t)

	for _, p := range r.hold.parts {
		t.Add(partAccount+shardKey(r.hold.Account, p.shard), r.accountUpdate(p), nil)
	}

	return t
}

// replay answers from the record that exists under the id.
func (r *reserveCall) replay(old dynamo.Item) (h Hold, replayed bool, err error) {
	made, err := readHold(old)
	switch {
	case err != nil:
		return Hold{}, false, fmt.Errorf("hold %s: %w", r.hold.ID, err)
	case !bytes.Equal(dynamo.Bytes(old, "digest"), r.hold.digest()):
		return Hold{}, false, &RefusedError{Op: "hold", ID: r.hold.ID, Err: ErrConflict}
	}

	// If the record has this call's id, the answer to an earlier attempt was lost.
	return *made, dynamo.Text(old, "call") != r.id, nil
}

// checkAccount returns the reason why the account does not hold the amount, nil if its
// other shards may. part is the part of the shard.
func (r *reserveCall) checkAccount(ctx context.Context, a *Account, part string) (reason, err error) {
	// After a first refusal the hold has a part in each of several shards.
	amount := r.hold.Amount
	for _, p := range r.hold.parts {
		if part == partAccount+shardKey(r.hold.Account, p.shard) {
			amount = p.amount
		}
	}

	if reason := a.checkOpen(r.hold.Currency); reason != nil {
		return reason, nil
	}

	if a.Available-amount < minAvailable || a.Held+amount > maxHeld {
		return ErrBalanceRange, nil
	}

	if a.Shards == 1 {
		return ErrInsufficientFunds, nil
	}

	if r.shards, err = r.ledger.readShards(ctx, r.hold.Account); err != nil {
		return nil, err
	}

	if len(r.shards) == 0 {
		return ErrUnknownAccount, nil // removed since the condition failed
	}

	if total := sumShards(r.shards); !total.covers(-r.hold.Amount) {
		return ErrInsufficientFunds, nil
	}

	return nil, nil
}

// chooseShards returns the shards that pay: at first the shard that the hold's id selects,
// after a refusal the shards with the most money.
func (r *reserveCall) chooseShards(ctx context.Context) ([]holdPart, error) {
	if r.shards == nil {
		accounts, err := r.ledger.loadAccounts(ctx, []string{r.hold.Account})
		if err != nil {
			return nil, err
		}

		// The first shard of an unknown account does not exist, so the condition fails there.
		shard := 0
		if a, ok := accounts[r.hold.Account]; ok {
			shard = accountShard(r.hold.ID, a.Shards)
		}

		return []holdPart{{shard, r.hold.Amount}}, nil
	}

	slices.SortFunc(r.shards, func(x, y *Account) int { return cmp.Compare(y.Available, x.Available) })

	var parts []holdPart
	rest := r.hold.Amount
	for _, a := range r.shards {
		if taken := min(a.Available, rest); taken > 0 {
			parts = append(parts, holdPart{a.shard, taken})
			rest -= taken
		}
	}

	return parts, nil
}

// accountUpdate moves the amount of a part from available to held.
func (r *reserveCall) accountUpdate(p holdPart) types.TransactWriteItem {
	update := dynamo.NewUpdate(r.ledger.cfg.Tables.Accounts, accountKey(shardKey(r.hold.Account, p.shard)))
	update.
		If(update.Name("status")+" = :open").
		If("currency = :currency").
		If("available >= :low").
		If("held <= :high").
		// The money of a credit account without overdraft must be there. A hold on a debit
		// account makes a later debit certain, and an account of that side can always pay.
		If("(overdraft = :yes OR side = :debit OR available >= :amount)").
		Set("available = available - :amount").
		Set("held = held + :amount").
		Set("revision = revision + :one").
		Set("updatedAt = :now").
		Bind(":open", dynamo.S(string(Open))).
		Bind(":currency", dynamo.S(r.hold.Currency)).
		Bind(":low", dynamo.N(minAvailable+p.amount)).
		Bind(":high", dynamo.N(maxHeld-p.amount)).
		Bind(":yes", dynamo.Bool(true)).
		Bind(":debit", dynamo.S(string(Debit))).
		Bind(":amount", dynamo.N(p.amount)).
		Bind(":one", dynamo.N(1)).
		Bind(":now", dynamo.N(r.at.UnixMilli()))

	return types.TransactWriteItem{Update: update.Part()}
}
