package main

import (
	"context"
	"fmt"

	"ratchet/ledger"
)

// benchTransfers posts transfers of one transaction each (record, both balances, both
// entries), among few and many accounts, and from many accounts to a single one.
func benchTransfers(ctx context.Context, work size, e *endpoint) ([]figure, error) {
	const callers = 32
	tables := ledger.Tables{Accounts: "bench-accounts", Entries: "bench-entries", Transfers: "bench-transfers", Holds: "bench-holds"}
	if err := e.tables(ctx, tables.Inputs()...); err != nil {
		return nil, err
	}
	books, err := ledger.New(ledger.Config{DynamoDB: e.db, Tables: tables})
	if err != nil {
		return nil, err
	}
	account := func(prefix string, n int) string { return fmt.Sprintf("%s-%d", prefix, n) }
	open := func(prefix string, count, shards int) error {
		return share(ctx, 16, count, func(ctx context.Context, n int) error {
			_, _, err := books.CreateAccount(ctx, ledger.NewAccount{ID: account(prefix, n), Currency: "EUR", Overdraft: shards == 1, Shards: shards})
			return err
		})
	}
	type market struct {
		figure, about string
		from, to      func(n int) string
	}
	markets := []market{
		{"transfers_per_second", "among 100 accounts", func(n int) string { return account("many", n%100) }, func(n int) string { return account("many", (n*7+1)%100) }},
		{"transfers_per_second_2", "between 2 accounts", func(n int) string { return account("two", n%2) }, func(n int) string { return account("two", (n+1)%2) }},
		{"transfers_per_second_hot", "from 100 accounts to 1", func(n int) string { return account("many", n%100) }, func(int) string { return account("hot", 0) }},
		{"transfers_per_second_hot_16", "from 100 accounts to 1 in 16 shards", func(n int) string { return account("many", n%100) }, func(int) string { return account("sharded", 0) }},
	}
	for _, a := range []struct {
		prefix        string
		count, shards int
	}{{"many", 100, 1}, {"two", 2, 1}, {"hot", 1, 1}, {"sharded", 1, 16}} {
		if err := open(a.prefix, a.count, a.shards); err != nil {
			return nil, fmt.Errorf("open accounts: %w", err)
		}
	}
	ways := make([]way, len(markets))
	for i, m := range markets {
		ways[i] = way{
			prepare: func(context.Context, int) error { return nil },
			do: func(ctx context.Context, round, n int) error {
				from, to := m.from(n), m.to(n)
				if from == to {
					to = m.to(n + 1)
				}
				_, err := books.Post(ctx, ledger.Move(fmt.Sprintf("%s-%d-%d", m.figure, round, n), from, to, 100, "EUR"))
				return err
			},
		}
	}
	measures, err := turns(ctx, work, callers, max(work.orders/5/callers, 1)*callers, ways...)
	if err != nil {
		return nil, fmt.Errorf("transfers: %w", err)
	}
	var figures []figure
	for i, m := range markets {
		figures = append(figures, figure{m.figure, median(measures[i].rates), "1/s", fmt.Sprintf("transfers %s, %d callers, %s", m.about, callers, e.name)})
	}
	return figures, nil
}
