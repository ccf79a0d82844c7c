package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/txn"
)

// CreateAccount opens an account. A repeat returns the account as it is now and
// replayed; ErrConflict when the id has an account of another kind.
func (l *Ledger) CreateAccount(ctx context.Context, n NewAccount) (a Account, replayed bool, err error) {
	if err := n.Validate(); err != nil {
		return Account{}, false, fmt.Errorf("create account: %w", err)
	}

	n.Shards = max(n.Shards, 1)
	if n.Side == "" {
		n.Side = Credit
	}

	now, call := l.cfg.Now(), rand.Text()
	var t txn.Transaction
	var first image
	for shard := range n.Shards {
		put := &types.Put{TableName: &l.cfg.Tables.Accounts, Item: n.item(shard, now, call), ConditionExpression: aws.String("attribute_not_exists(accountId)")}
		if shard == 0 {
			first = put.Item
			t.Marker("account", types.TransactWriteItem{Put: put})
		} else {
			t.Add(shardKey("shard", shard), types.TransactWriteItem{Put: put}, txn.FailWith(ErrCorrupt))
		}
	}

	var refused *txn.Refused
	switch err := l.writer.Write(ctx, &t); {
	case err == nil:
		return *accountOf(first), false, nil
	case !errors.As(err, &refused) || !refused.Marker:
		return Account{}, false, fmt.Errorf("create account %s: %w", n.ID, err)
	}

	old := accountOf(refused.Old)
	if old == nil || old.Currency != n.Currency || old.Side != n.Side || old.Overdraft != n.Overdraft || old.Shards != n.Shards {
		return Account{}, false, &Refusal{Op: "create account", ID: n.ID, Err: ErrConflict}
	}

	if old.Shards > 1 {
		now, _, err := l.Account(ctx, n.ID)
		return now, old.call != call, err
	}

	return *old, old.call != call, nil
}

// Account reads an account, all shards at one moment, and whether there is one.
func (l *Ledger) Account(ctx context.Context, id string) (Account, bool, error) {
	if err := checkID("account", id); err != nil {
		return Account{}, false, err
	}

	shards, err := l.shards(ctx, id)
	if err != nil || len(shards) == 0 {
		return Account{}, false, err
	}

	return sum(shards), true, nil
}

// shards reads every shard of an account at one moment; none when there is no account.
func (l *Ledger) shards(ctx context.Context, id string) ([]*Account, error) {
	out, err := l.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.cfg.Tables.Accounts, Key: accountKey(id), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("read account %s: %w", id, err)
	}

	first := accountOf(out.Item)
	switch {
	case first == nil:
		return nil, nil
	case first.Shards == 1:
		return []*Account{first}, nil
	}

	in := &dynamodb.TransactGetItemsInput{}
	for shard := range first.Shards {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &l.cfg.Tables.Accounts, Key: accountKey(shardKey(id, shard))}})
	}

	for attempt := 1; ; attempt++ {
		out, err := l.cfg.DynamoDB.TransactGetItems(ctx, in)
		var canceled *types.TransactionCanceledException
		switch {
		case err == nil:
			return l.complete(id, out.Responses)
		case !errors.As(err, &canceled) || attempt == l.cfg.Attempts:
			return nil, fmt.Errorf("read account %s: %w", id, err)
		case !pause(ctx, attempt): // in conflict with a transfer
			return nil, contended(ctx, "read account", id)
		}
	}
}

func (l *Ledger) complete(id string, all []types.ItemResponse) ([]*Account, error) {
	shards := make([]*Account, len(all))
	for i, r := range all {
		if shards[i] = accountOf(r.Item); shards[i] == nil {
			return nil, fmt.Errorf("read account %s: %w: shard %d is missing", id, ErrCorrupt, i)
		}
	}

	return shards, nil
}

// Accounts returns up to limit accounts (1 to 1,000) in no useful order, and the after
// of the next page, empty at the end. It scans the table: for people and checks.
func (l *Ledger) Accounts(ctx context.Context, after string, limit int) (all []Account, next string, err error) {
	if limit < 1 || limit > 1000 {
		return nil, "", fmt.Errorf("list accounts: %w: limit %d: 1 to 1000", ErrInvalid, limit)
	}
	all = []Account{}

	in := &dynamodb.ScanInput{TableName: &l.cfg.Tables.Accounts, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit))}
	if after != "" {
		in.ExclusiveStartKey = accountKey(after)
	}

	for {
		out, err := l.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("list accounts: %w", err)
		}

		for _, item := range out.Items {
			a := accountOf(item)
			if a.shard > 0 {
				continue
			}

			if a.Shards > 1 {
				shards, err := l.shards(ctx, a.ID)
				if err != nil {
					return nil, "", err
				}
				*a = sum(shards)
			}

			if all = append(all, *a); len(all) == limit {
				return all, a.ID, nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, "", nil
		}
	}
}

// CloseAccount closes an empty account for good; a repeat succeeds. ErrAccountInUse
// while it has a balance or a hold, in any shard.
func (l *Ledger) CloseAccount(ctx context.Context, id string) error {
	if err := checkID("account", id); err != nil {
		return err
	}

	a, found, err := l.Account(ctx, id)
	switch {
	case err != nil:
		return err
	case !found:
		return &Refusal{Op: "close account", ID: id, Err: ErrUnknownAccount}
	}

	var t txn.Transaction
	now := dynamo.N(l.cfg.Now().UnixMilli())
	for shard := range a.Shards { // their number never changes
		key := shardKey(id, shard)
		t.Add(key, types.TransactWriteItem{Update: &types.Update{
			TableName: &l.cfg.Tables.Accounts, Key: accountKey(key),
			ConditionExpression:      aws.String("#status = :closed OR (available = :zero AND held = :zero)"),
			UpdateExpression:         aws.String("SET #status = :closed, updatedAt = :now, revision = revision + :one"),
			ExpressionAttributeNames: map[string]string{"#status": "status"},
			ExpressionAttributeValues: image{":closed": dynamo.S(string(Closed)), ":zero": dynamo.N(0),
				":one": dynamo.N(1), ":now": now},
		}}, txn.FailWith(ErrAccountInUse))
		l.known.forget(key)
	}

	err = l.writer.Write(ctx, &t)
	if errors.Is(err, ErrAccountInUse) {
		return &Refusal{Op: "close account", ID: id, Err: ErrAccountInUse}
	}

	return err
}
