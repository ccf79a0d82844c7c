package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
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
	CreatedAt time.Time `json:"createdAt"`

	parts []holdPart // where it is set aside; they sum to Remaining
}

// holdPart is what one shard of the account holds.
type holdPart struct {
	shard  int
	amount int64
}

// Validate names the first field that breaks a rule.
func (n NewHold) Validate() error {
	return cmp.Or(checkOwn("id", n.ID), checkID("account", n.Account), checkMoney(n.Amount, n.Currency))
}

func holdKey(account, id string) image {
	return image{"accountId": dynamo.S(account), "holdId": dynamo.S(id)}
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

	item["amount"], item["remaining"], item["currency"] = dynamo.N(h.Amount), dynamo.N(h.Remaining), dynamo.S(h.Currency)
	item["status"], item["parts"], item["createdAt"] = dynamo.S(string(h.Status)), partsValue(h.parts), dynamo.N(h.CreatedAt.UnixMilli())
	item["digest"], item["call"] = dynamo.B(h.digest()), dynamo.S(call)
	if !h.ExpiresAt.IsZero() {
		item["expiresAt"] = dynamo.N(h.ExpiresAt.UnixMilli())
	}

	return item
}

func partsValue(parts []holdPart) types.AttributeValue {
	list := make([]types.AttributeValue, len(parts))
	for i, p := range parts {
		list[i] = dynamo.M(image{"shard": dynamo.N(int64(p.shard)), "amount": dynamo.N(p.amount)})
	}

	return &types.AttributeValueMemberL{Value: list}
}

// holdOf reads a hold, nil for no item.
func holdOf(i image) *Hold {
	if len(i) == 0 {
		return nil
	}

	h := &Hold{NewHold: NewHold{ID: dynamo.Text(i, "holdId"), Account: dynamo.Text(i, "accountId"), Amount: dynamo.Number(i, "amount"),
		Currency: dynamo.Text(i, "currency"), ExpiresAt: moment(i, "expiresAt")},
		Status: HoldStatus(dynamo.Text(i, "status")), Remaining: dynamo.Number(i, "remaining"), CreatedAt: moment(i, "createdAt")}
	for _, m := range maps(i, "parts") {
		h.parts = append(h.parts, holdPart{int(dynamo.Number(m, "shard")), dynamo.Number(m, "amount")})
	}

	return h
}

// Hold reads a hold, and whether there is one.
func (l *Ledger) Hold(ctx context.Context, account, id string) (Hold, bool, error) {
	if err := cmp.Or(checkID("account", account), checkStored("hold", id)); err != nil {
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

// dueShards spreads the rows of holds that end, so that no partition takes all writes.
const dueShards = 16

// dueKey is where the hold's row lies among those that end: one of a few partitions, in
// the order of the moment. No account's id has a "#".
func (h Hold) dueKey() image {
	return holdKey(duePartition(shardFor(h.ID, dueShards)), fmt.Sprintf("%015d#%s#%s", h.ExpiresAt.UnixMilli(), h.Account, h.ID))
}

func duePartition(shard int) string { return fmt.Sprint("due#", shard) }

// noteDue adds the row of a hold that ends; forgetDue removes it with the hold's end.
func (h Hold) noteDue(table string, t *txn.Transaction) {
	if !h.ExpiresAt.IsZero() {
		t.Add("due", types.TransactWriteItem{Put: &types.Put{TableName: &table, Item: h.dueKey()}}, nil)
	}
}

func (h Hold) forgetDue(table string, t *txn.Transaction) {
	if !h.ExpiresAt.IsZero() {
		t.Add("due", types.TransactWriteItem{Delete: &types.Delete{TableName: &table, Key: h.dueKey()}}, nil)
	}
}

// split says what each part gives to a debit of the amount, in their order, and with
// release what each then gives back.
func (h *Hold) split(amount int64, release bool) (taken, freed []holdPart) {
	for _, p := range h.parts {
		n := min(p.amount, amount)

		amount -= n
		taken = append(taken, holdPart{p.shard, n})
		rest := int64(0)
		if release {
			rest = p.amount - n
		}
		freed = append(freed, holdPart{p.shard, rest})
	}

	return taken, freed
}

// take settles a part of the hold, and with release ends it. What remains pins the
// parts, too: they change only together.
func (h *Hold) take(table string, amount int64, release bool, now time.Time) types.TransactWriteItem {
	left, status := h.left(amount, release), HoldActive
	remaining := int64(0)
	for _, p := range left {
		remaining += p.amount
	}

	if remaining == 0 {
		status = HoldSettled
	}

	return types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: holdKey(h.Account, h.ID),
		ConditionExpression:      aws.String("#status = :active AND remaining = :seen AND remaining >= :amount AND (attribute_not_exists(expiresAt) OR expiresAt > :now)"),
		UpdateExpression:         aws.String("SET remaining = :remaining, #parts = :parts, #status = :status"),
		ExpressionAttributeNames: map[string]string{"#status": "status", "#parts": "parts"},
		ExpressionAttributeValues: image{":active": dynamo.S(string(HoldActive)), ":seen": dynamo.N(h.Remaining), ":amount": dynamo.N(amount),
			":now": dynamo.N(now.UnixMilli()), ":remaining": dynamo.N(remaining), ":parts": partsValue(left), ":status": dynamo.S(string(status))},
	}}
}

// left is what the parts have after a debit.
func (h *Hold) left(amount int64, release bool) (left []holdPart) {
	taken, freed := h.split(amount, release)
	for i, p := range h.parts {
		if n := p.amount - taken[i].amount - freed[i].amount; n > 0 {
			left = append(left, holdPart{p.shard, n})
		}
	}

	return left
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
