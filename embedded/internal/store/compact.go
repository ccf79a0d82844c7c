package store

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Size returns how many bytes the files of the key space have.
//
//go:noinline
func (d *DB) Size() int64 {
	return int64(pebbleOf(d).Metrics().DiskSpaceUsage())
}

// Rewritten returns how many bytes compactions have written since Open.
//
//go:noinline
func (d *DB) Rewritten() int64 {
	return int64(pebbleOf(d).Metrics().Total().TableBytesCompacted)
}

// firstKey and lastKey are below and above all keys, which begin with the letter of their service.
var firstKey, lastKey = []byte{0}, []byte{0xff}

// cover makes the next compaction rewrite every table that exists now. Pebble moves a table as it
// is if the table overlaps nothing of the level below, and leaves a table of the lowest level alone
// if no table above overlaps it; such tables may hold keys that were deleted. The store has no
// range keys, so a deletion of all range keys changes nothing, but overlaps every table.
func (d *DB) cover(ctx context.Context) error {
	// The newest changes become a table first, so that the deletion is in a later table, which
	// overlaps it.
	flushed, err := pebbleOf(d).AsyncFlush()
	if err != nil {
		return err
	}

	select {
	case <-flushed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}

	return pebbleOf(d).RangeKeyDelete(firstKey, lastKey, pebble.NoSync)
}

// Compact rewrites the tables on disk, so that they hold only the newest value of each key that
// exists. Other goroutines may read and write meanwhile. Compact returns when the replaced tables
// are deleted, or when ctx ends; a compaction that has begun then goes on for a while.
//
// Two kinds of files may keep bytes of older values: logs of this opening, which the store
// overwrites from their beginning when it needs another log, and manifests, which name the first
// and last key of each table. The next Open deletes the logs, and the Open after that the
// manifests.
//
// Compact returns ErrFull if the disk has no room for a second copy of the files.
func (d *DB) Compact(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}

	// The new tables are complete before the old ones are deleted: both need room.
	m := pebbleOf(d).Metrics()
	if err := d.hasRoom(m.DiskSpaceUsage() + m.WAL.Size + roomForCalls); err != nil {
		return fmt.Errorf("compact the store: %w", err)
	}

	if err := d.cover(ctx); err != nil {
		return fmt.Errorf("compact the store: %w", err)
	}

	if err := pebbleOf(d).Compact(ctx, firstKey, lastKey, true); err != nil {
		return fmt.Errorf("compact the store: %w", err)
	}

	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()

	// A table that a running Scan reads is deleted when the Scan ends.
	for {
		if m := pebbleOf(d).Metrics(); m.Table.ObsoleteCount == 0 && m.Table.ZombieCount == 0 {
			return nil
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}
