package dynamodb

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/expiries"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/store"
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
	s.tables.DDL.Lock()
	defer s.tables.DDL.Unlock()

	t, err := s.tables.Existing(in.TableName)
	if err != nil {
		return nil, err
	}
	next := *t.State()

	r := &next.Record
	switch {
	// Also if the request disables the time to live.
	case r.TTL != "" && r.TTL != spec.AttributeName:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", r.TTL)
	case r.TTL != "" && *spec.Enabled:
		return nil, invalid("TimeToLive is already enabled")
	case r.TTL == "" && !*spec.Enabled:
		return nil, invalid("TimeToLive is already disabled")
	case *spec.Enabled:
		// If the indexing is interrupted, this mark lets Run go on with it.
		r.TTL, r.TTLIndexing = spec.AttributeName, true
	default:
		r.TTL, r.TTLIndexing = "", false
	}
	r.TTLChanged = s.cfg.Clock.Now()

	if err := s.tables.Save(t, &next); err != nil {
		return nil, err
	}

	// Writers with the old state do not maintain the index of expiries, or enter expiries behind its
	// deletion: they must end first.
	s.stripes.WaitForWriters()

	if *spec.Enabled {
		err = s.indexExpiries(ctx, t)
		s.resumeAfter(ctx, err)
	} else {
		err = s.deleteExpiries(t)
	}

	if err != nil {
		return nil, fmt.Errorf("change time to live of table %s: %w", t.Name, err)
	}

	return map[string]any{"TimeToLiveSpecification": spec}, nil
}

func (s *Service) describeTTL(_ context.Context, in *tableIn) (any, error) {
	t, err := s.tables.Existing(in.TableName)
	if err != nil {
		return nil, err
	}

	r := t.State().Record
	d := map[string]any{"TimeToLiveStatus": "DISABLED"}
	if r.TTL != "" {
		d["TimeToLiveStatus"], d["AttributeName"] = "ENABLED", r.TTL
		if r.TTLIndexing {
			d["TimeToLiveStatus"] = "ENABLING"
		}
	}

	return map[string]any{"TimeToLiveDescription": d}, nil
}

// resumeAfter lets Run finish a request that ended with err because its caller left or the disk became full.
func (s *Service) resumeAfter(ctx context.Context, err error) {
	if err == nil || ctx.Err() == nil && !errors.Is(err, store.ErrFull) {
		return
	}

	select {
	case s.unfinished <- struct{}{}:
	default: // a signal is waiting already
	}
}

// finish completes requests that were interrupted by a crash, by a full disk or by their caller.
func (s *Service) finish(ctx context.Context) error {
	s.tables.DDL.Lock()
	defer s.tables.DDL.Unlock()

	if err := s.finishDeletions(); err != nil {
		return err
	}

	for _, t := range s.tables.All() {
		// At the end of ctx the rest is left to the next Run: the records say what is unfinished.
		if err := s.buildIndexes(ctx, t); err != nil && ctx.Err() == nil {
			return fmt.Errorf("build the indexes of table %s: %w", t.Name, err)
		}

		if t.State().Record.TTLIndexing {
			if err := s.indexExpiries(ctx, t); err != nil && ctx.Err() == nil {
				return fmt.Errorf("index the expiries of table %s: %w", t.Name, err)
			}
		}
	}

	return nil
}

// keysPerStep is how many keys keysFrom returns at once: a walk over a table keeps no scan
// open while it takes stripes.
const keysPerStep = 1000

// indexExpiries enters the items that existed before the table's time to live was enabled
// into the index. The caller holds DDL.
func (s *Service) indexExpiries(ctx context.Context, t *catalog.Table) error {
	attribute := t.State().Record.TTL

	err := s.eachItem(ctx, t, func(key []byte, item attr.Item) error {
		at, has := expiries.Of(item, attribute)
		if !has {
			return nil
		}

		b := s.db.NewBatch()
		b.Set(expiries.Key(t.No, &t.Space, at, key), nil)

		return b.CommitLater() // the record below flushes them all
	})
	if err != nil {
		return err
	}

	// Batches reach the disk in their order: when this record is on disk, the entries are, too.
	next := *t.State()
	next.Record.TTLIndexing = false

	return s.tables.Save(t, &next)
}

// eachItem calls fn with the store key and the content of every item of the table, under the
// item's stripe, so that no writer changes the item meanwhile. Items that are written during
// the walk may be left out.
func (s *Service) eachItem(ctx context.Context, t *catalog.Table, fn func(key []byte, item attr.Item) error) error {
	for lo := t.Prefix; lo != nil; {
		if err := ctx.Err(); err != nil {
			return err
		}

		keys, next, err := s.keysFrom(lo, store.PrefixEnd(t.Prefix))
		if err != nil {
			return err
		}
		lo = next

		for _, k := range keys {
			if err := s.withItem(k, fn); err != nil {
				return err
			}
		}
	}

	return nil
}

// withItem calls fn with an item under its stripe, unless the item is gone.
func (s *Service) withItem(key []byte, fn func(key []byte, item attr.Item) error) error {
	st := s.stripes.Of(keyspace.Hash(key))
	st.Lock()
	defer st.Unlock()

	// Read under the stripe: the item may have changed since its key was listed.
	raw, ok, err := s.db.Get(key)
	if err != nil || !ok {
		return err
	}

	item, err := stored.Item(raw).Decode()
	if err != nil {
		return err
	}

	return fn(key, item)
}

// keysFrom returns the first store keys from lo on, and where to go on, nil at the end.
func (s *Service) keysFrom(lo, hi []byte) (keys [][]byte, next []byte, err error) {
	err = s.db.Scan(lo, hi, false, func(k, _ []byte) (bool, error) {
		keys = append(keys, bytes.Clone(k))
		return len(keys) < keysPerStep, nil
	})

	if len(keys) == keysPerStep {
		// The smallest key behind the last one.
		next = append(bytes.Clone(keys[keysPerStep-1]), 0)
	}

	return keys, next, err
}

func (s *Service) deleteExpiries(t *catalog.Table) error {
	b := s.db.NewBatch()
	expiries.StageDeletion(b, t.No)

	return b.Commit()
}
