package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Batch is a set of changes that is applied as a whole or not at all. It belongs to one
// goroutine.
type Batch struct {
	db *DB
	kv any // a *pebble.Batch; see changesOf
}

// NewBatch starts an empty batch. End it with Commit, with Apply and Sync, with
// CommitLater or with Discard.
//
//go:noinline
func (d *DB) NewBatch() *Batch { return &Batch{db: d, kv: pebbleOf(d).NewBatch()} }

// Set stores value under key. It copies both.
//
//go:noinline
func (b *Batch) Set(key, value []byte) { must(changesOf(b).Set(key, value, nil)) }

// SetIn is Set for a value that fill writes into the batch itself, so that it is copied once. fill gets
// size bytes, and must fill them all and not keep them.
func (b *Batch) SetIn(key []byte, size int, fill func(value []byte)) {
	op := changesOf(b).SetDeferred(len(key), size)
	copy(op.Key, key)
	fill(op.Value)
	must(op.Finish())
}

// Delete removes key, which need not exist.
//
//go:noinline
func (b *Batch) Delete(key []byte) { must(changesOf(b).Delete(key, nil)) }

// DeleteRange removes every key with lo <= key < hi.
//
//go:noinline
func (b *Batch) DeleteRange(lo, hi []byte) { must(changesOf(b).DeleteRange(lo, hi, nil)) }

// Empty reports whether the batch changes nothing.
//
//go:noinline
func (b *Batch) Empty() bool { return changesOf(b).Empty() }

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

	err := pebbleOf(b.db).ApplyNoSyncWait(changesOf(b), pebble.Sync)
	if err != nil {
		b.db.unsynced.Add(-1)
	}

	return err
}

// Sync waits until the applied batch is on disk, and releases it. A disk that fails ends the process: others
// may have read the batch.
func (b *Batch) Sync() error {
	if err := changesOf(b).SyncWait(); err != nil {
		b.db.fail(err.Error())
	}
	b.db.unsynced.Add(-1)

	return changesOf(b).Close()
}

// CommitLater makes the batch visible without waiting for the disk, and releases it. The
// batch becomes durable with the next Commit or Sync; Barrier does not wait for it.
func (b *Batch) CommitLater() error {
	if err := b.db.hasRoomForBatch(); err != nil {
		b.Discard()
		return err
	}

	return errors.Join(pebbleOf(b.db).Apply(changesOf(b), pebble.NoSync), changesOf(b).Close())
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
//
//go:noinline
func (b *Batch) Discard() { must(changesOf(b).Close()) }

// must panics where Pebble documents that only misuse of a batch (after Close or Commit)
// fails.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("store: batch misused: %v", err))
	}
}
