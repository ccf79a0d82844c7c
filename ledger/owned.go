package ledger

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// Owned is the ledger in the hands of one owner: a component with records of its own
// that must say the same as its holds and transfers. Their ids end in "#" and the
// owner's name; such an id can be read by everybody, and made, settled or released only
// here. What [Ledger.Reserve], [Ledger.Release] and [Ledger.Post] are given under such
// an id is [ErrReserved].
type Owned struct {
	ledger *Ledger
	suffix string
}

var ownerRule = regexp.MustCompile(`^[a-z]{1,20}$`)

// checkStored is the rule for the id of a hold or transfer that is read.
func checkStored(what, id string) error {
	if bare, owner, owned := strings.Cut(id, "#"); owned && ownerRule.MatchString(owner) {
		id = bare
	}
	return checkID(what, id)
}

// checkOwn is the rule for the id of a hold or transfer that is made or changed.
func checkOwn(what, id string) error {
	err := checkID(what, id)
	if err != nil && checkStored(what, id) == nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, what, ErrReserved)
	}

	return err
}

// Owned is the ledger for the owner of that name, 1 to 20 of a-z.
func (l *Ledger) Owned(owner string) (*Owned, error) {
	if !ownerRule.MatchString(owner) {
		return nil, fmt.Errorf("%w: owner: 1 to 20 of a-z", ErrInvalid)
	}
	return &Owned{ledger: l, suffix: "#" + owner}, nil
}

// Reserve is [Ledger.Reserve] under an id of the owner.
func (o *Owned) Reserve(ctx context.Context, n NewHold, beside ...Beside) (h Hold, replayed bool, err error) {
	if err := n.Validate(); err != nil {
		return Hold{}, false, fmt.Errorf("hold: %w", err)
	}
	n.ID += o.suffix

	return o.ledger.reserve(ctx, n, beside)
}

// Release is [Ledger.Release] of a hold of the owner.
func (o *Owned) Release(ctx context.Context, account, id string, beside ...Beside) (Hold, error) {
	if err := checkOwn("hold", id); err != nil {
		return Hold{}, err
	}
	return o.ledger.release(ctx, account, id+o.suffix, beside)
}

// Post is [Ledger.Post] under an id of the owner, from holds of the owner.
func (o *Owned) Post(ctx context.Context, t Transfer, beside ...Beside) (Posted, error) {
	if err := t.Validate(); err != nil {
		return Posted{}, fmt.Errorf("transfer: %w", err)
	}

	t.ID += o.suffix
	t.Legs = append([]Leg(nil), t.Legs...)
	for i := range t.Legs {
		if t.Legs[i].Hold != "" {
			t.Legs[i].Hold += o.suffix
		}
	}

	return o.ledger.post(ctx, t, beside)
}

// Serving is a part that lets a transaction through only while the account is open and
// of that currency; otherwise its [Refusal] is the transaction's error. Of a sharded
// account it looks at the shard that the id picks: all are closed together.
func (o *Owned) Serving(ctx context.Context, id, account, currency string) (Beside, error) {
	accounts, err := o.ledger.look(ctx, []string{account})
	if err != nil {
		return nil, err
	}

	key := account
	if a, ok := accounts[account]; ok {
		key = shardKey(account, shardFor(id, a.Shards))
	}
	check := types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &o.ledger.cfg.Tables.Accounts, Key: accountKey(key),
		ConditionExpression:       aws.String("#status = :open AND currency = :currency"), // false when there is none
		ExpressionAttributeNames:  map[string]string{"#status": "status"},
		ExpressionAttributeValues: image{":open": dynamo.S(string(Open)), ":currency": dynamo.S(currency)},
	}}

	return func(t *txn.Transaction) {
		t.Add("serving "+account, check, func(old image) error {
			return &Refusal{Op: "serving", ID: id, Account: account, Err: accountOf(old).cannotServe(currency)}
		})
	}, nil
}
