package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ratchet/embedded/internal/store"
)

const (
	// saveEvery is the time between two saves of the tables' counts. A crash loses the changes
	// of the counts since the last save.
	saveEvery = 30 * time.Second
	// sweepEvery is the time between two searches for items whose time to live has ended.
	sweepEvery = 10 * time.Second
)

// Run removes expired items, deletes old request tokens, saves the tables' counts and finishes the
// indexing and the deletions that a crash, a caller or a full disk left, until ctx ends. It returns nil
// then. While the disk is full it waits.
func (s *Service) Run(ctx context.Context) error {
	save := time.NewTicker(saveEvery)
	defer save.Stop()

	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()

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
			due.sweeping = true
		case <-sweep.C:
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
		if err := errors.Join(s.tables.SaveCounts(), s.oldTokens.DeleteOld(s.db, s.cfg.Clock.Now())); err != nil {
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
