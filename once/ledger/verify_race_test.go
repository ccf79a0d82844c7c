package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/once/ledger"
)

// meddler lets change run before each query of a table.
type meddler struct {
	*dynamodb.Client
	table   string
	queries int
	change  func(query int)
}

func (m *meddler) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if *in.TableName == m.table {
		m.queries++
		m.change(m.queries)
	}

	return m.Client.Query(ctx, in, o...)
}

// meddled returns a ledger whose queries of the table meet changes.
func (b *bank) meddled(t *testing.T, table string, change func(query int)) (*bank, *meddler) {
	t.Helper()

	m := &meddler{Client: b.db, table: table, change: change}

	l, err := ledger.New(ledger.Config{DynamoDB: m, Tables: tables})
	if err != nil {
		t.Fatal(err)
	}

	return &bank{Ledger: l, db: b.db, wire: b.wire}, m
}

// A shard and its holds are not read at one moment. What a hold changed between them is no
// finding, and the shard is compared again, five times at most.
func TestVerifyComparesAnAccountThatChangesAgain(t *testing.T) {
	for _, c := range []struct {
		changes     int // of the shard, one before each query of its holds
		queries     int
		holds, busy int
		wrong       int64 // the shard's held money that belongs to no hold
		found       []string
	}{
		{changes: 0, queries: 1, holds: 1},
		{changes: 1, queries: 2, holds: 2},
		{changes: 4, queries: 5, holds: 5},
		{changes: 5, queries: 5, busy: 1},
		{changes: 1, queries: 2, wrong: 2, found: []string{"held alice : 13 is held, the active holds have 11 left"}},
	} {
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "alice", Overdraft: true}, 0)
		b.reserve(t, hold("h", "alice", 10))
		b.tamper(t, "accounts", item{"accountId": str("alice")}, "SET held = held + :w, available = available - :w", item{":w": num(c.wrong)})

		v, m := b.meddled(t, "holds", func(query int) {
			if query <= c.changes {
				b.reserve(t, hold(fmt.Sprint("h-", query), "alice", 1))
			}
		})

		found, proof, err := v.findings(t, 0)
		if err != nil || m.queries != c.queries || proof.Holds != c.holds || proof.Busy != c.busy {
			t.Errorf("%d changes: %d queries, %+v, %v", c.changes, m.queries, proof, err)
		}

		if !slices.Equal(found, c.found) {
			t.Errorf("%d changes: found %q, want %q", c.changes, found, c.found)
		}
	}
}

// An account that is deleted after it was read was changed without the ledger.
func TestVerifyFindsAnAccountThatIsDeletedMeanwhile(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice", Overdraft: true}, 0)

	v, _ := b.meddled(t, "holds", func(int) {
		b.reserve(t, hold("h", "alice", 10))
		b.remove(t, "accounts", item{"accountId": str("alice")})
	})

	if found, _, err := v.findings(t, 0); err != nil || !slices.Equal(found, []string{"held alice : 0 is held, the active holds have 10 left"}) {
		t.Errorf("found %q, %v", found, err)
	}
}

// The entries of an account are checked up to the number that the account had counted when it was
// read, even if they fill more than a page.
func TestVerifyLeavesOutEntriesThatComeMeanwhile(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "bob"}, 0)

	for i := range 110 {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("before-", i), "alice", "bob", 1, "EUR")); err != nil {
			t.Fatal(err)
		}
	}

	v, m := b.meddled(t, "ledger", func(query int) {
		if _, err := b.Post(t.Context(), ledger.Move(fmt.Sprint("t-", query), "alice", "bob", 1, "EUR")); err != nil {
			t.Error(err)
		}
	})

	if found, _, err := v.findings(t, 0); err != nil || len(found) != 0 || m.queries < 5 {
		t.Errorf("found %q in %d queries, %v", found, m.queries, err)
	}
}
