package streams

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

// Run rolls shards that are old enough and trims what is past retention, until
// ctx ends.
func (s *Service) Run(ctx context.Context) error {
	pause := time.Minute
	for _, d := range []time.Duration{s.cfg.RollEvery, s.cfg.Retention} {
		if d > 0 {
			pause = min(pause, d/10+time.Millisecond)
		}
	}
	ticker := time.NewTicker(pause)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := s.tick(time.Now()); err != nil {
				return fmt.Errorf("keep stream shards alive: %w", err)
			}
		}
	}
}

// tick does what is due at a moment.
func (s *Service) tick(now time.Time) error {
	cut := now.Add(-s.cfg.Retention)
	for _, st := range s.sorted() {
		if s.cfg.RollEvery > 0 {
			born := now.Add(-s.cfg.RollEvery)
			if err := st.roll(now, func(sh *shard) bool { return !sh.record.created().After(born) }); err != nil {
				return fmt.Errorf("roll %s: %w", st.record.ARN, err)
			}
		}

		if err := s.trim(st, sequenceAt(cut)); err != nil {
			return fmt.Errorf("trim %s: %w", st.record.ARN, err)
		}

		if err := s.forget(st, cut); err != nil {
			return fmt.Errorf("remove %s: %w", st.record.ARN, err)
		}
	}

	return nil
}

// roll closes the open shards that due picks and opens one child for each.
func (s *Stream) roll(now time.Time, due func(*shard) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	var parents []*shard
	for _, sh := range s.openShards() {
		if due(sh) {
			parents = append(parents, sh)
		}
	}

	if len(parents) == 0 {
		return nil
	}
	b := s.db.NewBatch()

	return s.reshape(b, now, parents, func() (children []*shard, err error) {
		for _, sh := range parents {
			child, err := s.birth(b, now, sh.record.ID, sh.record.Lo, sh.record.Hi)
			if err != nil {
				return nil, err
			}
			children = append(children, child)
		}

		return children, nil
	}, nil)
}

// split closes an open shard and gives each half of its hashes a child.
func (s *Stream) split(now time.Time, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	sh := s.find(id)
	switch {
	case sh == nil:
		return shardMissing(id)
	case sh.record.End != 0:
		return wire.Invalid("shard %s is closed", id)
	case sh.record.Lo == sh.record.Hi:
		return wire.Invalid("shard %s cannot be split any further", id)
	}
	middle := sh.record.Lo + (sh.record.Hi-sh.record.Lo)/2
	b := s.db.NewBatch()

	return s.reshape(b, now, []*shard{sh}, func() ([]*shard, error) {
		low, err := s.birth(b, now, id, sh.record.Lo, middle)
		if err != nil {
			return nil, err
		}
		high, err := s.birth(b, now, id, middle+1, sh.record.Hi)

		return []*shard{low, high}, err
	}, nil)
}

// trim removes the records below cut, and closed shards that were closed before.
func (s *Service) trim(st *Stream, cut sequence) error {
	st.mu.Lock()
	defer st.mu.Unlock()

	b := s.db.NewBatch()
	var gone []*shard
	horizons := map[*shard]sequence{}
	for _, sh := range st.all {
		if sh.record.End != 0 && sh.record.Closed <= cut {
			gone = append(gone, sh)
			b.Delete(shardKey(st.record.No, sh.record.No))
			b.DeleteRange(sh.prefix, store.PrefixEnd(sh.prefix))
			continue
		}

		last, err := st.lastBelow(sh, cut)
		if err != nil {
			b.Discard()
			return err
		}

		if last == 0 {
			continue
		}
		r := sh.record
		b.DeleteRange(sh.key(r.Horizon), sh.key(last+1))

		r.Horizon = last + 1
		horizons[sh] = r.Horizon
		if err := st.stageShard(b, r); err != nil {
			b.Discard()
			return err
		}
	}

	if b.Empty() {
		b.Discard()
		return nil
	}

	if err := b.Commit(); err != nil {
		return err
	}

	for sh, horizon := range horizons {
		sh.record.Horizon = horizon
	}
	st.all = slices.DeleteFunc(st.all, func(sh *shard) bool { return slices.Contains(gone, sh) })

	return nil
}

// lastBelow is the highest record of the shard below cut, 0 without one.
func (s *Stream) lastBelow(sh *shard, cut sequence) (last sequence, err error) {
	if cut <= max(sh.record.Start, sh.record.Horizon) {
		return 0, nil
	}
	err = s.db.Scan(sh.key(sh.record.Horizon), sh.key(cut), true, func(k, _ []byte) (bool, error) {
		last = sequence(binary.BigEndian.Uint64(k[len(sh.prefix):]))
		return false, nil
	})

	return last, err
}

// forget removes a stream that was disabled before cut, once its shards are gone.
func (s *Service) forget(st *Stream, cut time.Time) error {
	st.mu.Lock()
	defer st.mu.Unlock()

	if st.record.Disabled.IsZero() || st.record.Disabled.After(cut) || len(st.all) > 0 {
		return nil
	}
	b := s.db.NewBatch()
	b.Delete(streamKey(st.record.No))

	if err := b.Commit(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byARN, st.record.ARN)

	return nil
}
