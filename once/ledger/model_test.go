package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ratchet/once/ledger"
)

// model is the ledger as plain arithmetic. It knows no shards: their sum must do what one
// item would do.
type model struct {
	accounts  map[string]*modelAccount
	transfers map[string]string // content by id
	holds     map[string]*modelHold
}

type modelAccount struct {
	ledger.NewAccount
	balance, held int64
	closed        bool
}

type modelHold struct {
	account, content string
	remaining        int64
	status           ledger.HoldStatus
}

// kinds are the accounts of one run. The test says what each is for by its place.
var kinds = []ledger.NewAccount{
	{ID: "customer", Side: ledger.Credit},
	{ID: "shop", Side: ledger.Credit, Shards: 3},
	{ID: "fees", Side: ledger.Credit, Overdraft: true},
	{ID: "cash", Side: ledger.Debit},
	{ID: "stock", Side: ledger.Debit, Shards: 3},
	{ID: "bank", Side: ledger.Debit, Overdraft: true, Shards: 2},
}

// TestLedgerFollowsTheModel makes random calls, one after the other, in two processes, with
// accounts of both sides, with and without overdraft and shards. Every answer and every
// balance must equal the model's, and each shard must keep the invariants.
func TestLedgerFollowsTheModel(t *testing.T) {
	b := newBank(t)
	ledgers := []*ledger.Ledger{b.Ledger, b.another(t)}
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := newModel(t, b, run)
		names := slices.Sorted(maps.Keys(m.accounts))
		account := rapid.SampledFrom(names)

		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			l := ledgers[rapid.IntRange(0, 1).Draw(rt, "process")]
			from, to := account.Draw(rt, "from"), account.Draw(rt, "to")
			id := fmt.Sprint(from, "/", rapid.IntRange(0, 3).Draw(rt, "id"))
			amount := int64(rapid.IntRange(1, 80).Draw(rt, "amount"))

			var got, want error
			switch step := rapid.SampledFrom([]string{"post", "post", "reserve", "settle", "release", "close"}).Draw(rt, "step"); step {
			case "reserve":
				_, _, got = l.Reserve(t.Context(), hold(id, from, amount))
				want = m.reserve(id, from, amount)
			case "release":
				_, got = l.Release(t.Context(), from, id)
				want = m.release(id)
			case "close":
				want = m.close(from, b.shards(rt, from, max(m.accounts[from].Shards, 1)))
				got = l.CloseAccount(t.Context(), from)
			default:
				if from == to {
					continue
				}

				transfer := ledger.Move(id, from, to, amount, "EUR")
				if step == "settle" {
					transfer = settle(id, from, id, to, amount, rapid.Bool().Draw(rt, "last"))
				}

				_, got = l.Post(t.Context(), transfer)
				want = m.post(transfer)
			}

			if !errors.Is(got, want) || want == nil && got != nil {
				rt.Fatalf("got %v, want %v", got, want)
			}
			m.compare(rt, b)
		}
	})
	b.sound(t)
}

// newModel opens the accounts of a run, with money on the sides where it belongs.
func newModel(t *testing.T, b *bank, run int) *model {
	t.Helper()

	m := &model{accounts: map[string]*modelAccount{}, transfers: map[string]string{}, holds: map[string]*modelHold{}}
	name := func(kind string) string { return fmt.Sprintf("run-%d/%s", run, kind) }

	for _, n := range kinds {
		n.ID, n.Currency = name(n.ID), "EUR"
		b.open(t, n, 0)

		m.accounts[n.ID] = &modelAccount{NewAccount: n}
	}

	for _, c := range []struct{ from, to string }{{"cash", "customer"}, {"stock", "shop"}, {"stock", "shop"}} {
		transfer := ledger.Move(name(fmt.Sprint("open-", len(m.transfers))), name(c.from), name(c.to), 100, "EUR")
		if _, err := b.Post(t.Context(), transfer); err != nil {
			t.Fatal(err)
		}

		if err := m.post(transfer); err != nil {
			t.Fatal(err)
		}
	}

	return m
}

