package streams

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"ratchet/embedded/internal/store"
)

// load reads the streams and their shards from the store.
func (s *Service) load() error {
	byNo := map[uint64]*Stream{}

	prefix := key(kindStream)

	err := s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		st := &Stream{db: s.db}
		if err := json.Unmarshal(v, &st.record); err != nil {
			return false, fmt.Errorf("read the stream under %x: %w", k, err)
		}

		byNo[st.record.No], s.byARN[st.record.ARN] = st, st
		s.numbers = max(s.numbers, st.record.No)

		return true, nil
	})
	if err != nil {
		return err
	}

	// Keys end in the number of the shard, so the shards of a stream arrive in the order of st.all.
	prefix = key(kindShard)

	err = s.db.Scan(prefix, store.PrefixEnd(prefix), false, func(k, v []byte) (bool, error) {
		var r shardRecord
		if err := json.Unmarshal(v, &r); err != nil {
			return false, fmt.Errorf("read the shard under %x: %w", k, err)
		}

		if st := byNo[binary.BigEndian.Uint64(k[2:])]; st != nil {
			st.all = append(st.all, newShard(st.record.No, r))
		}

		return true, nil
	})
	if err != nil {
		return err
	}

	for _, st := range byNo {
		if err := st.recover(); err != nil {
			return fmt.Errorf("recover stream %s: %w", st.record.ARN, err)
		}
	}

	return nil
}

// recover finds the last sequence of each shard, so that the stream's clock continues
// above all of them.
func (s *Stream) recover() error {
	for _, sh := range s.all {
		s.clock.raise(max(sh.record.Start, sh.record.End, sh.record.Horizon))

		// A reverse scan begins with the last record, and one key is enough.
		err := s.db.Scan(sh.prefix, store.PrefixEnd(sh.prefix), true, func(k, _ []byte) (bool, error) {
			sh.last = sequence(binary.BigEndian.Uint64(k[len(sh.prefix):]))
			return false, nil
		})
		if err != nil {
			return err
		}

		// The shard's last record may have been trimmed; its number is used all the same.
		if h := sh.record.Horizon; h > 0 {
			sh.last = max(sh.last, h-1)
		}

		s.clock.raise(sh.last)

		// What a restart finds is on disk. A closed shard without records has its Start as End.
		sh.durable.Store(uint64(max(sh.last, sh.record.End)))
	}

	s.updateRoutes()

	return nil
}
