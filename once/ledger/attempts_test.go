package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/once/ledger"
	"ratchet/once/txn"
)

// race lets do run before each of the next n transactions. The transactions of do do not count.
func (b *bank) race(n int, do func(round int)) {
	round := 0

	var between func()
	between = func() {
		round++
		do(round)

		if round < n {
			b.wire.mu.Lock()
			b.wire.between = between
			b.wire.mu.Unlock()
		}
	}
	b.wire.between = between
}

// sender counts the transactions of one ledger. After is called when one was answered, and
// when several items were read at one moment.
type sender struct {
	*dynamodb.Client
	sent  int
	after func()
}

func (s *sender) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	defer s.after()
	s.sent++

	return s.Client.TransactWriteItems(ctx, in, o...)
}

func (s *sender) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	defer s.after()

	return s.Client.TransactGetItems(ctx, in, o...)
}

// racers are calls, each with what another process does to make it lose.
var racers = map[string]struct {
	call func(context.Context, *ledger.Ledger) error
	lose func(t *testing.T, b *bank, other *ledger.Ledger, round int)
	says string
}{
	"transfer": {
		call: func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Post(ctx, ledger.Move("t", "alice", "shop", 1, "EUR"))
			return err
		},
		lose: func(t *testing.T, _ *bank, other *ledger.Ledger, round int) {
			if _, err := other.Post(t.Context(), ledger.Move(fmt.Sprint("other-", round), "alice", "shop", 1, "EUR")); err != nil {
				t.Error(err)
			}
		},
		says: "transfer t: " + txn.ErrContended.Error(),
	},
	"release": {
		call: func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Release(ctx, "alice", "h")
			return err
		},
		lose: func(t *testing.T, _ *bank, other *ledger.Ledger, round int) {
			if _, err := other.Post(t.Context(), settle(fmt.Sprint("other-", round), "alice", "h", "shop", 1, false)); err != nil {
				t.Error(err)
			}
		},
		says: "release h: " + txn.ErrContended.Error(),
	},
	"hold": {
		call: func(ctx context.Context, l *ledger.Ledger) error {
			_, _, err := l.Reserve(ctx, hold("new", "spread", 100))
			return err
		},
		// The money is on one shard, then on the other.
		lose: func(t *testing.T, b *bank, _ *ledger.Ledger, round int) {
			for shard, key := range []string{"spread", "spread#1"} {
				b.tamper(t, "accounts", item{"accountId": str(key)}, "SET available = :a", item{":a": num(int64(100 * ((shard + round) % 2)))})
			}
		},
		says: "hold new: " + txn.ErrContended.Error(),
	},
}

// racing returns a bank for the racers, and a ledger with that many attempts.
func racing(t *testing.T, attempts int) (*bank, *ledger.Ledger, *sender) {
	t.Helper()

	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.open(t, ledger.NewAccount{ID: "spread", Shards: 2}, 0)
	b.reserve(t, hold("h", "alice", 100))

	s := &sender{Client: b.db, after: func() {}}

	l, err := ledger.New(ledger.Config{DynamoDB: s, Tables: tables}.WithAttempts(attempts))
	if err != nil {
		t.Fatal(err)
	}

	return b, l, s
}

// A call gives up after its attempts. Nothing was written then, and a repeat may succeed.
func TestACallThatLosesEveryRaceGivesUp(t *testing.T) {
	for name, c := range racers {
		// Which shard a hold tries first depends on its id, so the first round may not make it lose.
		for _, attempts := range []int{1, 3} {
			b, l, s := racing(t, attempts)
			other := b.another(t)
			b.race(attempts+1, func(round int) { c.lose(t, b, other, round) })

			if err := c.call(t.Context(), l); !errors.Is(err, txn.ErrContended) || !txn.Retryable(err) || !strings.HasPrefix(err.Error(), c.says) || s.sent != attempts {
				t.Errorf("%s, %d attempts: %v after %d transactions", name, attempts, err, s.sent)
			}
			b.wire.between = nil

			if err := c.call(t.Context(), b.Ledger); err != nil {
				t.Errorf("%s, when nobody else writes: %v", name, err)
			}
		}
	}
}

// The last attempt counts as the first one does.
func TestACallMayWinItsLastAttempt(t *testing.T) {
	for name, c := range racers {
		const attempts = 3
		b, l, s := racing(t, attempts)
		other := b.another(t)
		b.race(attempts-1, func(round int) { c.lose(t, b, other, round) })

		if err := c.call(t.Context(), l); err != nil || s.sent != attempts {
			t.Errorf("%s: %v after %d transactions", name, err, s.sent)
		}
	}
}

