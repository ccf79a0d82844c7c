package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/once/ledger"
	"ratchet/once/txn"
)

const (
	// crowd is the number of accounts besides the hot ones.
	crowd           = 100
	transferCallers = 32
)

// ledgerBench is a ledger with the accounts of the benchmark.
type ledgerBench struct {
	*ledger.Ledger
	db     *dynamodb.Client
	tables ledger.Tables
	// others are the same ledger as seen by other processes, each with its own cache.
	others []*ledger.Ledger
	// recorder is the same ledger once more: it sends nothing and keeps its last transaction.
	recorder *ledger.Ledger
	sent     *capture
}

// openLedger creates the tables and the accounts: a crowd that may overdraw, and two hot ones
// with 1 and 16 shards.
func openLedger(ctx context.Context, e *endpoint) (*ledgerBench, error) {
	t := &ledgerBench{
		db:     e.db,
		tables: ledger.Tables{Accounts: "accounts", Entries: "ledger", Transfers: "transfers", Holds: "holds"},
	}
	if err := e.tables(ctx, t.tables.Inputs()...); err != nil {
		return nil, err
	}

	// As many as callers: each has its own when they are to act as processes.
	for range transferCallers {
		l, err := ledger.New(ledger.Config{DynamoDB: e.db, Tables: t.tables})
		if err != nil {
			return nil, err
		}
		t.others = append(t.others, l)
	}

	// One ledger for all callers in this process, and with it one cache of balances.
	t.Ledger, t.sent = t.others[0], &capture{Client: e.db, discard: true}

	var err error
	if t.recorder, err = ledger.New(ledger.Config{DynamoDB: t.sent, Tables: t.tables}); err != nil {
		return nil, err
	}

	ids := make([]string, 0, crowd+4*transferCallers)
	for i := range crowd {
		ids = append(ids, account(i))
	}

	// Pairs of their own: transfers on one account wait for each other.
	for caller := range transferCallers {
		for _, name := range []string{"post", "same"} {
			from, to := own(name)(caller)
			ids = append(ids, from, to)
		}
	}

	for _, id := range ids {
		if _, _, err := t.CreateAccount(ctx, ledger.NewAccount{
			ID:        id,
			Currency:  "EUR",
			Overdraft: true,
		}); err != nil {
			return nil, err
		}
	}

	for id, shards := range map[string]int{"hot": 1, "hot-16": 16} {
		if _, _, err := t.CreateAccount(ctx, ledger.NewAccount{ID: id, Currency: "EUR", Shards: shards}); err != nil {
			return nil, err
		}
	}

	return t, nil
}

// account returns the id of an account of the crowd.
func account(i int) string { return fmt.Sprint("a-", i%crowd) }

// own returns the two accounts of the caller that does a piece.
func own(name string) among {
	return func(piece int) (from, to string) {
		pair := fmt.Sprint(name, "-", piece%transferCallers)
		return pair + "-from", pair + "-to"
	}
}

// among returns the two accounts of a piece.
type among func(piece int) (from, to string)

// way makes transfers through the ledger. With apart, each caller has a ledger of its own, like
// callers in separate processes.
func (t *ledgerBench) way(name string, where among, apart bool) way {
	return way{
		prepare: func(context.Context, int) error { return nil },
		do: func(ctx context.Context, round, piece int) error {
			from, to := where(piece)
			l := t.Ledger
			if apart {
				l = t.others[piece%transferCallers]
			}

			// A transfer that has lost too many races is sent again, as a caller would do.
			for {
				_, err := l.Post(ctx, ledger.Move(fmt.Sprintf("%s/%d/%d", name, round, piece), from, to, 1, "EUR"))
				if !txn.Retryable(err) || ctx.Err() != nil {
					return err
				}
			}
		},
	}
}

// same sends the transactions of Post through the bare SDK client. It builds their values for each
// call, as any caller has to.
func (t *ledgerBench) same(pieces int, where among) way {
	inputs := make([]*dynamodb.TransactWriteItemsInput, pieces)

	return way{
		prepare: func(ctx context.Context, round int) error {
			for piece := range inputs {
				from, to := where(piece)
				if _, err := t.recorder.Post(ctx, ledger.Move(fmt.Sprintf("same/%d/%d", round, piece), from, to, 1, "EUR")); err != nil {
					return err
				}
				inputs[piece] = t.sent.lastTransaction
			}

			return nil
		},
		do: func(ctx context.Context, _, piece int) error {
			in := *inputs[piece]
			// Copied part by part: the recorded transaction is used in every round.
			in.TransactItems = make([]types.TransactWriteItem, len(inputs[piece].TransactItems))
			for i, part := range inputs[piece].TransactItems {
				if part.Put != nil {
					put := *part.Put
					put.Item = rebuilt(put.Item)
					part.Put = &put
				}

				if part.Update != nil {
					update := *part.Update
					update.Key, update.ExpressionAttributeValues = rebuilt(update.Key), rebuilt(update.ExpressionAttributeValues)
					part.Update = &update
				}
				in.TransactItems[i] = part
			}
			_, err := t.db.TransactWriteItems(ctx, &in)

			return err
		},
	}
}

