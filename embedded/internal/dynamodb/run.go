package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/internal/store"
)

// saveEvery is the time between two saves of the tables' counts. A crash loses the changes
// of the counts since the last save.
const saveEvery = 30 * time.Second

// Run removes expired items, deletes old request tokens, saves the tables' counts and finishes the
// indexing and the deletions that a crash, a caller or a full disk left, until ctx ends. It returns nil
// then. While the disk is full it waits.
func (s *Service) Run(ctx context.Context) error {
	save := time.NewTicker(saveEvery)
	defer save.Stop()

	sweeps := make(<-chan time.Time) // never, unless SweepEvery is positive
	if s.cfg.SweepEvery > 0 {
		ticker := time.NewTicker(s.cfg.SweepEvery)
		defer ticker.Stop()
		sweeps = ticker.C
	}

	// An earlier process may have left something to finish.
	due := chores{unfinished: true}
	for {
		if err := s.do(ctx, &due); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrFull) {
			return fmt.Errorf("keep tables clean: %w", err)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-s.unfinished:
			due.unfinished = true
		case <-save.C:
			due.saving = true
		case <-s.cfg.Clock.Shifted():
			due.sweeping = s.cfg.SweepEvery > 0
		case <-sweeps:
			due.sweeping = true
		}
	}
}

// chores are what is due. A chore that fails stays due.
type chores struct{ unfinished, saving, sweeping bool }

// do does what is due, if the disk has room.
func (s *Service) do(ctx context.Context, due *chores) error {
	if err := s.db.HasRoom(); err != nil {
		return err
	}

	if due.unfinished {
		if err := s.finish(ctx); err != nil {
			return err
		}
		due.unfinished = false
	}

	if due.saving {
		if err := errors.Join(s.saveCounts(), s.deleteOldTokens(s.cfg.Clock.Now())); err != nil {
			return err
		}
		due.saving = false
	}

	if due.sweeping {
		if err := s.sweep(ctx, s.cfg.Clock.Now()); err != nil {
			return err
		}
		due.sweeping = false
	}

	return nil
}
