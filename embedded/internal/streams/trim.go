package streams

import (
	"encoding/binary"
	"slices"

	"ratchet/embedded/internal/store"
)

// trim removes the records below cutoff, and the shards that were closed before it.
func (s *Service) trim(st *Stream, cutoff sequence) error {
	st.mu.Lock()
	defer st.mu.Unlock()

	b := s.db.NewBatch()
	var gone []*shard
	horizons := map[*shard]sequence{}
	for _, sh := range st.all {
		// Closed is above all records of the shard, so no record at or above cutoff is removed
		// with the shard.
		if sh.record.End != 0 && sh.record.Closed <= cutoff {
			gone = append(gone, sh)
			b.Delete(shardKey(st.record.No, sh.record.No))
			b.DeleteRange(sh.prefix, store.PrefixEnd(sh.prefix))

			continue
		}

		last, err := st.lastBelow(sh, cutoff)
		if err != nil {
			b.Discard()
			return err
		}

		if last == 0 {
			continue
		}

		// The horizon follows the last record that is removed and not the cutoff: positions
		// in an idle shard stay valid.
		r := sh.record
		b.DeleteRange(sh.key(r.Horizon), sh.key(last+1))

		r.Horizon = last + 1
		horizons[sh] = r.Horizon
		if err := st.stageShard(b, r); err != nil {
			b.Discard()
			return err
		}
	}

	if b.Empty() {
		b.Discard()
		return nil
	}

	if err := b.Commit(); err != nil {
		return err
	}

	// The horizons move only after the commit: if it fails, the records are still there and
	// their positions stay valid.
	for sh, horizon := range horizons {
		sh.record.Horizon = horizon
	}

	st.all = slices.DeleteFunc(st.all, func(sh *shard) bool { return slices.Contains(gone, sh) })

	return nil
}

// lastBelow returns the highest sequence of the shard's records below cutoff, 0 when there
// is none.
func (s *Stream) lastBelow(sh *shard, cutoff sequence) (last sequence, err error) {
	// Records are above Start, and the records below Horizon are gone.
	if cutoff <= max(sh.record.Start, sh.record.Horizon) {
		return 0, nil
	}

	err = s.db.Scan(sh.key(sh.record.Horizon), sh.key(cutoff), true, func(k, _ []byte) (bool, error) {
		last = sequence(binary.BigEndian.Uint64(k[len(sh.prefix):]))
		return false, nil
	})

	return last, err
}
