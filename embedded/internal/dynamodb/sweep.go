package dynamodb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/expiries"
	"ratchet/embedded/internal/dynamodb/stored"
)

// sweep removes the items whose time to live has ended.
func (s *Service) sweep(ctx context.Context, now time.Time) error {
	for _, t := range s.tables.All() {
		if state := t.State(); state.Record.TTL == "" || state.Deleted {
			continue
		}

		lo, hi := expiries.Due(t.No, now)
		for lo != nil {
			keys, next, err := s.keysFrom(lo, hi)
			if err != nil {
				return err
			}
			lo = next

			if err := s.expire(ctx, t, keys, now); err != nil {
				return fmt.Errorf("sweep table %s: %w", t.Name, err)
			}
		}
	}

	return nil
}

// expire removes the items of entries of the index of expiries, a hundred with one flush.
func (s *Service) expire(ctx context.Context, t *catalog.Table, entries [][]byte, now time.Time) error {
	for group := range slices.Chunk(entries, 100) {
		// The rest stays due for the next sweep.
		if ctx.Err() != nil {
			return nil
		}

		var actions []*action
		for _, entry := range group {
			a, err := s.newExpiryRemoval(t, entry, now)
			if err != nil {
				return err
			}

			if a != nil {
				actions = append(actions, a)
			}
		}

		// The table may have been deleted since the sweep began.
		if err := s.removeExpired(actions); err != nil && !isMissing(err) {
			return err
		}
	}

	return nil
}

// newExpiryRemoval returns the action that removes the item of an entry of the index of
// expiries, nil if the item is gone.
func (s *Service) newExpiryRemoval(t *catalog.Table, entry []byte, now time.Time) (*action, error) {
	raw, ok, err := s.db.Get(expiries.ItemKey(&t.Space, entry))
	if err != nil || !ok {
		return nil, err
	}

	item, err := stored.Item(raw).Decode()
	if err != nil {
		return nil, err
	}

	key, err := t.KeyIn(item)
	if err != nil {
		return nil, err
	}

	return &action{verb: remove, table: t, key: key, expireAt: now.Unix()}, nil
}

func (s *Service) removeExpired(actions []*action) error {
	hashes := make([]uint64, len(actions))
	for i, a := range actions {
		hashes[i] = a.key.Lock
	}
	defer s.stripes.Lock(hashes)()

	changes := make([]*change, len(actions))
	for i, a := range actions {
		var err error

		// evaluate reads the item again under its stripe, because the item may have changed since;
		// see isExpired.
		if changes[i], err = s.evaluate(a); err != nil {
			return err
		}
	}

	return s.writeAll(changes, hashes, s.cfg.Clock.Now(), nil)
}

// isExpired reports whether the sweep may remove the item as it is now. Since the sweep read the index, the
// item's time to live may have been extended, or the table's switched off.
func (c *change) isExpired() bool {
	at, has := expiries.Of(c.old, c.state.Record.TTL)
	return has && at <= c.expireAt
}
