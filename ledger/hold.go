package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/attribute"
	"ratchet/txn"
)

// HoldStatus is what became of a hold.
type HoldStatus string

// A hold is active until all of it is settled or the rest is given back.
const (
	HoldActive   HoldStatus = "active"
	HoldSettled  HoldStatus = "settled"
	HoldReleased HoldStatus = "released"
	HoldLapsed   HoldStatus = "expired"
)

// NewHold is money to be set aside.
type NewHold struct {
	// ID names the hold among those of its account, for good; as a transfer's id.
	ID       string `json:"id"`
	Account  string `json:"account"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	// ExpiresAt is when it may no longer be settled. Zero: never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Hold is a hold as it was when it was read.
type Hold struct {
	NewHold
	Status HoldStatus `json:"status"`
	// Remaining is what is still set aside.
	Remaining int64     `json:"remaining"`
	Shard     int       `json:"shard,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// Validate names the first field that breaks a rule.
func (n NewHold) Validate() error {
	return cmp.Or(checkID("id", n.ID), checkID("account", n.Account), checkMoney(n.Amount, n.Currency))
}

func holdKey(account, id string) image {
	return image{"accountId": attribute.S(account), "holdId": attribute.S(id)}
}

func (n NewHold) digest() []byte {
	expires := int64(0)
	if !n.ExpiresAt.IsZero() {
		expires = n.ExpiresAt.UnixMilli()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", n.Amount, n.Currency, expires))
	return sum[:16]
}

func (h Hold) item(call string) image {
	item := holdKey(h.Account, h.ID)
	item["amount"], item["remaining"], item["currency"] = attribute.N(h.Amount), attribute.N(h.Remaining), attribute.S(h.Currency)
	item["status"], item["shard"], item["createdAt"] = attribute.S(string(h.Status)), attribute.N(int64(h.Shard)), attribute.N(h.CreatedAt.UnixMilli())
	item["digest"], item["call"] = attribute.B(h.digest()), attribute.S(call)
	if !h.ExpiresAt.IsZero() {
		item["expiresAt"] = attribute.N(h.ExpiresAt.UnixMilli())
	}
	return item
}

// holdOf reads a hold, nil for no item.
func holdOf(i image) *Hold {
	if len(i) == 0 {
		return nil
	}
	return &Hold{NewHold: NewHold{ID: attribute.Text(i, "holdId"), Account: attribute.Text(i, "accountId"), Amount: attribute.Number(i, "amount"),
		Currency: attribute.Text(i, "currency"), ExpiresAt: moment(i, "expiresAt")},
		Status: HoldStatus(attribute.Text(i, "status")), Remaining: attribute.Number(i, "remaining"), Shard: int(attribute.Number(i, "shard")),
		CreatedAt: moment(i, "createdAt")}
}

// Hold reads a hold, and whether there is one.
func (l *Ledger) Hold(ctx context.Context, account, id string) (Hold, bool, error) {
	if err := cmp.Or(checkID("account", account), checkID("hold", id)); err != nil {
		return Hold{}, false, err
	}
	out, err := l.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.cfg.Tables.Holds, Key: holdKey(account, id), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Hold{}, false, fmt.Errorf("read hold %s: %w", id, err)
	}
	h := holdOf(out.Item)
	if h == nil {
		return Hold{}, false, nil
	}
	return *h, true, nil
}

// Reserve sets money aside, or returns the hold that was made under its id as it is
// now, and replayed. Of a sharded account one shard must have all of it.
func (l *Ledger) Reserve(ctx context.Context, n NewHold, beside ...Beside) (h Hold, replayed bool, err error) {
	if err := n.Validate(); err != nil {
		return Hold{}, false, fmt.Errorf("hold: %w", err)
	}
	r := reservation{ledger: l, hold: Hold{NewHold: n, Status: HoldActive, Remaining: n.Amount}, call: rand.Text(), at: l.cfg.Now(), beside: beside}
	r.hold.CreatedAt = time.UnixMilli(r.at.UnixMilli()).UTC()
	h, replayed, again, err := r.try(ctx, false)
	if again { // a sharded account: another shard may have enough
		h, replayed, _, err = r.try(ctx, true)
	}
	return h, replayed, err
}

// reservation is one call of Reserve.
type reservation struct {
	ledger *Ledger
	hold   Hold
	call   string // tells this call's record from another's
	at     time.Time
	beside []Beside
}

// try sends the hold once. again tells that the shard has too little, unless most asks
// for the one that has most.
func (r *reservation) try(ctx context.Context, most bool) (h Hold, replayed, again bool, err error) {
	l, n := r.ledger, r.hold.NewHold
	if r.hold.Shard, err = l.shardWith(ctx, n, most); err != nil {
		return Hold{}, false, false, err
	}
	var t txn.Transaction
	t.Marker("hold", types.TransactWriteItem{Put: &types.Put{TableName: &l.cfg.Tables.Holds, Item: r.hold.item(r.call),
		ConditionExpression: aws.String("attribute_not_exists(accountId)")}})
	for _, add := range r.beside {
		add(&t)
	}
	t.Add(partAccount, l.reserve(r.hold, r.at), nil)
	err = l.writer.Write(ctx, &t)
	var refused *txn.Refused
	switch {
	case err == nil:
		return r.hold, false, false, nil
	case !errors.As(err, &refused):
		return Hold{}, false, false, fmt.Errorf("hold %s: %w", n.ID, err)
	case refused.Marker:
		if !bytes.Equal(attribute.Bytes(refused.Old, "digest"), n.digest()) {
			return Hold{}, false, false, &Refusal{Op: "hold", ID: n.ID, Err: ErrConflict}
		}
		return *holdOf(refused.Old), attribute.Text(refused.Old, "call") != r.call, false, nil
	case refused.Part != partAccount:
		return Hold{}, false, false, refused
	}
	a := accountOf(refused.Old)
	l.known.put(shardKey(n.Account, r.hold.Shard), a)
	reason := a.cannotServe(n.Currency)
	switch {
	case reason != nil:
	case a.covers(-n.Amount):
		reason = ErrBalanceRange
	case a.Shards > 1 && !most:
		return Hold{}, false, true, nil
	default:
		reason = ErrInsufficientFunds
	}
	return Hold{}, false, false, &Refusal{Op: "hold", ID: n.ID, Account: n.Account, Err: reason}
}

// shardWith picks the shard of the account that the hold is taken from: by the hold's
// id, or the one that has most.
func (l *Ledger) shardWith(ctx context.Context, n NewHold, most bool) (int, error) {
	accounts, err := l.look(ctx, []string{n.Account})
	if err != nil {
		return 0, err
	}
	a, ok := accounts[n.Account]
	switch {
	case !ok || a.Shards == 1:
		return 0, nil
	case !most:
		return shardFor(n.ID, a.Shards), nil
	}
	shards, err := l.shards(ctx, n.Account)
	if err != nil {
		return 0, err
	}
	best := 0
	for i, s := range shards {
		if s.Available > shards[best].Available {
			best = i
		}
	}
	return best, nil
}

// reserve moves the hold's money from available to held.
func (l *Ledger) reserve(h Hold, now time.Time) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &l.cfg.Tables.Accounts, Key: accountKey(shardKey(h.Account, h.Shard)),
		ConditionExpression: aws.String("attribute_exists(accountId) AND #status = :open AND currency = :currency AND available >= :low AND " +
			"(overdraft = :yes OR side = :debit OR available >= :amount)"),
		UpdateExpression:         aws.String("SET available = available - :amount, held = held + :amount, revision = revision + :one, updatedAt = :now"),
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: image{":open": attribute.S(string(Open)), ":currency": attribute.S(h.Currency), ":yes": yes, ":debit": attribute.S(string(Debit)),
			":amount": attribute.N(h.Amount), ":low": attribute.N(h.Amount - MaxBalance), ":one": attribute.N(1), ":now": attribute.N(now.UnixMilli())},
	}}
}

