package model

import (
	"context"
	"slices"
	"time"

	"ratchet/once"
)

// reconcile asks the far side what became of the work under a key, for the program that plays.
func (c *callers) reconcile(_ context.Context, r once.Record) (once.Resolution, error) {
	p := c.playing

	i := slices.IndexFunc(p.claims.keys, func(k claimed) bool { return k.name == r.Key })
	if i < 0 {
		return once.Resolution{}, nil // of another program, or of a transaction
	}

	k := &p.claims.keys[i]
	if k.done && !k.mayBeLost {
		p.fail("a sweep asks about %s, which is done: %+v", k.name, r)
	}
	k.swept = true

	if k.effects > 0 {
		return once.Resolution{Status: once.StatusCompleted, Result: []byte(k.name + " was done")}, nil
	}

	return once.Resolution{Status: once.StatusReleased}, nil
}

// resolved notes what a sweep has found on the far side: the work counts as done until then, or as not begun.
func (k *claimed) resolved(until time.Time) {
	*k = claimed{name: k.name, effects: k.effects}
	if k.effects > 0 {
		k.done, k.result, k.expires = true, k.name+" was done", until
	}
}

// sweepClaims asks the far side about all work that was cut off, and whose lease ran out.
func sweepClaims(p *program) {
	c := &p.claims
	if !p.sweeping() {
		return
	}

	retention := p.roll(len(retentions))
	err := p.call("sweep claims", func(ctx context.Context, m *machine) error {
		_, err := m.kept[retention].Sweep(ctx, time.Minute)
		return err
	})
	if err != nil {
		p.fail("sweep claims: %v", err)
	}

	for i := range c.keys {
		if k := &c.keys[i]; k.swept {
			k.resolved(p.store.clock.Now().Add(retentions[retention]))
		}
	}
}
