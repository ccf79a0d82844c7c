package streams

import (
	"slices"
	"time"

	"ratchet/embedded/internal/store"
)

// reshape closes the shards of parents, puts the children that bear stages in b in
// their place and commits b with both; then calls done. Writers to the parents
// wait meanwhile and go on in the children. bear, which may be nil, runs when no
// writer can reach the parents any more, so that children start above all their
// parents' records. Under the stream's mu. b is used up in any case.
func (s *Stream) reshape(b *store.Batch, now time.Time, parents []*shard, bear func() ([]*shard, error), done func()) error {
	parents = slices.Clone(parents)
	slices.SortFunc(parents, func(a, b *shard) int { return slices.Compare(a.prefix, b.prefix) })

	for _, p := range parents {
		p.mu.Lock()
		defer p.mu.Unlock()
	}

	closed, children, err := s.stageShape(b, s.clock.next(now), parents, bear)
	if err != nil {
		b.Discard()
		return err
	}
	// This commit follows every record of the parents in the log: once it is on
	// disk, so are they.
	if err := b.Commit(); err != nil {
		return err
	}

	for i, p := range parents {
		p.record.End, p.record.Closed, p.shut = closed[i].End, closed[i].Closed, true
		p.settle(p.last)
	}
	s.all = append(s.all, children...)

	if done != nil {
		done()
	}
	s.publish()

	return nil
}

// stageShape stages the parents as closed at a moment, and their children.
func (s *Stream) stageShape(b *store.Batch, moment sequence, parents []*shard, bear func() ([]*shard, error)) (closed []shardRecord, children []*shard, err error) {
	closed = make([]shardRecord, len(parents))
	for i, p := range parents {
		closed[i] = p.record
		closed[i].Closed = moment
		// The last record's number; an empty shard ends where it started.
		closed[i].End = max(p.last, p.record.Start)
		if err := s.stageShard(b, closed[i]); err != nil {
			return nil, nil, err
		}
	}

	if bear == nil {
		return closed, nil, nil
	}

	if children, err = bear(); err != nil {
		return nil, nil, err
	}

	return closed, children, s.stageSelf(b) // it counts its shards
}
