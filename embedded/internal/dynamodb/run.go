package dynamodb

import (
	"context"
	"fmt"
	"time"
)

// saveEvery is the time between two saves of the tables' counts. A crash loses the changes
// of the counts since the last save.
const saveEvery = 30 * time.Second

// Run removes expired items, deletes old request tokens, saves the tables' counts and finishes the
// indexing that requests left, until ctx ends. It returns nil then.
func (s *Service) Run(ctx context.Context) error {
	if err := s.resumeIndexing(ctx); err != nil {
		return err
	}

	save := time.NewTicker(saveEvery)
	defer save.Stop()

	sweeps := make(<-chan time.Time) // never, unless SweepEvery is positive
	if s.cfg.SweepEvery > 0 {
		ticker := time.NewTicker(s.cfg.SweepEvery)
		defer ticker.Stop()
		sweeps = ticker.C
	}

	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-s.unfinished:
			err = s.resumeIndexing(ctx)
		case <-save.C:
			if err = s.saveCounts(); err == nil {
				err = s.deleteOldTokens(s.cfg.Clock.Now())
			}
		case <-s.cfg.Clock.Shifted():
			if s.cfg.SweepEvery > 0 {
				err = s.sweep(ctx, s.cfg.Clock.Now())
			}
		case <-sweeps:
			err = s.sweep(ctx, s.cfg.Clock.Now())
		}

		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("keep tables clean: %w", err)
		}
	}
}
