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
	"ratchet/once/txn"
)

// CreateAccount opens an account. A repeat returns the account as it is now, and replayed.
// It returns ErrConflict if the id has an account of another kind.
func (l *Ledger) CreateAccount(ctx context.Context, n NewAccount) (a Account, replayed bool, err error) {
	if err := n.Validate(); err != nil {
		return Account{}, false, fmt.Errorf("create account: %w", err)
	}

	n.Shards = max(n.Shards, 1)
	if n.Side == "" {
		n.Side = Credit
	}

	now, call := l.clock.Now(), rand.Text()
	first := n.item(0, now, call)

	var t txn.Transaction
	t.Marker("account", l.putNew(l.cfg.Tables.Accounts, "accountId", first))

	for shard := 1; shard < n.Shards; shard++ {
		put := l.putNew(l.cfg.Tables.Accounts, "accountId", n.item(shard, now, call))
		// The first shard decides. The others are written with it, so they cannot exist without it.
		t.Add(shardKey("shard", shard), put, txn.FailWith(ErrCorrupt))
	}

	var refused *txn.CanceledError
	switch err := l.writer.Write(ctx, &t); {
	case err == nil:
		return *decodeAccount(first), false, nil
	case !errors.As(err, &refused) || !refused.Marker:
		return Account{}, false, fmt.Errorf("create account %s: %w", n.ID, err)
	}

	old, err := readAccount(refused.Old)
	if err != nil {
		return Account{}, false, fmt.Errorf("create account %s: %w", n.ID, err)
	}

	if old == nil || old.Currency != n.Currency || old.Side != n.Side || old.Overdraft != n.Overdraft || old.Shards != n.Shards {
		return Account{}, false, &RefusedError{Op: "create account", ID: n.ID, Err: ErrConflict}
	}

	// If the stored call is this one, an earlier attempt was made and its answer was lost. No read
	// that may fail stands between it and the caller.
	replayed = old.call != call
	if !replayed || old.Shards == 1 {
		return *old, replayed, nil
	}

	all, _, err := l.Account(ctx, n.ID)

	return all, true, err
}

// putNew returns a put of an item that must not exist. Key is the name of the partition
// key.
func (l *Ledger) putNew(table, key string, item dynamo.Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName:           &table,
		Item:                item,
		ConditionExpression: aws.String("attribute_not_exists(" + key + ")"),
	}}
}

// Account reads an account, all shards at one moment. It reports false if there is none.
func (l *Ledger) Account(ctx context.Context, id string) (Account, bool, error) {
	if err := checkID("account", id); err != nil {
		return Account{}, false, err
	}

	shards, err := l.readShards(ctx, id)
	if err != nil || len(shards) == 0 {
		return Account{}, false, err
	}

	return sumShards(shards), true, nil
}

// readShards reads every shard of an account at one moment. It returns none if there is no
// account.
func (l *Ledger) readShards(ctx context.Context, id string) ([]*Account, error) {
	item, err := l.get(ctx, l.cfg.Tables.Accounts, accountKey(id))
	if err != nil {
		return nil, fmt.Errorf("read account %s: %w", id, err)
	}

	first, err := readAccount(item)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read account %s: %w", id, err)
	case first == nil:
		return nil, nil
	case first.Shards == 1:
		return []*Account{first}, nil
	}

	var gets []types.TransactGetItem
	// All shards are read at one moment: otherwise money that moves between two shards would be
	// counted twice or not at all.
	for shard := range first.Shards {
		gets = append(gets, types.TransactGetItem{Get: &types.Get{
			TableName: &l.cfg.Tables.Accounts,
			Key:       accountKey(shardKey(id, shard)),
		}})
	}

	all, err := l.readTogether(ctx, "account", id, gets)
	if err != nil {
		return nil, err
	}

	return decodeShards(id, all)
}

