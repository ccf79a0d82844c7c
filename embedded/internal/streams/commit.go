package streams

import (
	"encoding/binary"
	"slices"
	"time"

	"ratchet/embedded/internal/store"
)

// Event is what happened to an item.
type Event byte

// The three events of a stream.
const (
	Insert Event = 'I'
	Modify Event = 'M'
	Remove Event = 'R'
)

// Change is one change of one item, on its way into a stream.
type Change struct {
	Stream *Stream
	// Hash is the hash of the item's partition key: it picks the shard, so that
	// all changes of an item, and of its partition, stay in one line of shards.
	Hash  uint64
	Event Event
	// Expired marks a removal by the engine because the item's time to live ended.
	Expired bool
	// Keys, New and Old are encoded items (attr.AppendBinary); New or Old is nil
	// where there is none.
	Keys, New, Old []byte
	// Size is the record's size in bytes as DynamoDB counts it.
	Size int
}

// Commit applies the batch together with the records of its changes and
// returns once both are on disk. Changes into a stream that has been disabled
// meanwhile leave no record. The batch is used up even when Commit fails.
func Commit(b *store.Batch, now time.Time, changes ...Change) error {
	switch len(changes) {
	case 0:
		return b.Commit()
	case 1:
		return commitOne(b, now, &changes[0])
	}

	return commitAll(b, now, changes)
}

func commitOne(b *store.Batch, now time.Time, c *Change) error {
	var sh *shard
	for {
		if sh = c.Stream.route(c.Hash); sh == nil {
			return b.Commit()
		}
		sh.mu.Lock()
		if !sh.shut {
			break
		}
		sh.mu.Unlock() // closed while we waited: the route leads to its child now
	}
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
	sh.settled(c.Stream, seq)

	return nil
}

func commitAll(b *store.Batch, now time.Time, changes []Change) error {
	routes, locked := lockShards(changes)
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
			sh.settled(changes[i].Stream, last[i])
		}
	}

	return nil
}

// lockShards finds each change's open shard and locks all of them, in one order
// for every caller so that two of them never wait for each other. A change whose
// stream is disabled has no shard.
func lockShards(changes []Change) (routes, locked []*shard) {
	routes = make([]*shard, len(changes))
	for {
		locked = locked[:0]
		for i, c := range changes {
			routes[i] = c.Stream.route(c.Hash)
			if sh := routes[i]; sh != nil && !slices.Contains(locked, sh) {
				locked = append(locked, sh)
			}
		}
		slices.SortFunc(locked, func(a, b *shard) int { return slices.Compare(a.prefix, b.prefix) })

		shut := false
		for _, sh := range locked {
			sh.mu.Lock()
			shut = shut || sh.shut
		}

		if !shut {
			return routes, locked
		}

		for _, sh := range locked {
			sh.mu.Unlock()
		}
	}
}

// append allots the change's sequence and stages its record. Under the shard's mu.
func (s *shard) append(b *store.Batch, now time.Time, c *Change) sequence {
	seq := c.Stream.clock.next(now)
	s.last = seq
	b.Set(s.key(seq), c.encode(c.Stream.record.View))
	return seq
}

const flagExpired = 1

// encode lays a change out as event, flags, size, then keys and images, each
// with its length before it.
func (c *Change) encode(view View) []byte {
	newImage, oldImage := c.New, c.Old
	if view == KeysOnly || view == OldImage {
		newImage = nil
	}

	if view == KeysOnly || view == NewImage {
		oldImage = nil
	}

	var flags byte
	if c.Expired {
		flags |= flagExpired
	}

	dst := make([]byte, 0, 16+len(c.Keys)+len(newImage)+len(oldImage))
	dst = append(dst, byte(c.Event), flags)
	dst = binary.AppendUvarint(dst, uint64(c.Size))
	for _, part := range [][]byte{c.Keys, newImage, oldImage} {
		dst = binary.AppendUvarint(dst, uint64(len(part)))
		dst = append(dst, part...)
	}

	return dst
}
