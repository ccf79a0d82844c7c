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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// Reserve sets money aside, or returns the hold that was made under its id as it is
// now, and replayed. Of a sharded account it is taken from one shard, or from several
// in the same transaction when that has too little.
func (l *Ledger) Reserve(ctx context.Context, n NewHold, beside ...Beside) (h Hold, replayed bool, err error) {
	if err := n.Validate(); err != nil {
		return Hold{}, false, fmt.Errorf("hold: %w", err)
	}
	return l.reserve(ctx, n, beside)
}

func (l *Ledger) reserve(ctx context.Context, n NewHold, beside []Beside) (h Hold, replayed bool, err error) {
	r := reservation{ledger: l, hold: Hold{NewHold: n, Status: HoldActive, Remaining: n.Amount}, call: rand.Text(), at: l.cfg.Now(), beside: beside}
	r.hold.CreatedAt = time.UnixMilli(r.at.UnixMilli()).UTC()
	for attempt := 1; ; attempt++ {
		h, replayed, again, err := r.try(ctx)
		if !again {
			return h, replayed, err
		}

		if attempt == l.cfg.Attempts || !pause(ctx, attempt) {
			return Hold{}, false, contended(ctx, "hold", n.ID)
		}
	}
}

// reservation is one call of Reserve.
type reservation struct {
	ledger *Ledger
	hold   Hold
	call   string // tells this call's record from another's
	at     time.Time
	beside []Beside
	shards []*Account // as last read together, once the shard of choice had too little
}

// try sends the hold once. again tells that another choice of shards may have enough.
func (r *reservation) try(ctx context.Context) (h Hold, replayed, again bool, err error) {
	l, n := r.ledger, r.hold.NewHold
	if r.hold.parts, err = r.choose(ctx); err != nil {
		return Hold{}, false, false, err
	}
	var t txn.Transaction
	t.Marker("hold", types.TransactWriteItem{Put: &types.Put{TableName: &l.cfg.Tables.Holds, Item: r.hold.item(r.call),
		ConditionExpression: aws.String("attribute_not_exists(accountId)")}})

	for _, add := range r.beside {
		add(&t)
	}
	r.hold.noteDue(l.cfg.Tables.Holds, &t)

	for _, p := range r.hold.parts {
		t.Add(partAccount+shardKey(n.Account, p.shard), r.account(p), nil)
	}

	err = l.writer.Write(ctx, &t)
	var refused *txn.Refused
	switch {
	case err == nil:
		return r.hold, false, false, nil
	case !errors.As(err, &refused):
		return Hold{}, false, false, fmt.Errorf("hold %s: %w", n.ID, err)
	case refused.Marker:
		if !bytes.Equal(dynamo.Bytes(refused.Old, "digest"), n.digest()) {
			return Hold{}, false, false, &Refusal{Op: "hold", ID: n.ID, Err: ErrConflict}
		}
		return *holdOf(refused.Old), dynamo.Text(refused.Old, "call") != r.call, false, nil
	case !strings.HasPrefix(refused.Part, partAccount):
		return Hold{}, false, false, refused
	}

	reason, err := r.cannot(ctx, accountOf(refused.Old))
	switch {
	case err != nil:
		return Hold{}, false, false, err
	case reason != nil:
		return Hold{}, false, false, &Refusal{Op: "hold", ID: n.ID, Account: n.Account, Err: reason}
	}

	return Hold{}, false, true, nil
}

// cannot says why the account, as it is, does not hold the amount; nil when other
// shards may.
func (r *reservation) cannot(ctx context.Context, a *Account) (reason, err error) {
	n := r.hold.NewHold
	if reason := a.cannotServe(n.Currency); reason != nil {
		return reason, nil
	}

	if a.Available-n.Amount < -MaxBalance {
		return ErrBalanceRange, nil
	}

	if a.Shards == 1 {
		return ErrInsufficientFunds, nil
	}

	if r.shards, err = r.ledger.shards(ctx, n.Account); err != nil {
		return nil, err
	}

	if total := sum(r.shards); !total.covers(-n.Amount) {
		return ErrInsufficientFunds, nil
	}

	return nil, nil
}

// choose picks the shard by the hold's id, or those that have most.
func (r *reservation) choose(ctx context.Context) ([]holdPart, error) {
	n := r.hold.NewHold
	if r.shards == nil {
		accounts, err := r.ledger.look(ctx, []string{n.Account})
		if err != nil {
			return nil, err
		}

		shard := 0
		if a, ok := accounts[n.Account]; ok {
			shard = shardFor(n.ID, a.Shards)
		}

		return []holdPart{{shard, n.Amount}}, nil
	}
	slices.SortFunc(r.shards, func(x, y *Account) int { return cmp.Compare(y.Available, x.Available) })

	var parts []holdPart
	rest := n.Amount
	for _, a := range r.shards {
		if take := min(a.Available, rest); take > 0 {
			parts = append(parts, holdPart{a.shard, take})
			rest -= take
		}
	}

	return parts, nil
}

// account moves a part's money from available to held.
func (r *reservation) account(p holdPart) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(r.ledger.cfg.Tables.Accounts), Key: accountKey(shardKey(r.hold.Account, p.shard)),
		ConditionExpression: aws.String("attribute_exists(accountId) AND #status = :open AND currency = :currency AND available >= :low AND " +
			"(overdraft = :yes OR side = :debit OR available >= :amount)"),
		UpdateExpression:         aws.String("SET available = available - :amount, held = held + :amount, revision = revision + :one, updatedAt = :now"),
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: image{":open": dynamo.S(string(Open)), ":currency": dynamo.S(r.hold.Currency), ":yes": yes, ":debit": dynamo.S(string(Debit)),
			":amount": dynamo.N(p.amount), ":low": dynamo.N(p.amount - MaxBalance), ":one": dynamo.N(1), ":now": dynamo.N(r.at.UnixMilli())},
	}}
}
