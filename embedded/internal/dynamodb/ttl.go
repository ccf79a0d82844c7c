package dynamodb

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"ratchet/embedded/internal/wire"
)

type ttlSpecification struct {
	AttributeName string
	Enabled       *bool
}

type updateTTLIn struct {
	TableName               *string
	TimeToLiveSpecification *ttlSpecification
}

func (s *Service) updateTTL(ctx context.Context, in *updateTTLIn) (any, error) {
	spec := in.TimeToLiveSpecification
	switch {
	case spec == nil:
		return nil, wire.Missing("timeToLiveSpecification")
	case spec.Enabled == nil:
		return nil, wire.Missing("timeToLiveSpecification.enabled")
	case len(spec.AttributeName) < 1 || len(spec.AttributeName) > 255:
		return nil, wire.BadParameter("'"+spec.AttributeName+"'", "timeToLiveSpecification.attributeName",
			"Member must have length between 1 and 255")
	}
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	t, err := s.known(in.TableName)
	if err != nil {
		return nil, err
	}
	next := *t.state.Load()

	r := &next.record
	switch {
	case r.TTL != "" && r.TTL != spec.AttributeName:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", r.TTL)
	case r.TTL != "" && *spec.Enabled:
		return nil, invalid("TimeToLive is already enabled")
	case r.TTL == "" && !*spec.Enabled:
		return nil, invalid("TimeToLive is already disabled")
	case *spec.Enabled:
		r.TTL, r.TTLIndexing = spec.AttributeName, true
	default:
		r.TTL, r.TTLIndexing = "", false
	}
	r.TTLChanged = time.Now()

	if err := s.replace(t, &next); err != nil {
		return nil, err
	}
	// Writers that saw the old state end first; later ones keep the index in step.
	s.stripes.pass()

	if *spec.Enabled {
		err = s.indexExpiries(ctx, t)
	} else {
		err = s.dropExpiries(t)
	}

	if err != nil {
		return nil, fmt.Errorf("change time to live of table %s: %w", t.name, err)
	}

	return map[string]any{"TimeToLiveSpecification": spec}, nil
}

func (s *Service) describeTTL(_ context.Context, in *tableIn) (any, error) {
	t, err := s.known(in.TableName)
	if err != nil {
		return nil, err
	}

	r := t.state.Load().record
	d := map[string]any{"TimeToLiveStatus": "DISABLED"}
	if r.TTL != "" {
		d["TimeToLiveStatus"], d["AttributeName"] = "ENABLED", r.TTL
		if r.TTLIndexing {
			d["TimeToLiveStatus"] = "ENABLING"
		}
	}

	return map[string]any{"TimeToLiveDescription": d}, nil
}

// resumeIndexing finishes what a crash interrupted.
func (s *Service) resumeIndexing(ctx context.Context) error {
	s.tables.ddl.Lock()
	defer s.tables.ddl.Unlock()

	for _, t := range *s.tables.tables.Load() {
		if t.state.Load().record.TTLIndexing {
			if err := s.indexExpiries(ctx, t); err != nil && ctx.Err() == nil {
				return fmt.Errorf("index the expiries of table %s: %w", t.name, err)
			}
		}
	}

	return nil
}

// chunk is how many items a walk over a table takes at a time.
const chunk = 1000

// indexExpiries enters the items that were there before the table's time to live
// was enabled into the index. Under ddl.
func (s *Service) indexExpiries(ctx context.Context, t *table) error {
	attribute := t.state.Load().record.TTL
	for lo := t.items; lo != nil; {
		if err := ctx.Err(); err != nil {
			return err
		}

		keys, next, err := s.keysFrom(lo, after(t.items))
		if err != nil {
			return err
		}
		lo = next

		for _, k := range keys {
			if err := s.indexExpiry(t, attribute, k); err != nil {
				return err
			}
		}
	}
	// The entries are on disk when this record is: it is committed after them.
	next := *t.state.Load()
	next.record.TTLIndexing = false

	return s.replace(t, &next)
}

