package streams

import (
	"time"

	"ratchet/embedded/internal/wire"
)

// roll closes the open shards that are due and opens one child for each.
func (s *Stream) roll(now time.Time, due func(*shard) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	var parents []*shard
	for _, sh := range s.openShards() {
		if due(sh) {
			parents = append(parents, sh)
		}
	}

	if len(parents) == 0 {
		return nil
	}

	b := s.db.NewBatch()

	return s.replaceShards(b, now, parents, func() (children []*shard, err error) {
		for _, sh := range parents {
			child, err := s.stageNewShard(b, now, sh.record.ID, sh.record.Lo, sh.record.Hi)
			if err != nil {
				return nil, err
			}

			children = append(children, child)
		}

		return children, nil
	}, nil)
}

// split closes an open shard and opens two children, each with half of its hashes.
func (s *Stream) split(now time.Time, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	sh := s.shardByID(id)
	switch {
	case sh == nil:
		return shardMissing(id)
	case sh.record.End != 0:
		return wire.Invalid("shard %s is closed", id)
	case sh.record.Lo == sh.record.Hi:
		return wire.Invalid("shard %s cannot be split any further", id)
	}

	// Lo+Hi could overflow.
	middle := sh.record.Lo + (sh.record.Hi-sh.record.Lo)/2
	b := s.db.NewBatch()

	return s.replaceShards(b, now, []*shard{sh}, func() ([]*shard, error) {
		low, err := s.stageNewShard(b, now, id, sh.record.Lo, middle)
		if err != nil {
			return nil, err
		}

		high, err := s.stageNewShard(b, now, id, middle+1, sh.record.Hi)

		return []*shard{low, high}, err
	}, nil)
}
