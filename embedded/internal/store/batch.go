package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Batch is a set of changes that is applied as a whole or not at all. It belongs to one
// goroutine.
type Batch struct {
	db     *DB
	pebble *pebble.Batch
}

// NewBatch starts an empty batch. End it with Commit, with Apply and Sync, with
// CommitLater or with Discard.
func (d *DB) NewBatch() *Batch { return &Batch{db: d, pebble: d.pebble.NewBatch()} }

// Set stores value under key. It copies both.
func (b *Batch) Set(key, value []byte) { must(b.pebble.Set(key, value, nil)) }

// SetIn is Set for a value that fill writes into the batch itself, so that it is copied once. fill gets
// size bytes, and must fill them all and not keep them.
func (b *Batch) SetIn(key []byte, size int, fill func(value []byte)) {
	op := b.pebble.SetDeferred(len(key), size)
	copy(op.Key, key)
	fill(op.Value)
	must(op.Finish())
}

// Delete removes key, which need not exist.
func (b *Batch) Delete(key []byte) { must(b.pebble.Delete(key, nil)) }

// DeleteRange removes every key with lo <= key < hi.
func (b *Batch) DeleteRange(lo, hi []byte) { must(b.pebble.DeleteRange(lo, hi, nil)) }

// Empty reports whether the batch changes nothing.
func (b *Batch) Empty() bool { return b.pebble.Empty() }

// Apply makes the batch visible to readers; Sync makes it durable. A caller that needs
// its batches visible in a certain order calls Apply under its own lock and Sync outside
// of it, so that many callers share one flush of the disk.
func (b *Batch) Apply() error {
	if err := b.db.hasRoomForBatch(); err != nil {
		return err
	}

	// The batch is counted before it is visible: a reader that sees the batch must not
	// find a Barrier that has nothing to wait for.
	b.db.unsynced.Add(1)

	err := b.db.pebble.ApplyNoSyncWait(b.pebble, pebble.Sync)
	if err != nil {
		b.db.unsynced.Add(-1)
	}

	return err
}

// Sync waits until the applied batch is on disk, and releases it. A disk that fails ends the process: others
// may have read the batch.
func (b *Batch) Sync() error {
	if err := b.pebble.SyncWait(); err != nil {
		b.db.fail(err.Error())
	}
	b.db.unsynced.Add(-1)

	return b.pebble.Close()
}

// CommitLater makes the batch visible without waiting for the disk, and releases it. The
// batch becomes durable with the next Commit or Sync; Barrier does not wait for it.
func (b *Batch) CommitLater() error {
	if err := b.db.hasRoomForBatch(); err != nil {
		b.Discard()
		return err
	}

	return errors.Join(b.db.pebble.Apply(b.pebble, pebble.NoSync), b.pebble.Close())
}

// Commit applies and syncs the batch. It releases the batch even when it fails.
func (b *Batch) Commit() error {
	if err := b.Apply(); err != nil {
		b.Discard()
		return err
	}

	return b.Sync()
}

// Discard releases a batch that was not applied.
func (b *Batch) Discard() { must(b.pebble.Close()) }

// must panics where Pebble documents that only misuse of a batch (after Close or Commit)
// fails.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("store: batch misused: %v", err))
	}
}