// bare makes transfers by a plain TransactWriteItems of five smaller items: no sequence numbers, no
// balance after each entry, no test for a repeat.
func (t *ledgerBench) bare(where among) way {
	return way{
		prepare: func(context.Context, int) error { return nil },
		do: func(ctx context.Context, round, piece int) error {
			from, to := where(piece)
			id := fmt.Sprintf("bare/%d/%d", round, piece)
			put := func(table, key string, item dynamo.Item) types.TransactWriteItem {
				return types.TransactWriteItem{Put: &types.Put{
					TableName:           &table,
					Item:                item,
					ConditionExpression: aws.String("attribute_not_exists(" + key + ")"),
				}}
			}
			move := func(id string, amount int64, condition string) types.TransactWriteItem {
				return types.TransactWriteItem{Update: &types.Update{
					TableName:                 &t.tables.Accounts,
					Key:                       dynamo.Item{"accountId": dynamo.S(id)},
					ConditionExpression:       &condition,
					UpdateExpression:          aws.String("SET available = available + :n"),
					ExpressionAttributeValues: dynamo.Item{":n": dynamo.N(amount)},
				}}
			}
			entry := func(id string, amount int64) types.TransactWriteItem {
				return put(t.tables.Entries, "accountId", dynamo.Item{
					// Accounts of their own: the ledger's entries must stay a chain.
					"accountId":  dynamo.S("bare/" + id),
					"sequence":   dynamo.N(int64(round)<<32 + int64(piece)),
					"transferId": dynamo.S(id),
					"amount":     dynamo.N(amount),
					"at":         dynamo.N(time.Now().UnixMilli()),
				})
			}
			_, err := t.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				put(t.tables.Transfers, "transferId", dynamo.Item{
					"transferId": dynamo.S(id),
					"from":       dynamo.S(from),
					"to":         dynamo.S(to),
					"amount":     dynamo.N(1),
				}),
				move(from, -1, "attribute_exists(accountId)"),
				move(to, 1, "attribute_exists(accountId)"),
				entry(from, -1),
				entry(to, 1),
			}})

			return err
		},
	}
}

// benchTransfers compares transfers with the same transactions through the bare SDK client, each
// caller between two accounts of its own: transfers on one account follow each other, and the time
// that they wait is no cost of a transfer. It measures transfers between 2 accounts, among 100,
// and from 100 to one hot account, plain and with 16 shards. All take turns with a smaller
// transaction that nothing has to wait for.
func benchTransfers(ctx context.Context, work size, e *endpoint) ([]figure, error) {
	t, err := openLedger(ctx, e)
	if err != nil {
		return nil, err
	}

	scattered := func(piece int) (string, string) {
		// Spread over the crowd, so that two callers seldom meet on an account.
		from, to := account(piece), account(piece*7+piece/crowd+1)
		if from == to { // a transfer needs two accounts
			to = account(piece + 1)
		}

		return from, to
	}
	// The direction changes with each piece, so that no balance runs away.
	between := func(piece int) (string, string) { return account(piece % 2), account(piece%2 ^ 1) }
	hot := func(id string) among { return func(piece int) (string, string) { return account(piece), id } }

	pieces := max(work.orders/4/transferCallers, 1) * transferCallers

	got, err := turns(ctx, work, transferCallers, pieces,
		t.way("crowd", scattered, false),
		t.bare(scattered),
		t.way("two", between, false),
		t.way("hot", hot("hot"), false),
		t.way("sharded", hot("hot-16"), false),
		t.way("contended", hot("hot"), true),
		t.way("contended-sharded", hot("hot-16"), true),
		t.way("own", own("post"), false),
		t.same(pieces, own("same")),
	)
	if err != nil {
		return nil, fmt.Errorf("transfers on the %s: %w", e.name, err)
	}

	rate := func(i int) float64 { return median(got[i].rates) }

	return []figure{
		{
			name:  "transfers_per_second" + e.suffix,
			value: rate(0),
			unit:  "1/s",
			about: fmt.Sprintf("among %d accounts, %d callers, on the %s", crowd, transferCallers, e.name),
		},
		{
			name:  "transfers_ratio" + e.suffix,
			value: ratio(got[7].rates, got[8].rates),
			about: "Post / the same transactions through the bare SDK, each caller between two accounts of its own",
		},
		{
			name:  "transfers_cpu_ratio" + e.suffix,
			value: ratio(got[8].cpu, got[7].cpu),
			about: "the same in processor time of this process",
		},
		{
			name:  "transfers_ratio_plain" + e.suffix,
			value: ratio(got[0].rates, got[1].rates),
			about: "among the crowd / five items that are smaller, without sequence numbers: no transfer waits for another one on its account",
		},
		{name: "transfers_per_second_2" + e.suffix, value: rate(2), unit: "1/s", about: "between two accounts"},
		{name: "transfers_per_second_hot" + e.suffix, value: rate(3), unit: "1/s", about: "into one hot account"},
		{
			name:  "transfers_per_second_hot_16" + e.suffix,
			value: rate(4),
			unit:  "1/s",
			about: "into one hot account of 16 shards",
		},
		{
			name:  "transfers_per_second_hot_processes" + e.suffix,
			value: rate(5),
			unit:  "1/s",
			about: "into one hot account from as many processes as callers, which see each other's writes only by a failed condition",
		},
		{
			name:  "transfers_per_second_hot_16_processes" + e.suffix,
			value: rate(6),
			unit:  "1/s",
			about: "the same with 16 shards",
		},
	}, nil
}