// A call whose caller has left makes no further attempt, and says why.
func TestACallEndsWithItsCaller(t *testing.T) {
	for name, c := range racers {
		b, l, s := racing(t, 100)
		other := b.another(t)
		b.race(100, func(round int) { c.lose(t, b, other, round) })

		ctx, cancel := context.WithCancel(t.Context())
		s.after = cancel

		if err := c.call(ctx, l); !errors.Is(err, context.Canceled) || s.sent != 1 {
			t.Errorf("%s: %v after %d transactions", name, err, s.sent)
		}
		b.wire.between = nil
	}
}

// hooked calls hooks after an item was read, and after several accounts were, at one moment
// or not. Get and batch may make the call fail.
type hooked struct {
	*dynamodb.Client
	get      func(table string) error
	together func()
	batch    func() error
}

// newHooked returns a ledger with hooks that do nothing yet.
func (b *bank) newHooked(t *testing.T) (*ledger.Ledger, *hooked) {
	t.Helper()

	h := &hooked{Client: b.db, get: func(string) error { return nil }, together: func() {}, batch: func() error { return nil }}

	l, err := ledger.New(ledger.Config{DynamoDB: h, Tables: tables})
	if err != nil {
		t.Fatal(err)
	}

	return l, h
}

func (h *hooked) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	out, err := h.Client.TransactGetItems(ctx, in, o...)
	h.together()

	return out, err
}

func (h *hooked) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := h.Client.GetItem(ctx, in, o...)
	if failed := h.get(*in.TableName); failed != nil {
		return nil, failed
	}

	return out, err
}

func (h *hooked) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out, err := h.Client.BatchGetItem(ctx, in, o...)
	if failed := h.batch(); failed != nil {
		return nil, failed
	}

	return out, err
}

// forget lets the process of l read the account again when it next needs it. The account
// must have money.
func forget(t *testing.T, l *ledger.Ledger, account string) {
	t.Helper()

	if err := l.CloseAccount(t.Context(), account); !errors.Is(err, ledger.ErrAccountInUse) {
		t.Error(err)
	}
}

// Money that leaves the shards of an account after they were read together is not spent a
// second time, also if another call of this process has taken it.
func TestASpreadDebitPaysNoMoreThanThereIs(t *testing.T) {
	for _, taken := range [][]int64{{0, 20}, {0, 50}, {50, 50}} { // from each shard
		b := newBank(t)
		b.open(t, ledger.NewAccount{ID: "sink"}, 10)
		b.open(t, ledger.NewAccount{ID: "other"}, 0)
		b.spreadOut(t, "wide", 50, 50)
		l, h := b.newHooked(t)

		take := func() error {
			h.batch = func() error { return nil }

			for i, id := range []string{"a", "b"} { // they select the shards 0 and 1
				if taken[i] == 0 {
					continue
				}

				posted, err := l.Post(t.Context(), ledger.Move(id, "wide", "other", taken[i], "EUR"))
				if err != nil || posted.Postings[0].Shard != i {
					t.Errorf("%+v, %v", posted, err)
				}
			}

			return nil
		}

		// The sink leaves the cache, so the next plan reads it, after the shards were read.
		h.together = func() {
			h.together, h.batch = func() {}, take
			forget(t, l, "sink")
		}

		if _, err := l.Post(t.Context(), ledger.Move("t", "wide", "sink", 90, "EUR")); !errors.Is(err, ledger.ErrInsufficientFunds) {
			t.Errorf("%v taken: %v", taken, err)
		}
		b.want(t, "wide", 100-taken[0]-taken[1], 100-taken[0]-taken[1])
		b.want(t, "sink", 10, 10)
	}
}

// Shards that cannot be read end a debit that is spread over them.
func TestASpreadDebitNeedsItsShards(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "sink"}, 10)
	b.spreadOut(t, "wide", 50, 50)
	l, h := b.newHooked(t)
	lost := errors.New("lost")

	h.together = func() {
		h.together = func() {}
		h.batch = func() error { // the sink was read again; the shards come next
			h.batch = func() error { return lost }
			forget(t, l, "wide")

			return nil
		}
		forget(t, l, "sink")
	}

	if _, err := l.Post(t.Context(), ledger.Move("t", "wide", "sink", 90, "EUR")); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	b.want(t, "wide", 100, 100)
}

// Accounts that cannot be read again once the transfer has their locks end it.
func TestATransferNeedsItsAccounts(t *testing.T) {
	b := newBank(t)
	b.open(t, ledger.NewAccount{ID: "alice"}, 1000)
	b.open(t, ledger.NewAccount{ID: "shop"}, 0)
	b.reserve(t, hold("h", "alice", 700))
	l, h := b.newHooked(t)
	lost := errors.New("lost")

	h.get = func(string) error { // the hold was read
		h.get = func(string) error { return nil }
		h.batch = func() error { return lost }
		forget(t, l, "alice")

		return nil
	}

	if _, err := l.Post(t.Context(), settle("t", "alice", "h", "shop", 10, false)); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	b.want(t, "alice", 1000, 300)
}
