package ledger

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
)

// Owned is the ledger for one component, its owner. The owner keeps records that must agree
// with its holds and transfers. The ids of these holds and transfers end in "#" and the
// owner's name. Everyone can read them, but only Owned makes, settles and releases them: under
// such an id [Ledger.Reserve], [Ledger.Release] and [Ledger.Post] return [ErrReserved].
type Owned struct {
	ledger *Ledger
	suffix string
}

var ownerRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{1,20}$`) })

// checkStoredID checks the id of a hold or transfer to read.
func checkStoredID(what, id string) error {
	// A suffix that cannot be an owner's name stays, and breaks the rule below.
	if bare, owner, owned := strings.Cut(id, "#"); owned && ownerRule().MatchString(owner) {
		id = bare
	}

	return checkID(what, id)
}

// checkOwnID checks the id of a hold or transfer to make or change.
func checkOwnID(what, id string) error {
	err := checkID(what, id)
	if err != nil && checkStoredID(what, id) == nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, what, ErrReserved)
	}

	return err
}

// Owned returns the ledger as the owner of that name uses it. The name has 1 to 20 of a-z.
func (l *Ledger) Owned(owner string) (*Owned, error) {
	if !ownerRule().MatchString(owner) {
		return nil, fmt.Errorf("%w: owner: 1 to 20 of a-z", ErrInvalid)
	}

	return &Owned{ledger: l, suffix: "#" + owner}, nil
}

// Reserve is [Ledger.Reserve] under an id of the owner.
func (o *Owned) Reserve(ctx context.Context, n NewHold, parts ...TxPart) (h Hold, replayed bool, err error) {
	if err := n.Validate(); err != nil {
		return Hold{}, false, fmt.Errorf("hold: %w", err)
	}

	n.ID += o.suffix

	return o.ledger.reserve(ctx, n, parts)
}

// Release is [Ledger.Release] of a hold of the owner.
func (o *Owned) Release(ctx context.Context, account, id string, parts ...TxPart) (Hold, error) {
	if err := checkOwnID("hold", id); err != nil {
		return Hold{}, err
	}

	return o.ledger.release(ctx, account, id+o.suffix, parts)
}

// Post is [Ledger.Post] under an id of the owner, from holds of the owner.
func (o *Owned) Post(ctx context.Context, t Transfer, parts ...TxPart) (Posted, error) {
	if err := t.Validate(); err != nil {
		return Posted{}, fmt.Errorf("transfer: %w", err)
	}

	t.ID += o.suffix
	// The legs belong to the caller, and must not change.
	t.Legs = slices.Clone(t.Legs)

	for i := range t.Legs {
		if t.Legs[i].Hold != "" {
			t.Legs[i].Hold += o.suffix
		}
	}

	return o.ledger.post(ctx, t, parts)
}

// Seen returns an account, or its first shard, as this process has last seen it. The error
// is a [*RefusedError] if the account is unknown, closed or of another currency. The balance and
// the status may be out of date; the other fields never change.
func (o *Owned) Seen(ctx context.Context, id, account, currency string) (Account, error) {
	accounts, err := o.ledger.loadAccounts(ctx, []string{account})
	if err != nil {
		return Account{}, err
	}

	var last *Account
	if a, ok := accounts[account]; ok {
		last = &a
	} else {
		item, err := o.ledger.get(ctx, o.ledger.cfg.Tables.Accounts, accountKey(account))
		if err == nil {
			last, err = readAccount(item)
		}

		if err != nil {
			return Account{}, fmt.Errorf("read account %s: %w", account, err)
		}
	}

	if err := last.checkOpen(currency); err != nil {
		return Account{}, &RefusedError{Op: "look at account", ID: id, Account: account, Err: err}
	}

	return *last, nil
}

// RequireOpen returns a part that fails unless the account is open and has the currency.
// The error is then a [*RefusedError]. Of a sharded account it checks the shard that the id of
// the hold or transfer selects: the shards are closed together.
func (o *Owned) RequireOpen(ctx context.Context, id, account, currency string) (TxPart, error) {
	accounts, err := o.ledger.loadAccounts(ctx, []string{account})
	if err != nil {
		return nil, err
	}

	key := account
	if a, ok := accounts[account]; ok {
		key = shardKey(account, accountShard(id+o.suffix, a.Shards))
	}

	// The condition is false if there is no item.
	check := types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName:                &o.ledger.cfg.Tables.Accounts,
		Key:                      accountKey(key),
		ConditionExpression:      aws.String("#status = :open AND currency = :currency"),
		ExpressionAttributeNames: map[string]string{"#status": "status"},
		ExpressionAttributeValues: dynamo.Item{
			":open":     dynamo.S(string(Open)),
			":currency": dynamo.S(currency),
		},
	}}

	return func(t *txn.Transaction) {
		t.Add("open "+account, check, func(old dynamo.Item) error {
			a, err := readAccount(old)
			if err != nil {
				return err
			}

			return &RefusedError{Op: "require open", ID: id, Account: account, Err: a.checkOpen(currency)}
		})
	}, nil
}
