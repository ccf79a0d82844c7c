package streams

import (
	"slices"
	"time"

	"ratchet/embedded/internal/store"
)

// reshape closes the shards of parents, puts children in their place and
// commits b with both; then calls done. Writers to the parents wait meanwhile
// and go on in the children. Under the stream's mu; children were staged in b by
// birth.
func (s *Stream) reshape(b *store.Batch, now time.Time, parents, children []*shard, done func()) error {
	parents = slices.Clone(parents)
	slices.SortFunc(parents, func(a, b *shard) int { return slices.Compare(a.prefix, b.prefix) })
	for _, p := range parents {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	var moment sequence
	if len(children) > 0 {
		moment = children[0].record.Start
	} else {
		moment = s.clock.next(now)
	}
	closed := make([]shardRecord, len(parents))
	for i, p := range parents {
		r := p.record
		r.Closed = moment
		// The last record's number; an empty shard ends where it started.
		r.End = max(p.last, r.Start)
		closed[i] = r
		if err := s.stageShard(b, r); err != nil {
			b.Discard()
			return err
		}
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
