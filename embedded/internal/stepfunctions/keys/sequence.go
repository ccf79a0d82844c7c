package keys

import (
	"encoding/binary"
	"fmt"
	"sync"

	"ratchet/embedded/internal/store"
)

// Sequence assigns growing numbers that are never reused. It reserves them on disk in
// blocks, so that most numbers cost no write. A restart skips the rest of a block.
type Sequence struct {
	db             *store.DB
	mu             sync.Mutex
	last, reserved uint64
}

const sequenceBlock = 1 << 16

// OpenSequence returns the sequence of a store.
func OpenSequence(db *store.DB) (*Sequence, error) {
	s := &Sequence{db: db}

	v, ok, err := db.Get(Of(sequenceRecord))
	if err != nil {
		return nil, fmt.Errorf("read the number sequence: %w", err)
	}

	if ok {
		s.last = binary.BigEndian.Uint64(v)
	}

	s.reserved = s.last

	return s, nil
}

// Next returns the next number.
func (s *Sequence) Next() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.last == s.reserved {
		b := s.db.NewBatch()
		// On disk before the first number of the block is used: a crash skips numbers and repeats none.
		b.Set(Of(sequenceRecord), binary.BigEndian.AppendUint64(nil, s.reserved+sequenceBlock))

		if err := b.Commit(); err != nil {
			return 0, fmt.Errorf("reserve numbers: %w", err)
		}

		s.reserved += sequenceBlock
	}

	s.last++

	return s.last, nil
}
