package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/once/ledger"
)

// money is the model of a ledger: credit accounts, and an account that stands for the world.
type money struct {
	accounts  []*account
	holds     []*hold
	transfers []posted
}

type account struct {
	id              string
	available, held int64
}

type hold struct {
	id        string
	account   *account
	remaining int64
	ends      time.Time // zero: never
}

func (h *hold) expired(now time.Time) bool { return !h.ends.IsZero() && now.After(h.ends) }

type posted struct {
	transfer ledger.Transfer
}

const currency = "EUR"

func (m *money) begin(p *program) {
	for i := range 4 {
		a := &account{id: p.id("account", i)}
		m.accounts = append(m.accounts, a)

		err := p.call("create account", func(ctx context.Context, c *machine) error {
			_, _, err := c.ledger.CreateAccount(ctx, ledger.NewAccount{ID: a.id, Currency: currency, Overdraft: i == 0, Shards: 1 + i%2})
			return err
		})
		if err != nil {
			p.fail("create %s: %v", a.id, err)
		}
	}

	for _, a := range m.accounts[1:] {
		m.post(p, ledger.Move(p.id("fund", len(m.transfers)), m.world().id, a.id, 1000, currency), nil)
		m.world().available -= 1000
		a.available += 1000
	}
}

// world has no bound.
func (m *money) world() *account { return m.accounts[0] }

func (m *money) some(p *program) *account { return m.accounts[1+p.roll(len(m.accounts)-1)] }

// post sends a transfer and compares the answer.
func (m *money) post(p *program, t ledger.Transfer, want error) {
	err := p.call("transfer", func(ctx context.Context, c *machine) error {
		_, err := c.ledger.Post(ctx, t)
		return err
	})
	if !errors.Is(err, want) {
		p.fail("transfer %+v: %v, want %v", t, err, want)
	}

	if err == nil {
		m.transfers = append(m.transfers, posted{t})
	}
}

func transfer(p *program) {
	m := &p.money
	from, to, amount := m.some(p), m.some(p), 1+p.dice.Int64N(700)
	if from == to {
		from = m.world()
	}

	var want error
	if from != m.world() && from.available < amount {
		want = ledger.ErrInsufficientFunds
	}
	m.post(p, ledger.Move(p.id("transfer", len(p.log)), from.id, to.id, amount, currency), want)

	if want == nil {
		from.available -= amount
		to.available += amount
	}
}

// repeatTransfer sends a transfer again that was made, as it was or with another amount.
func repeatTransfer(p *program) {
	m := &p.money
	t := m.transfers[p.roll(len(m.transfers))].transfer
	if p.chance(70) {
		m.post(p, t, nil)
		m.transfers = m.transfers[:len(m.transfers)-1] // it was there before

		return
	}

	other := t
	other.Reference = "another"
	m.post(p, other, ledger.ErrConflict)
}

func holdMoney(p *program) {
	m := &p.money
	h := &hold{id: p.id("hold", len(p.log)), account: m.some(p), remaining: 1 + p.dice.Int64N(500)}
	if p.chance(40) {
		h.ends = p.store.clock.Now().Add(10 * time.Minute).Truncate(time.Millisecond)
	}

	err := p.call("hold", func(ctx context.Context, c *machine) error {
		_, _, err := c.ledger.Reserve(ctx, ledger.NewHold{ID: h.id, Account: h.account.id, Amount: h.remaining, Currency: currency, ExpiresAt: h.ends})
		return err
	})

	var want error
	if h.account.available < h.remaining {
		want = ledger.ErrInsufficientFunds
	}

	if !errors.Is(err, want) {
		p.fail("hold %+v: %v, want %v", h, err, want)
	}

	if want == nil {
		m.holds = append(m.holds, h)
		h.account.available -= h.remaining
		h.account.held += h.remaining
	}
}

// settleHold pays from a hold, or releases it.
func settleHold(p *program) {
	m := &p.money
	if len(m.holds) == 0 {
		return
	}

	i := p.roll(len(m.holds))
	h, to := m.holds[i], m.world()
	drop := func() { m.holds = append(m.holds[:i], m.holds[i+1:]...) }
	p.passBy(h.ends)

	if p.chance(30) {
		err := p.call("release hold", func(ctx context.Context, c *machine) error {
			_, err := c.ledger.Release(ctx, h.account.id, h.id)
			return err
		})
		if err != nil {
			p.fail("release %+v: %v", h, err)
		}
		h.giveBack()
		drop()

		return
	}

	amount, closes := 1+p.dice.Int64N(h.remaining+100), p.chance(50)

	var want error
	switch {
	case h.expired(p.store.clock.Now()):
		want = ledger.ErrHoldExpired
	case amount > h.remaining:
		want = ledger.ErrHoldExceeded
	}
	m.post(p, ledger.Transfer{ID: p.id("settle", len(p.log)), Currency: currency, Legs: []ledger.Leg{
		{Account: h.account.id, Amount: -amount, Hold: h.id, Release: closes},
		{Account: to.id, Amount: amount},
	}}, want)

	if want != nil {
		return
	}
	to.available += amount
	h.account.held -= amount
	h.remaining -= amount

	if closes {
		h.giveBack()
	}

	if closes || h.remaining == 0 {
		drop()
	}
}

// giveBack returns the rest of a hold to its account.
func (h *hold) giveBack() {
	h.account.available += h.remaining
	h.account.held -= h.remaining
}

// sweepHolds ends the holds that have expired, of all programs of the slot.
func sweepHolds(p *program) {
	m := &p.money
	if !p.sweeping() {
		return
	}

	for _, h := range m.holds {
		p.passBy(h.ends)
	}

	for more := true; more; {
		err := p.call("sweep holds", func(ctx context.Context, c *machine) (err error) {
			_, more, err = c.ledger.ReleaseExpired(ctx, 100)
			return err
		})
		if err != nil {
			p.fail("sweep holds: %v", err)
			return
		}
	}

	m.holds = slices.DeleteFunc(m.holds, func(h *hold) bool {
		if !h.expired(p.store.clock.Now()) {
			return false
		}
		h.giveBack()

		return true
	})
}

func compareAccounts(p *program) {
	m := &p.money
	sum := int64(0)
	for _, a := range m.accounts {
		sum += a.available + a.held
	}

	if sum != 0 {
		p.fail("the model's accounts sum to %d", sum)
	}

	for _, a := range m.accounts {
		got, found, err := p.store.machines[1].ledger.Account(p.t.Context(), a.id)
		if err != nil || !found || got.Available != a.available || got.Held != a.held || got.Balance != a.available+a.held {
			p.fail("account %s: balance %d, available %d, held %d, %v; want %s", a.id, got.Balance, got.Available, got.Held, err, fmt.Sprintf("%+v", *a))
		}
	}
}
