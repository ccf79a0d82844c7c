package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// HoldStatus is the status of a hold.
type HoldStatus string

// A hold is active until all of it is settled or the rest is returned. The texts are
// stored.
const (
	HoldActive   HoldStatus = "active"
	HoldSettled  HoldStatus = "settled"
	HoldReleased HoldStatus = "released"
	HoldExpired  HoldStatus = "expired"
)

// NewHold describes money to set aside.
type NewHold struct {
	// ID names the hold among the holds of its account, for good. It has 1 to 128 of
	// A-Z a-z 0-9 . _ : / -.
	ID      string `json:"id"`
	Account string `json:"account"`
	// Amount is in minor units, 1 to MaxAmount.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	// ExpiresAt is the time from which the hold can no longer be settled. Zero: never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Hold is a hold at the moment it was read.
type Hold struct {
	NewHold
	Status HoldStatus `json:"status"`
	// Remaining is the amount that is still set aside, in minor units.
	Remaining int64     `json:"remaining"`
	CreatedAt time.Time `json:"createdAt"`

	parts []holdPart // they sum to Remaining
}

// holdPart is the share of one shard in a hold.
type holdPart struct {
	shard  int
	amount int64
}

// Validate returns ErrInvalid with the first field that breaks a rule.
func (n NewHold) Validate() error {
	return cmp.Or(checkOwnID("id", n.ID), checkID("account", n.Account), checkMoney(n.Amount, n.Currency))
}

func holdKey(account, id string) dynamo.Item {
	return dynamo.Item{"accountId": dynamo.S(account), "holdId": dynamo.S(id)}
}

// digest identifies the content of the hold.
func (n NewHold) digest() []byte {
	expires := int64(0)
	if !n.ExpiresAt.IsZero() {
		expires = n.ExpiresAt.UnixMilli()
	}

	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", n.Amount, n.Currency, expires))

	return sum[:16]
}

// item returns the record of the hold.
func (h Hold) item(call string) dynamo.Item {
	item := dynamo.Item{
		"accountId": dynamo.S(h.Account),
		"holdId":    dynamo.S(h.ID),
		"amount":    dynamo.N(h.Amount),
		"remaining": dynamo.N(h.Remaining),
		"currency":  dynamo.S(h.Currency),
		"status":    dynamo.S(string(h.Status)),
		"parts":     encodeParts(h.parts),
		"createdAt": dynamo.N(h.CreatedAt.UnixMilli()),
		"digest":    dynamo.B(h.digest()),
		"call":      dynamo.S(call),
	}
	if !h.ExpiresAt.IsZero() {
		item["expiresAt"] = dynamo.N(h.ExpiresAt.UnixMilli())
	}

	return item
}

func encodeParts(parts []holdPart) types.AttributeValue {
	list := make([]types.AttributeValue, len(parts))
	for i, p := range parts {
		list[i] = dynamo.M(dynamo.Item{
			"shard":  dynamo.N(int64(p.shard)),
			"amount": dynamo.N(p.amount),
		})
	}

	return &types.AttributeValueMemberL{Value: list}
}

// The types of the attributes of a hold, and of each of its parts.
var (
	holdKinds = dynamo.Kinds{
		"holdId": "S", "accountId": "S", "currency": "S", "status": "S", "call": "S", "amount": "N", "remaining": "N",
		"expiresAt": "N", "createdAt": "N", "digest": "B", "parts": "L",
	}
	partKinds = dynamo.Kinds{"shard": "N", "amount": "N"}
)

// readHold reads a hold. It returns nil if there is no item, and ErrCorrupt if an attribute is not of its type:
// without its end or its parts, a hold is another one.
func readHold(item dynamo.Item) (*Hold, error) {
	if err := cmp.Or(holdKinds.Check(item), partKinds.CheckAll(item, "parts")); err != nil {
		return nil, fmt.Errorf("%w: hold %s of account %s: %w", ErrCorrupt, dynamo.Text(item, "holdId"), dynamo.Text(item, "accountId"), err)
	}

	return decodeHold(item), nil
}

// decodeHold reads a hold as far as it can be read. It returns nil if there is no item.
func decodeHold(item dynamo.Item) *Hold {
	if len(item) == 0 {
		return nil
	}

	h := &Hold{
		NewHold: NewHold{
			ID:        dynamo.Text(item, "holdId"),
			Account:   dynamo.Text(item, "accountId"),
			Amount:    dynamo.Number(item, "amount"),
			Currency:  dynamo.Text(item, "currency"),
			ExpiresAt: decodeTime(item, "expiresAt"),
		},
		Status:    HoldStatus(dynamo.Text(item, "status")),
		Remaining: dynamo.Number(item, "remaining"),
		CreatedAt: decodeTime(item, "createdAt"),
	}
	for _, m := range decodeMaps(item, "parts") {
		h.parts = append(h.parts, holdPart{shard: int(dynamo.Number(m, "shard")), amount: dynamo.Number(m, "amount")})
	}

	return h
}

// Hold reads a hold. It reports false if the account has no such hold.
func (l *Ledger) Hold(ctx context.Context, account, id string) (Hold, bool, error) {
	if err := cmp.Or(checkID("account", account), checkStoredID("hold", id)); err != nil {
		return Hold{}, false, err
	}

	item, err := l.get(ctx, l.cfg.Tables.Holds, holdKey(account, id))
	if err != nil {
		return Hold{}, false, fmt.Errorf("read hold %s: %w", id, err)
	}

	h, err := readHold(item)
	if h == nil {
		return Hold{}, false, err
	}

	return *h, true, nil
}

// duePartitions is the number of partitions for the due rows: the rows of the holds that
// have an expiry, in the order of their expiry. Several partitions share the writes.
const duePartitions = 16

// dueKey returns the key of the hold's due row. It cannot be the key of a hold, because no
// account's id contains a "#".
func (h Hold) dueKey() dynamo.Item {
	return holdKey(duePartition(dynamo.Shard(h.ID, duePartitions)), fmt.Sprintf("%015d#%s#%s", h.ExpiresAt.UnixMilli(), h.Account, h.ID))
}

func duePartition(n int) string { return fmt.Sprint("due#", n) }

// addDueRow adds the due row of a new hold that expires.
func (h Hold) addDueRow(table string, t *txn.Transaction) {
	if !h.ExpiresAt.IsZero() {
		t.Add("due", types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: h.dueKey()}}, nil)
	}
}