// keysFrom lists a chunk of store keys; next is where to go on, nil at the end.
func (s *Service) keysFrom(lo, hi []byte) (keys [][]byte, next []byte, err error) {
	err = s.db.Scan(lo, hi, false, func(k, _ []byte) (bool, error) {
		keys = append(keys, bytes.Clone(k))
		return len(keys) < chunk, nil
	})

	if len(keys) == chunk {
		next = append(bytes.Clone(keys[chunk-1]), 0)
	}

	return keys, next, err
}

// indexExpiry enters one item under its stripe, so that no writer is at it.
func (s *Service) indexExpiry(t *table, attribute string, key []byte) error {
	st := s.stripes.of(hashBytes(key))
	st.mu.Lock()
	defer st.mu.Unlock()

	raw, ok, err := s.db.Get(key)
	if err != nil || !ok {
		return err
	}

	item, err := stored(raw).item()
	if err != nil {
		return err
	}

	at, has := expiry(item, attribute)
	if !has {
		return nil
	}
	b := s.db.NewBatch()
	b.Set(t.expiryKey(at, key), nil)

	return b.CommitLater() // the caller's last commit makes all of them durable
}

func (s *Service) dropExpiries(t *table) error {
	b := s.db.NewBatch()
	prefix := tablePrefix(kindExpiry, t.no)
	b.DeleteRange(prefix, after(prefix))
	return b.Commit()
}

// lapsed is how long after its end a time to live is still honoured: AWS leaves
// items alone whose expiry is more than five years ago.
const lapsed = 5 * 365 * 24 * time.Hour

// sweep removes the items whose time to live has ended.
func (s *Service) sweep(ctx context.Context, now time.Time) error {
	for _, t := range *s.tables.tables.Load() {
		if state := t.state.Load(); state.record.TTL == "" || state.dropped {
			continue
		}

		prefix := tablePrefix(kindExpiry, t.no)
		edge := func(at time.Time) []byte {
			return binary.BigEndian.AppendUint64(bytes.Clone(prefix), uint64(max(at.Unix(), 0)))
		}
		hi := edge(now.Add(time.Second))
		for lo := edge(now.Add(-lapsed)); lo != nil; {
			keys, next, err := s.keysFrom(lo, hi)
			if err != nil {
				return err
			}
			lo = next

			if err := s.expire(ctx, t, keys, now); err != nil {
				return fmt.Errorf("sweep table %s: %w", t.name, err)
			}
		}
	}

	return nil
}

// expire removes the items behind entries of the index of expiries, some at a
// time with one flush to disk.
func (s *Service) expire(ctx context.Context, t *table, entries [][]byte, now time.Time) error {
	for group := range slices.Chunk(entries, 100) {
		if ctx.Err() != nil {
			return nil
		}

		var actions []*action
		for _, entry := range group {
			a, err := s.expiry(t, entry, now)
			if err != nil {
				return err
			}

			if a != nil {
				actions = append(actions, a)
			}
		}

		if err := s.removeExpired(actions); err != nil && !isMissing(err) {
			return err
		}
	}

	return nil
}

// expiry is the removal that an entry of the index of expiries asks for, nil when
// its item is gone already.
func (s *Service) expiry(t *table, entry []byte, now time.Time) (*action, error) {
	raw, ok, err := s.db.Get(append(bytes.Clone(t.items), entry[18:]...))
	if err != nil || !ok {
		return nil, err
	}

	item, err := stored(raw).item()
	if err != nil {
		return nil, err
	}

	key, err := t.keyIn(item)
	if err != nil {
		return nil, err
	}

	return &action{verb: remove, table: t, key: key, expireAt: now.Unix()}, nil
}

func (s *Service) removeExpired(actions []*action) error {
	hashes := make([]uint64, len(actions))
	for i, a := range actions {
		hashes[i] = a.key.lock
	}
	defer s.stripes.lock(hashes)()

	changes := make([]*change, len(actions))
	for i, a := range actions {
		var err error
		if changes[i], err = s.judge(a); err != nil {
			return err
		}
	}

	return s.writeAll(changes, hashes, time.Now(), nil)
}

// lapsed reports whether the sweep may remove the item as it is now: it may
// have been renewed since the sweep saw it.
func (c *change) lapsed() bool {
	at, has := expiry(c.old, c.state.record.TTL)
	return has && at <= c.expireAt
}
