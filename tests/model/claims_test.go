package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once"
)

// claims is the model of work under keys: the effects on the far side, and the content of the keys.
type claims struct {
	keys []claimed
	// marked are the keys of writes with marks, in one item; the item counts them. It remembers the keys
	// from remembered on.
	marked, remembered int
}

// claimed is one key.
type claimed struct {
	name string
	// effects counts what reached the far side since the record began.
	effects int
	result  string // the stored result, if done
	done    bool
	expires time.Time // of the record
	// begunUntil is how long the record says that the work may have begun.
	begunUntil time.Time
	// mayBeLost: a caller whose clock was wrong may have replaced the record, and has died before it could
	// restore it. Nothing is known of the work then.
	mayBeLost bool
	swept     bool // by the sweep that is under way
}

// ending says how the work under a key ends.
type ending int

const (
	works ending = iota
	fails
	cutBefore // the call is ended from outside before the work has had an effect
	cutAfter
)

func (c *claims) begin(p *program) {
	for i := range 4 {
		c.keys = append(c.keys, claimed{name: p.id("key", i)})
	}
}

var errBusy = errors.New("the far side is busy")

// some chooses a key. After the retention of its record, it is free again.
func (c *claims) some(p *program) *claimed {
	k := &c.keys[p.roll(len(c.keys))]
	p.passBy(k.expires)

	if k.done && p.store.clock.Now().After(k.expires) {
		*k = claimed{name: k.name}
	}

	return k
}

// work is work under a key that ends like that.
func work(how ending) func(*program) {
	return func(p *program) { p.claims.do(p, p.claims.some(p), how) }
}

// otherPayload sends another payload under a key whose work was done.
func otherPayload(p *program) {
	k := p.claims.some(p)
	// A caller with a wrong clock may take the record for an old one, and die.
	if !k.done || k.mayBeLost || k.expires.Sub(p.store.clock.Now()) < mostOff+time.Hour {
		return
	}

	err := p.call("claim", func(ctx context.Context, m *machine) error {
		_, _, err := m.claims.Do(ctx, k.name, []byte("another payload"), func(context.Context, *once.Claim) ([]byte, error) {
			k.effects++
			return nil, nil
		})

		return err
	})
	if !errors.Is(err, once.ErrMismatch) {
		p.fail("%s with another payload: %v", k.name, err)
	}
}

// endsWithin reports whether the record ends so soon that a wrong clock may take it for an old one.
func (k *claimed) endsWithin(d time.Duration, now time.Time) bool {
	return k.done && k.expires.Sub(now) < d || k.begunUntil.After(now) && k.begunUntil.Sub(now) < d
}

// beginWork is the beginning of the work, which reaches the far side if it has had no effect there yet. Work
// that takes over looks at the far side first, as a caller must.
func (c *claims) beginWork(p *program, k *claimed, claim *once.Claim, reaches bool) {
	if k.mayBeLost {
		p.counts.add("lost record")
		*k = claimed{name: k.name, effects: map[bool]int{true: k.effects}[claim.Outcome == once.TakenOver]}
	}

	mayHaveBegun := k.effects > 0 || p.store.clock.Now().Before(k.begunUntil)
	if mayHaveBegun && claim.Outcome != once.TakenOver {
		p.fail("%s: told %q although the work may have begun", k.name, claim.Outcome)
	}
	k.begunUntil = p.store.clock.Now().Add(retentions[0] - 10*time.Second)

	if reaches && k.effects == 0 {
		k.effects++
	}
}

// do works under the key. Work that fails, or is cut off before, has no effect.
func (c *claims) do(p *program, k *claimed, how ending) {
	var (
		result   []byte
		replayed bool
	)
	retention := p.roll(len(retentions))
	work := func(cut context.CancelFunc) func(context.Context, *once.Claim) ([]byte, error) {
		return func(ctx context.Context, claim *once.Claim) ([]byte, error) {
			c.beginWork(p, k, claim, how == works || how == cutAfter)

			switch how {
			case fails:
				return nil, errBusy
			case cutBefore, cutAfter:
				p.counts.add("cut off")
				cut()

				return nil, ctx.Err()
			}

			return fmt.Append(nil, k.name, " was done"), nil
		}
	}

	var (
		err     error
		unheard bool // by one of those that failed
		knows   bool // whether the last one knew the service's time
	)
	for range 12 {
		err = p.callSetting("claim", func(ctx context.Context, m *machine) (err error) {
			ctx, cut := context.WithCancel(ctx)
			defer cut()
			ears, era := &m.keptHears[retention], m.era.Load()
			knows = ears.open(m)
			result, replayed, err = m.kept[retention].Do(ctx, k.name, []byte("payload"), work(cut))
			ears.listen(m, era, err)

			if knows = knows && era == m.era.Load(); err != nil && !knows {
				unheard = true
				k.mayBeLost = k.mayBeLost || k.endsWithin(mostOff+time.Hour, p.store.clock.Now())
			}

			return err
		})

		// A crashed caller has left its lease. If it had not heard the service's time, the lease is as
		// wrong as its clock.
		if errors.Is(err, once.ErrInProgress) {
			p.store.clock.Advance(map[bool]time.Duration{false: 2 * time.Minute, true: mostOff + 2*time.Minute}[unheard])
			continue
		}

		// The clock was set during the first call of a process, whose lease had ended by the service's time. The
		// caller comes again.
		if errors.Is(err, once.ErrLeaseExpired) && !knows {
			p.counts.add("lease in the past")
			continue
		}

		// The caller comes again, and does what it had come for.
		if how == cutAfter && err != nil {
			how = works
			continue
		}

		break
	}

	switch {
	case k.done && (err != nil || !replayed || string(result) != k.result):
		p.fail("%s is done: %q, replayed %t, %v", k.name, result, replayed, err)
	case k.done:
	case err == nil && replayed && !knows && k.effects == 0:
		// The answer during which a clock was set tells nothing, so an old result seems to be kept.
		p.counts.add("old result")
	case err == nil:
		k.mayBeLost = false
		k.done, k.result, k.expires = true, string(result), p.store.clock.Now().Add(retentions[retention])
	case how == fails && errors.Is(err, errBusy), how == cutBefore && errors.Is(err, context.Canceled):
	default:
		p.fail("%s: %v", k.name, err)
	}

	if k.effects > 1 || k.done && k.effects != 1 {
		p.fail("%s: %d effects", k.name, k.effects)
	}
}

