package dynamodb

import (
	"context"
	"fmt"
	"time"
)

// savePause is the pause between two saves of the tables' counts, and how much
// of them a crash may lose.
const savePause = 30 * time.Second

// Run removes expired items, forgets old request tokens and saves the tables'
// counts, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if err := s.resumeIndexing(ctx); err != nil {
		return err
	}
	save := time.NewTicker(savePause)
	defer save.Stop()

	sweeps := make(<-chan time.Time)
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
		case <-save.C:
			if err = s.saveCounts(); err == nil {
				err = s.forgetTokens(time.Now())
			}
		case <-sweeps:
			err = s.sweep(ctx, time.Now())
		}

		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("keep tables clean: %w", err)
		}
	}
}