// deleteDueRow deletes the due row together with the end of the hold.
func (h Hold) deleteDueRow(table string, t *txn.Transaction) {
	if !h.ExpiresAt.IsZero() {
		t.Add("due", types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: h.dueKey()}}, nil)
	}
}

// split distributes a debit of the amount over the parts, in their order. taken is how much
// each part pays; freed is the rest that it then returns, 0 unless release is set.
func (h *Hold) split(amount int64, release bool) (taken, freed []holdPart) {
	for _, p := range h.parts {
		paid := min(p.amount, amount)
		amount -= paid
		taken = append(taken, holdPart{p.shard, paid})

		rest := int64(0)
		if release {
			rest = p.amount - paid
		}

		freed = append(freed, holdPart{p.shard, rest})
	}

	return taken, freed
}

// partsAfter returns the parts that are left after a debit.
func (h *Hold) partsAfter(amount int64, release bool) (left []holdPart) {
	taken, freed := h.split(amount, release)
	for i, p := range h.parts {
		if n := p.amount - taken[i].amount - freed[i].amount; n > 0 {
			left = append(left, holdPart{p.shard, n})
		}
	}

	return left
}

// settleUpdate settles a part of the hold and, with release, ends the hold. The condition pins
// the remaining amount. The parts change only together with this amount, so they are pinned,
// too. The end, if the hold has one, is compared with :now, which the caller sets.
func (h *Hold) settleUpdate(table string, amount int64, release bool) *dynamo.Update {
	left := h.partsAfter(amount, release)
	remaining := int64(0)
	for _, p := range left {
		remaining += p.amount
	}

	after := HoldActive
	// With release nothing remains, whatever the amount was.
	if remaining == 0 {
		after = HoldSettled
	}

	// The amount is compared here as well: a hold that has too little is sent all the same,
	// because the transfer's record may show that the transfer was made before.
	update := dynamo.NewUpdate(table, holdKey(h.Account, h.ID))
	status, parts := update.Name("status"), update.Name("parts")
	update.
		If(status+" = :active").
		If("remaining = :seen").
		If("remaining >= :amount").
		Set("remaining = :remaining").
		Set(parts+" = :parts").
		Set(status+" = :status").
		Bind(":active", dynamo.S(string(HoldActive))).
		Bind(":seen", dynamo.N(h.Remaining)).
		Bind(":amount", dynamo.N(amount)).
		Bind(":remaining", dynamo.N(remaining)).
		Bind(":parts", encodeParts(left)).
		Bind(":status", dynamo.S(string(after)))

	if !h.ExpiresAt.IsZero() {
		update.If("expiresAt > :now")
	}

	return update
}

// checkSettle returns the reason why the hold cannot pay the amount, nil if it can. A nil
// hold does not exist.
func (h *Hold) checkSettle(amount int64, now time.Time) error {
	switch {
	case h == nil:
		return ErrUnknownHold
	case h.Status == HoldExpired || h.Status == HoldActive && h.expired(now):
		return ErrHoldExpired
	case h.Status != HoldActive:
		return ErrHoldClosed
	case h.Remaining < amount:
		return ErrHoldExceeded
	}

	return nil
}

// expired reports whether the hold can no longer be settled.
func (h *Hold) expired(now time.Time) bool { return !h.ExpiresAt.IsZero() && !now.Before(h.ExpiresAt) }