// loseLease works for longer than the lease: another caller takes over and does the work meanwhile. The
// late result must not be stored.
func loseLease(p *program) {
	c, k, m := &p.claims, p.claims.some(p), p.machine()

	ears, era := &m.keptHears[0], m.era.Load()
	knows := ears.open(m)
	result, replayed, err := m.claims.Do(p.t.Context(), k.name, []byte("payload"), func(_ context.Context, claim *once.Claim) ([]byte, error) {
		c.beginWork(p, k, claim, true)
		p.counts.add("lease lost")
		p.store.clock.Advance(2 * time.Minute)
		c.do(p, k, works)

		return []byte("late"), nil
	})
	ears.listen(m, era, err)
	p.note("lease lost: %q, replayed %t, %v", result, replayed, err)

	switch {
	case errors.Is(err, once.ErrInProgress): // a crashed caller has left its lease
	case err == nil && replayed && k.done && string(result) == k.result:
	case err == nil && replayed && !knows && k.effects == 0:
		p.counts.add("old result")
	case errors.Is(err, once.ErrLeaseExpired), errors.Is(err, once.ErrStaleOwner):
	default:
		p.fail("%s after its lease was lost: %q, replayed %t, %v", k.name, result, replayed, err)
	}
}

// mark counts in an item, once for each key, also when it is sent again.
func mark(p *program) {
	c := &p.claims
	n, memory := c.marked, []int{4, 8, 16}[p.roll(3)]
	if n > 0 && p.chance(40) {
		n = c.marked - 1 - p.roll(c.marked-c.remembered)
	} else {
		c.marked++
		// The item remembers at least three quarters of the memory.
		c.remembered = max(c.remembered, c.marked-memory*3/4)
	}

	var replayed bool
	err := p.callSetting("mark", func(ctx context.Context, m *machine) (err error) {
		_, replayed, err = m.claims.DoInItem(ctx, p.id("mark", n), []byte("payload"), once.ItemWrite{Table: businessTable, Key: c.item(p), Memory: memory,
			Add: "n :one", Values: item{":one": &types.AttributeValueMemberN{Value: "1"}}})
		return err
	})
	if err != nil || n < c.marked-1 && !replayed {
		p.fail("mark %d of %d: replayed %t, %v", n, c.marked, replayed, err)
	}
}

func (c *claims) item(p *program) item {
	return item{"idempotencyKey": &types.AttributeValueMemberS{Value: p.id("counter", 0)}}
}

func (c *claims) deleteExpired(p *program) {
	for _, k := range c.keys {
		p.deleteExpired(claimsTable(p.store.slot), once.ExpiryAttribute, item{"idempotencyKey": &types.AttributeValueMemberS{Value: k.name}})
	}
}

func (c *claims) check(p *program) {
	out, err := p.store.db.GetItem(p.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(businessTable), Key: c.item(p), ConsistentRead: aws.Bool(true)})
	if err != nil {
		p.fail("read the counter: %v", err)
		return
	}

	n, _ := out.Item["n"].(*types.AttributeValueMemberN)
	if got := map[bool]string{true: "0"}[n == nil]; n != nil && n.Value != fmt.Sprint(c.marked) || n == nil && got != fmt.Sprint(c.marked) {
		p.fail("%d writes with marks: the item has %v", c.marked, out.Item["n"])
	}

	for i := range c.keys {
		if k := &c.keys[i]; k.done && p.store.clock.Now().Before(k.expires.Add(-5*time.Second)) {
			c.do(p, k, works)
		}
	}
}