// compare checks every account of the run, and the invariants of each shard.
func (m *model) compare(rt *rapid.T, b *bank) {
	shards := map[string][]shard{}
	for id, want := range m.accounts {
		a, found, err := b.Account(rt.Context(), id)
		if err != nil || !found || a.Balance != want.balance || a.Held != want.held || a.Available != want.balance-want.held {
			rt.Fatalf("%s is %+v, want balance %d, held %d; %v", id, a, want.balance, want.held, err)
		}

		if (a.Status == ledger.Closed) != want.closed {
			rt.Fatalf("%s is %s", id, a.Status)
		}
		shards[id] = b.shards(rt, id, a.Shards)
	}

	for id, all := range shards {
		n := m.accounts[id].NewAccount
		for _, s := range all {
			overdrawn := n.Side == ledger.Credit && s.available < 0 || n.Side == ledger.Debit && s.available+s.held > 0
			if s.held < 0 || overdrawn && !n.Overdraft {
				rt.Fatalf("a shard of %s: %+v", id, s)
			}
		}
	}
}

// shard is an item of an account as it is stored.
type shard struct{ available, held int64 }

func (b *bank) shards(rt *rapid.T, id string, n int) (all []shard) {
	for i := range n {
		key := id
		if i > 0 {
			key = fmt.Sprint(id, "#", i)
		}

		stored := b.item(rt, "accounts", item{"accountId": str(key)})
		number := func(name string) (v int64) {
			fmt.Sscan(stored[name].(*types.AttributeValueMemberN).Value, &v)
			return v
		}
		all = append(all, shard{number("available"), number("held")})
	}

	return all
}

func (a *modelAccount) refusal(amount int64) error {
	switch {
	case a.closed:
		return ledger.ErrAccountClosed
	case a.Overdraft:
	case a.Side == ledger.Credit && amount < 0 && a.balance-a.held < -amount, a.Side == ledger.Debit && amount > 0 && a.balance+amount > 0:
		return ledger.ErrInsufficientFunds
	}

	return nil
}

func (m *model) post(t ledger.Transfer) error {
	from, to, amount := t.Legs[0], t.Legs[1], t.Legs[1].Amount
	content := fmt.Sprint(t.Legs)
	switch {
	case m.transfers[t.ID] == content:
		return nil
	case m.transfers[t.ID] != "":
		return ledger.ErrConflict
	}

	h := m.holds[from.Hold]
	if from.Hold != "" {
		switch {
		case h == nil:
			return ledger.ErrUnknownHold
		case h.status != ledger.HoldActive:
			return ledger.ErrHoldClosed
		case h.remaining < amount:
			return ledger.ErrHoldExceeded
		}
	} else if err := m.accounts[from.Account].refusal(-amount); err != nil {
		return err
	}

	if err := m.accounts[to.Account].refusal(amount); err != nil {
		return err
	}

	m.transfers[t.ID] = content
	m.accounts[from.Account].balance -= amount
	m.accounts[to.Account].balance += amount

	if h != nil {
		freed := amount
		if from.Release {
			freed = h.remaining
		}

		m.accounts[from.Account].held -= freed
		if h.remaining -= freed; h.remaining == 0 {
			h.status = ledger.HoldSettled
		}
	}

	return nil
}

func (m *model) reserve(id, account string, amount int64) error {
	if h := m.holds[id]; h != nil {
		if h.content == fmt.Sprint(amount) {
			return nil
		}

		return ledger.ErrConflict
	}

	a := m.accounts[account]
	if err := a.refusal(-amount); err != nil {
		return err
	}

	a.held += amount
	m.holds[id] = &modelHold{account: account, content: fmt.Sprint(amount), remaining: amount, status: ledger.HoldActive}

	return nil
}

func (m *model) release(id string) error {
	h := m.holds[id]
	switch {
	case h == nil:
		return ledger.ErrUnknownHold
	case h.status == ledger.HoldSettled:
		return ledger.ErrHoldClosed
	case h.status == ledger.HoldActive:
		m.accounts[h.account].held -= h.remaining
		h.remaining, h.status = 0, ledger.HoldReleased
	}

	return nil
}

// close says whether the account may be closed: each shard must be empty. The shards of an
// account with overdraft may owe each other, which the model does not know.
func (m *model) close(id string, shards []shard) error {
	a := m.accounts[id]
	empty := a.balance == 0 && a.held == 0
	if a.Overdraft {
		empty = !slices.ContainsFunc(shards, func(s shard) bool { return s != shard{} })
	}

	if !empty && !a.closed {
		return ledger.ErrAccountInUse
	}

	a.closed = true

	return nil
}
