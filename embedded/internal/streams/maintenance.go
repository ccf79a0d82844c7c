package streams

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/internal/store"
)

// Run rolls shards that are old enough and removes what is past the retention, until ctx ends.
// While the disk is full it waits. Run returns nil when ctx ends, or the error of the store that
// stopped it.
func (s *Service) Run(ctx context.Context) error {
	// Once a minute, and more often when a test shortens the times.
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
		case <-s.cfg.Clock.Shifted():
		}

		if s.db.HasRoom() != nil {
			continue // what is due now is due later, too
		}

		if err := s.maintain(s.cfg.Clock.Now()); err != nil && !errors.Is(err, store.ErrFull) {
			return fmt.Errorf("keep stream shards alive: %w", err)
		}
	}
}

// Maintain does the work of Run once.
func (s *Service) Maintain() error { return s.maintain(s.cfg.Clock.Now()) }

// maintain does the work that is due now.
func (s *Service) maintain(now time.Time) error {
	cutoff := now.Add(-s.cfg.Retention)
	rollBefore := now.Add(-s.cfg.RollEvery)

	for _, st := range s.sorted() {
		if s.cfg.RollEvery > 0 {
			due := func(sh *shard) bool { return !sh.record.created().After(rollBefore) }
			if err := st.roll(now, due); err != nil {
				return fmt.Errorf("roll %s: %w", st.record.ARN, err)
			}
		}

		if err := s.trim(st, sequenceAt(cutoff)); err != nil {
			return fmt.Errorf("trim %s: %w", st.record.ARN, err)
		}

		if err := s.removeDisabled(st, cutoff); err != nil {
			return fmt.Errorf("remove %s: %w", st.record.ARN, err)
		}
	}

	return nil
}

// removeDisabled removes a stream that was disabled before cutoff, once its shards are
// gone.
func (s *Service) removeDisabled(st *Stream, cutoff time.Time) error {
	st.mu.Lock()
	defer st.mu.Unlock()

	// Trim removes the shards first, with their records. Then only the stream's own record is left.
	if st.record.Disabled.IsZero() || st.record.Disabled.After(cutoff) || len(st.all) > 0 {
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
