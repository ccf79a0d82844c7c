package ledger

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
)

// plan says which items of which accounts the legs fall on.
func (p *posting) plan(ctx context.Context) ([]line, error) {
	ids := make([]string, len(p.transfer.Legs))
	for i, leg := range p.transfer.Legs {
		ids[i] = leg.Account
	}

	accounts, err := p.ledger.look(ctx, ids)
	if err != nil {
		return nil, err
	}

	var lines []line
	for _, leg := range p.transfer.Legs {
		a, ok := accounts[leg.Account]
		switch {
		case leg.Hold != "":
			h, err := p.held(ctx, leg)
			if err != nil {
				return nil, err
			}
			lines = append(lines, h.lines(leg)...)
		case !ok || a.Shards == 1:
			lines = append(lines, line{leg: leg, key: leg.Account, amount: leg.Amount})
		case p.spread[leg.Account]:
			more, err := p.gather(ctx, leg, a)
			if err != nil {
				return nil, err
			}
			lines = append(lines, more...)
		default:
			shard := shardFor(p.transfer.ID, a.Shards)
			lines = append(lines, line{leg: leg, shard: shard, key: shardKey(leg.Account, shard), amount: leg.Amount})
		}
	}

	return lines, nil
}

// held is the hold of a leg as last seen. An unknown one stays in the plan: the
// transfer's record has the first say, and it may have been made.
func (p *posting) held(ctx context.Context, leg Leg) (*Hold, error) {
	if h := p.holds[leg.Account]; h != nil {
		return h, nil
	}

	h, found, err := p.ledger.Hold(ctx, leg.Account, leg.Hold)
	if err != nil {
		return nil, err
	}

	if !found {
		h = Hold{NewHold: NewHold{ID: leg.Hold, Account: leg.Account}}
	}
	p.holds[leg.Account] = &h

	return &h, nil
}

// lines are the parts of the hold that the leg takes from, or frees. A hold that has
// too little left will refuse, and still has a line to say so.
func (h *Hold) lines(leg Leg) (lines []line) {
	if len(h.parts) == 0 {
		return []line{{leg: leg, key: leg.Account, amount: leg.Amount, hold: h}}
	}

	taken, freed := h.split(-leg.Amount, leg.Release)
	for i, t := range taken {
		if t.amount > 0 || freed[i].amount > 0 {
			lines = append(lines, line{leg: leg, shard: t.shard, key: shardKey(leg.Account, t.shard), amount: -t.amount, freed: freed[i].amount, hold: h})
		}
	}

	return lines
}

// gather spreads a leg over the shards that have most on the side that it takes from.
func (p *posting) gather(ctx context.Context, leg Leg, a Account) ([]line, error) {
	keys := make([]string, a.Shards)
	for shard := range keys {
		keys[shard] = shardKey(leg.Account, shard)
	}

	shards, err := p.ledger.look(ctx, keys)
	if err != nil {
		return nil, err
	}

	sign := int64(1) // a debit of a credit account takes what is above zero
	if leg.Amount > 0 {
		sign = -1
	}
	slices.SortStableFunc(keys, func(x, y string) int {
		return cmp.Compare(sign*shards[y].Available, sign*shards[x].Available)
	})

	rest := leg.Amount
	var lines []line
	for _, key := range keys {
		has := sign * shards[key].Available
		if rest == 0 || has <= 0 {
			break
		}
		part := -sign * min(has, sign*-rest)
		lines = append(lines, line{leg: leg, shard: shards[key].shard, key: key, amount: part})
		rest -= part
	}

	if rest != 0 { // too little, as far as is known: the conditions say whether that is so
		if len(lines) == 0 {
			shard := shardFor(p.transfer.ID, a.Shards)
			return []line{{leg: leg, shard: shard, key: shardKey(leg.Account, shard), amount: leg.Amount}}, nil
		}
		lines[0].amount += rest
	}

	return lines, nil
}

// shardFor picks a shard by the id of what is done, so that all are used alike.
func shardFor(id string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash does not fail
	return int(h.Sum32() % uint32(shards))
}
