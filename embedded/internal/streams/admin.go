package streams

import (
	"fmt"
	"time"

	"ratchet/embedded/internal/wire"
)

// Roll closes every open shard of a stream and continues each in one child. It fails when
// the stream does not exist or is disabled.
func (s *Service) Roll(arn string) error {
	st, err := s.enabled(arn)
	if err != nil {
		return fmt.Errorf("roll shards of %s: %w", arn, err)
	}

	if err := st.roll(s.cfg.Clock.Now(), func(*shard) bool { return true }); err != nil {
		return fmt.Errorf("roll shards of %s: %w", arn, err)
	}

	return nil
}

// Split closes an open shard and continues it in two children, each with half of its
// hashes. It fails when the shard does not exist or is closed, or its stream is disabled.
func (s *Service) Split(arn, shardID string) error {
	st, err := s.enabled(arn)
	if err != nil {
		return fmt.Errorf("split shard %s of %s: %w", shardID, arn, err)
	}

	if err := st.split(s.cfg.Clock.Now(), shardID); err != nil {
		return fmt.Errorf("split shard %s of %s: %w", shardID, arn, err)
	}

	return nil
}

// Stall makes a shard show no records to readers, as if it were idle, or ends the stall. Writers do not
// notice. It fails when the shard does not exist. A restart ends every stall.
func (s *Service) Stall(arn, shardID string, stalled bool) error {
	st, err := s.streamOf(&arn)
	if err != nil {
		return fmt.Errorf("stall shard %s of %s: %w", shardID, arn, err)
	}

	st.mu.RLock()
	defer st.mu.RUnlock()

	sh := st.shardByID(shardID)
	if sh == nil {
		return fmt.Errorf("stall shard %s of %s: %w", shardID, arn, shardMissing(shardID))
	}

	sh.stalled.Store(stalled)

	// The end of a stall can make records readable, so watchers must look again.
	st.wake()

	return nil
}

// TrimPoint says which records to trim. At most one field is set. The zero value means
// now: all records are trimmed, and all closed shards with them.
type TrimPoint struct {
	// SequenceNumber trims the records before the one with this number.
	SequenceNumber string
	// Time trims the records that were written before it.
	Time time.Time
}

// Trim removes the records before a point, and the shards that were closed before it, as
// retention does. It fails when the stream does not exist or the point is invalid.
func (s *Service) Trim(arn string, to TrimPoint) error {
	st, err := s.streamOf(&arn)
	if err != nil {
		return fmt.Errorf("trim %s: %w", arn, err)
	}

	var cutoff sequence
	switch {
	case to.SequenceNumber != "" && !to.Time.IsZero():
		return wire.Invalid("trim %s: either SequenceNumber or Time, not both", arn)
	case to.SequenceNumber != "":
		if cutoff, err = parseSequence(to.SequenceNumber); err != nil {
			return wire.Invalid("trim %s before %s: %v", arn, to.SequenceNumber, err)
		}
	case !to.Time.IsZero():
		cutoff = sequenceAt(to.Time)
	default:
		// The cutoff is a new number and not the time: the number is above every record and
		// every closing so far.
		cutoff = st.clock.next(s.cfg.Clock.Now())
	}

	if err := s.trim(st, cutoff); err != nil {
		return fmt.Errorf("trim %s: %w", arn, err)
	}

	return nil
}

// enabled returns a stream that accepts records.
func (s *Service) enabled(arn string) (*Stream, error) {
	st, err := s.streamOf(&arn)
	if err != nil {
		return nil, err
	}
	st.mu.RLock()
	defer st.mu.RUnlock()

	if !st.record.Disabled.IsZero() {
		return nil, wire.Invalid("stream %s is disabled", arn)
	}

	return st, nil
}
