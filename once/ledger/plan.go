package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"ratchet/internal/dynamo"
)

// plan returns the changes that the legs make, by item of an account.
func (p *postCall) plan(ctx context.Context) ([]change, error) {
	ids := make([]string, len(p.transfer.Legs))
	for i, leg := range p.transfer.Legs {
		ids[i] = leg.Account
	}

	accounts, err := p.ledger.loadAccounts(ctx, ids)
	if err != nil {
		return nil, err
	}

	var changes []change
	for _, leg := range p.transfer.Legs {
		a, ok := accounts[leg.Account]
		switch {
		case leg.Hold != "":
			h, err := p.loadHold(ctx, leg)
			if err != nil {
				return nil, err
			}

			changes = append(changes, h.changes(leg)...)
		// An unknown account stays in the plan: the transfer's record may show that the transfer
		// was made before.
		case !ok || a.Shards == 1:
			changes = append(changes, change{leg: leg, key: leg.Account, amount: leg.Amount})
		case p.spread[leg.Account]:
			spread, err := p.spreadLeg(ctx, leg, a)
			if err != nil {
				return nil, err
			}

			changes = append(changes, spread...)
		default:
			changes = append(changes, p.wholeLeg(leg, a))
		}
	}

	return changes, nil
}

// loadHold returns the hold of a leg as last seen. A hold that does not exist, or cannot be read, stays in the
// plan, so that the transfer's record can say that the transfer was made before.
func (p *postCall) loadHold(ctx context.Context, leg Leg) (*Hold, error) {
	if h := p.holds[leg.Account]; h != nil {
		return h, nil
	}

	h, found, err := p.ledger.Hold(ctx, leg.Account, leg.Hold)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return nil, err
	}

	if !found {
		h = Hold{NewHold: NewHold{ID: leg.Hold, Account: leg.Account}}
	}

	p.holds[leg.Account] = &h

	return &h, nil
}

// changes returns the changes of the shards that pay the leg or get money back. A hold
// without parts gets a change, too, so that its account is in the transaction.
func (h *Hold) changes(leg Leg) (all []change) {
	if len(h.parts) == 0 {
		return []change{{leg: leg, key: leg.Account, amount: leg.Amount, hold: h}}
	}

	taken, freed := h.split(-leg.Amount, leg.Release)
	for i, t := range taken {
		// Earlier parts have paid everything.
		if t.amount == 0 && freed[i].amount == 0 {
			continue
		}

		all = append(all, change{
			leg:    leg,
			shard:  t.shard,
			key:    shardKey(leg.Account, t.shard),
			amount: -t.amount,
			freed:  freed[i].amount,
			hold:   h,
		})
	}

	return all
}

// wholeLeg puts a leg on the one shard that the transfer's id selects.
func (p *postCall) wholeLeg(leg Leg, a Account) change {
	shard := accountShard(p.transfer.ID, a.Shards)

	return change{leg: leg, shard: shard, key: shardKey(leg.Account, shard), amount: leg.Amount}
}

// spreadLeg spreads a leg over the shards that have most room for it.
func (p *postCall) spreadLeg(ctx context.Context, leg Leg, a Account) ([]change, error) {
	keys := make([]string, a.Shards)
	for shard := range keys {
		keys[shard] = shardKey(leg.Account, shard)
	}

	shards, err := p.ledger.loadAccounts(ctx, keys)
	if err != nil {
		return nil, err
	}

	room := func(key string) int64 {
		a := shards[key]
		return a.room(leg.Amount)
	}
	slices.SortStableFunc(keys, func(x, y string) int { return cmp.Compare(room(y), room(x)) })

	rest := leg.Amount
	var changes []change
	for _, key := range keys {
		if rest == 0 {
			break
		}

		// A debit is negative, and so is its share.
		amount := min(room(key), rest)
		if rest < 0 {
			amount = max(-room(key), rest)
		}

		changes = append(changes, change{leg: leg, shard: shards[key].shard, key: key, amount: amount})
		rest -= amount
	}

	// As far as this process knows, the shards have too little. The transaction is sent all
	// the same: its conditions see the shards as they are.
	if rest != 0 {
		return []change{p.wholeLeg(leg, a)}, nil
	}

	return changes, nil
}

// accountShard selects a shard of an account by the id of a hold or transfer. The ids
// p-1#payment, p-1/c-1#payment, ... of an owner belong together and select one shard, so the
// hold of a refund finds the money of the capture there.
func accountShard(id string, shards int) int {
	if bare, _, owned := strings.Cut(id, "#"); owned {
		id, _, _ = strings.Cut(bare, "/")
	}

	return dynamo.Shard(id, shards)
}