// readTogether reads items at one moment. what and id name the items in the error.
func (l *Ledger) readTogether(ctx context.Context, what, id string, gets []types.TransactGetItem) ([]types.ItemResponse, error) {
	in := &dynamodb.TransactGetItemsInput{TransactItems: gets}
	for attempt := 1; ; attempt++ {
		out, err := l.cfg.DynamoDB.TransactGetItems(ctx, in)
		var canceled *types.TransactionCanceledException
		switch {
		case err == nil:
			return out.Responses, nil
		case !errors.As(err, &canceled) || attempt == l.cfg.attempts:
			return nil, fmt.Errorf("read %s %s: %w", what, id, err)
		case !waitBeforeRetry(ctx, attempt): // the read conflicts with a transfer
			return nil, contended(ctx, "read "+what, id)
		}
	}
}

func decodeShards(id string, all []types.ItemResponse) ([]*Account, error) {
	shards := make([]*Account, len(all))
	for i, r := range all {
		var err error

		switch shards[i], err = readAccount(r.Item); {
		case err != nil:
			return nil, fmt.Errorf("read account %s: %w", id, err)
		case shards[i] == nil:
			return nil, fmt.Errorf("read account %s: %w: shard %d is missing", id, ErrCorrupt, i)
		}
	}

	return shards, nil
}

// Accounts returns up to limit accounts (1 to 1,000) in no particular order, and the after of
// the next page, empty at the end. It scans the table: it is meant for people and checks.
func (l *Ledger) Accounts(ctx context.Context, after string, limit int) (all []Account, next string, err error) {
	if err := checkLimit(limit); err != nil {
		return nil, "", fmt.Errorf("list accounts: %w", err)
	}

	all = []Account{}

	in := &dynamodb.ScanInput{
		TableName:      &l.cfg.Tables.Accounts,
		ConsistentRead: aws.Bool(true),
		Limit:          aws.Int32(int32(limit)),
	}
	if after != "" {
		in.ExclusiveStartKey = accountKey(after)
	}

	for {
		out, err := l.cfg.DynamoDB.Scan(ctx, in)
		if err != nil {
			return nil, "", fmt.Errorf("list accounts: %w", err)
		}

		for _, item := range out.Items {
			a := decodeAccount(item)
			if a.shard > 0 { // counted with the first shard
				continue
			}

			if a.Shards > 1 {
				// The scan reads the shards at different moments.
				shards, err := l.readShards(ctx, a.ID)
				if err != nil {
					return nil, "", err
				}

				*a = sumShards(shards)
			}

			// The first shard is stored under the account's id, so the id is a place in the table.
			if all = append(all, *a); len(all) == limit {
				return all, a.ID, nil
			}
		}

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, "", nil
		}
	}
}

// checkLimit checks the size of a page.
func checkLimit(limit int) error {
	const most = 1000
	if limit < 1 || limit > most {
		return fmt.Errorf("%w: limit %d: 1 to %d", ErrInvalid, limit, most)
	}

	return nil
}

// CloseAccount closes an empty account for good. A repeat succeeds. It returns
// ErrAccountInUse while any shard has money available or held.
func (l *Ledger) CloseAccount(ctx context.Context, id string) error {
	if err := checkID("account", id); err != nil {
		return err
	}

	a, found, err := l.Account(ctx, id)
	switch {
	case err != nil:
		return err
	case !found:
		return &RefusedError{Op: "close account", ID: id, Err: ErrUnknownAccount}
	}

	var t txn.Transaction
	now := l.clock.Now().UnixMilli()
	for shard := range a.Shards { // the number of shards never changes
		key := shardKey(id, shard)

		update := dynamo.NewUpdate(l.cfg.Tables.Accounts, accountKey(key))
		status := update.Name("status")
		update.
			// A closed shard fulfills the condition, so that a repeat succeeds.
			If("("+status+" = :closed OR (available = :zero AND held = :zero))").
			Set(status+" = :closed").
			Set("updatedAt = :now").
			Set("revision = revision + :one").
			Bind(":closed", dynamo.S(string(Closed))).
			Bind(":zero", dynamo.N(0)).
			Bind(":one", dynamo.N(1)).
			Bind(":now", dynamo.N(now))

		t.Add(key, types.TransactWriteItem{Update: update.Part()}, txn.FailWith(ErrAccountInUse))
		l.cache.forget(key)
	}

	err = l.writer.Write(ctx, &t)
	if errors.Is(err, ErrAccountInUse) {
		return &RefusedError{Op: "close account", ID: id, Err: ErrAccountInUse}
	}

	return err
}
