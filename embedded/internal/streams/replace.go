package streams

import (
	"slices"
	"time"

	"ratchet/embedded/internal/store"
)

// replaceShards closes the parents, puts the children that stageChildren stages in b in
// their place, commits b with both, and then calls done. Writers to the parents wait and
// continue in the children. stageChildren and done may be nil. The caller holds s.mu. b is
// released even on failure.
func (s *Stream) replaceShards(b *store.Batch, now time.Time, parents []*shard, stageChildren func() ([]*shard, error), done func()) error {
	// Lock in the order that lockShards uses.
	parents = slices.Clone(parents)
	slices.SortFunc(parents, func(a, b *shard) int { return slices.Compare(a.prefix, b.prefix) })

	for _, p := range parents {
		p.mu.Lock()
		defer p.mu.Unlock()
	}

	// No writer reaches the parents from here on, so that the children start above all of
	// the parents' records.
	closed, children, err := s.stageReplacement(b, s.clock.next(now), parents, stageChildren)
	if err != nil {
		b.Discard()
		return err
	}

	// This commit comes after every record of the parents in the log: once it is on disk, the
	// records are on disk, too.
	if err := b.Commit(); err != nil {
		return err
	}

	for i, p := range parents {
		p.record.End, p.record.Closed, p.closed = closed[i].End, closed[i].Closed, true
		p.markDurable(p.last)
	}
	s.all = append(s.all, children...)

	if done != nil {
		done()
	}

	// The parents are still locked: writers that waited for them find closed set and the new
	// routes.
	s.updateRoutes()

	return nil
}

// stageReplacement stages the parents as closed at a moment, and their children.
func (s *Stream) stageReplacement(
	b *store.Batch, moment sequence, parents []*shard, stageChildren func() ([]*shard, error),
) (closed []shardRecord, children []*shard, err error) {
	closed = make([]shardRecord, len(parents))
	for i, p := range parents {
		closed[i] = p.record
		closed[i].Closed = moment
		// The number of the last record; an empty shard ends where it started.
		closed[i].End = max(p.last, p.record.Start)
		if err := s.stageShard(b, closed[i]); err != nil {
			return nil, nil, err
		}
	}

	if stageChildren == nil {
		return closed, nil, nil
	}

	if children, err = stageChildren(); err != nil {
		return nil, nil, err
	}

	return closed, children, s.stageRecord(b) // the stream counts its shards
}
