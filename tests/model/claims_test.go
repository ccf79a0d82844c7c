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
	// marked are the keys of writes with marks, in one item; the item counts them.
	marked int
}

// claimed is one key.
type claimed struct {
	name string
	// effects counts what reached the far side since the record began.
	effects int
	result  string // the stored result, if done
	done    bool
	expires time.Time // of the record
}

func (c *claims) begin(p *program) {
	for i := range 4 {
		c.keys = append(c.keys, claimed{name: p.id("key", i)})
	}
}

var errBusy = errors.New("the far side is busy")

func (c *claims) step(p *program) {
	if p.chance(20) {
		c.mark(p)
		return
	}
	k := &c.keys[p.roll(len(c.keys))]
	p.passBy(k.expires)

	// After the retention, the key is free again.
	if k.done && p.store.clock.Now().After(k.expires) {
		*k = claimed{name: k.name}
	}

	if k.done && p.chance(20) {
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

		return
	}

	c.do(p, k, p.chance(15))
}

// do works under the key. Work that fails has no effect. Work that takes over looks at the
// far side first, as a caller must.
func (c *claims) do(p *program, k *claimed, fails bool) {
	var (
		result   []byte
		replayed bool
	)
	work := func(_ context.Context, claim *once.Claim) ([]byte, error) {
		if fails {
			return nil, errBusy
		}

		switch {
		case claim.Outcome == once.TakenOver && k.effects > 0:
		case k.effects > 0:
			p.fail("%s: told %q although the work has had an effect", k.name, claim.Outcome)
		default:
			k.effects++
		}

		return fmt.Append(nil, k.name, " was done"), nil
	}

	var err error
	for range 8 {
		err = p.call("claim", func(ctx context.Context, m *machine) (err error) {
			result, replayed, err = m.claims.Do(ctx, k.name, []byte("payload"), work)
			return err
		})

		// A crashed caller has left its lease.
		if !errors.Is(err, once.ErrInProgress) {
			break
		}
		p.store.clock.Advance(2 * time.Minute)
	}

	switch {
	case k.done && (err != nil || !replayed || string(result) != k.result):
		p.fail("%s is done: %q, replayed %t, %v", k.name, result, replayed, err)
	case k.done:
	case err == nil:
		k.done, k.result, k.expires = true, string(result), p.store.clock.Now().Add(24*time.Hour)
	case !fails || !errors.Is(err, errBusy):
		p.fail("%s: %v", k.name, err)
	}

	if k.effects > 1 || k.done && k.effects != 1 {
		p.fail("%s: %d effects", k.name, k.effects)
	}
}

// mark counts in an item, once for each key, also when it is sent again.
func (c *claims) mark(p *program) {
	n := c.marked
	if n > 0 && p.chance(40) {
		n = max(0, c.marked-1-p.roll(20)) // a repeat within three quarters of the memory
	} else {
		c.marked++
	}

	var replayed bool
	err := p.call("mark", func(ctx context.Context, m *machine) (err error) {
		_, replayed, err = m.claims.DoInItem(ctx, p.id("mark", n), []byte("payload"), once.ItemWrite{Table: businessTable, Key: c.item(p),
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
		p.deleteExpired("once", once.ExpiryAttribute, item{"idempotencyKey": &types.AttributeValueMemberS{Value: k.name}})
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
			c.do(p, k, false)
		}
	}
}