// take settles a part of the hold, and with release ends it.
func (h *Hold) take(table string, amount int64, release bool, now time.Time) types.TransactWriteItem {
	remaining, status := h.Remaining-amount, HoldActive
	if release || remaining == 0 {
		remaining, status = 0, HoldSettled
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: holdKey(h.Account, h.ID),
		ConditionExpression:      aws.String("#status = :active AND remaining = :seen AND remaining >= :amount AND (attribute_not_exists(expiresAt) OR expiresAt > :now)"),
		UpdateExpression:         aws.String("SET remaining = :remaining, #status = :status"),
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: image{":active": attribute.S(string(HoldActive)), ":seen": attribute.N(h.Remaining), ":amount": attribute.N(amount),
			":now": attribute.N(now.UnixMilli()), ":remaining": attribute.N(remaining), ":status": attribute.S(string(status))},
	}}
}

// cannot says why the hold, as it is, does not give the amount; nil when it does.
func (h *Hold) cannot(amount int64, now time.Time) error {
	switch {
	case h == nil:
		return ErrUnknownHold
	case h.Status == HoldLapsed || h.Status == HoldActive && h.expired(now):
		return ErrHoldExpired
	case h.Status != HoldActive:
		return ErrHoldClosed
	case h.Remaining < amount:
		return ErrHoldExceeded
	}
	return nil
}
