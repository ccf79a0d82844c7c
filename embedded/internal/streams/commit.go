package streams

import (
	"slices"
	"time"

	"ratchet/embedded/internal/store"
)

// Commit applies the batch together with the records of its changes and returns once both
// are on disk. Changes of a table whose stream has been disabled leave no record. Commit
// releases the batch even when it fails.
func Commit(b *store.Batch, now time.Time, changes ...Change) error {
	switch len(changes) {
	case 0:
		return b.Commit()
	case 1:
		return commitOne(b, now, &changes[0])
	}

	return commitAll(b, now, changes)
}

// commitOne is commitAll for one change, the usual case, without its slices.
func commitOne(b *store.Batch, now time.Time, c *Change) error {
	var sh *shard
	for {
		if sh = c.Stream.route(c.Hash); sh == nil {
			return b.Commit()
		}

		sh.mu.Lock()
		if !sh.closed {
			break
		}

		// The shard was closed while we waited for its lock. Its child has the hash now.
		sh.mu.Unlock()
	}

	// The lock makes assigning the number and applying the batch one step. Waiting for the
	// disk needs no lock, so that writers of one shard share a flush.
	seq := sh.append(b, now, c)
	err := b.Apply()
	sh.mu.Unlock()

	if err != nil {
		b.Discard()
		return err
	}

	if err := b.Sync(); err != nil {
		return err
	}
	sh.acknowledge(c.Stream, seq)

	return nil
}

func commitAll(b *store.Batch, now time.Time, changes []Change) error {
	routes, locked := lockShards(changes)

	// As in commitOne, numbering and Apply are one step, here for all shards of the batch.
	last := make([]sequence, len(changes))
	for i := range changes {
		if sh := routes[i]; sh != nil {
			last[i] = sh.append(b, now, &changes[i])
		}
	}

	err := b.Apply()

	for _, sh := range locked {
		sh.mu.Unlock()
	}

	if err != nil {
		b.Discard()
		return err
	}

	if err := b.Sync(); err != nil {
		return err
	}

	for i := range changes {
		if sh := routes[i]; sh != nil {
			sh.acknowledge(changes[i].Stream, last[i])
		}
	}

	return nil
}

// lockShards returns the open shard of each change and locks all of them. routes[i] is
// nil when the stream of change i is disabled. Every caller locks in the same order, so
// that two of them never wait for each other.
func lockShards(changes []Change) (routes, locked []*shard) {
	routes = make([]*shard, len(changes))
	for {
		locked = locked[:0]
		for i, c := range changes {
			routes[i] = c.Stream.route(c.Hash)

			// Several changes may be in one shard, and a mutex can be locked only once.
			if sh := routes[i]; sh != nil && !slices.Contains(locked, sh) {
				locked = append(locked, sh)
			}
		}
		slices.SortFunc(locked, func(a, b *shard) int { return slices.Compare(a.prefix, b.prefix) })

		closed := false
		for _, sh := range locked {
			sh.mu.Lock()
			closed = closed || sh.closed
		}

		if !closed {
			return routes, locked
		}

		// One was closed while we waited: look up all routes again.
		for _, sh := range locked {
			sh.mu.Unlock()
		}
	}
}

// append assigns the change its sequence and stages its record. The caller holds s.mu.
func (s *shard) append(b *store.Batch, now time.Time, c *Change) sequence {
	seq := c.Stream.clock.next(now)
	s.last = seq

	// Read without the stream's mu: the view of a stream never changes.
	view := c.Stream.record.View
	b.SetIn(s.key(seq), c.encodedSize(view), func(value []byte) { c.encode(value[:0], view) })

	return seq
}
