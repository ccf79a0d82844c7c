package stepfunctions

import (
	"encoding/binary"
	"fmt"
	"sync"

	"ratchet/embedded/internal/store"
)

// sequence assigns growing numbers that are never reused. It reserves them on disk in
// blocks, so that most numbers cost no write. A restart skips the rest of a block.
type sequence struct {
	db             *store.DB
	mu             sync.Mutex
	last, reserved uint64
}

const sequenceBlock = 1 << 16

func openSequence(db *store.DB) (*sequence, error) {
	s := &sequence{db: db}

	v, ok, err := db.Get(key(keySequence))
	if err != nil {
		return nil, fmt.Errorf("read the number sequence: %w", err)
	}

	if ok {
		s.last = binary.BigEndian.Uint64(v)
	}

	s.reserved = s.last

	return s, nil
}

func (s *sequence) next() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.last == s.reserved {
		b := s.db.NewBatch()
		// On disk before the first number of the block is used: a crash skips numbers and repeats none.
		b.Set(key(keySequence), binary.BigEndian.AppendUint64(nil, s.reserved+sequenceBlock))

		if err := b.Commit(); err != nil {
			return 0, fmt.Errorf("reserve numbers: %w", err)
		}

		s.reserved += sequenceBlock
	}

	s.last++

	return s.last, nil
}
