package streams

import (
	"context"
	"fmt"
	"time"

	"ratchet/embedded/internal/wire"
)

// Roll closes every open shard of a stream and continues each in one child.
func (s *Service) Roll(arn string) error {
	st, err := s.enabled(arn)
	if err != nil {
		return fmt.Errorf("roll shards of %s: %w", arn, err)
	}

	if err := st.roll(time.Now(), func(*shard) bool { return true }); err != nil {
		return fmt.Errorf("roll shards of %s: %w", arn, err)
	}

	return nil
}

// Split closes an open shard and continues it in two children, each with half
// of its hashes.
func (s *Service) Split(arn, shardID string) error {
	st, err := s.enabled(arn)
	if err != nil {
		return fmt.Errorf("split shard %s of %s: %w", shardID, arn, err)
	}

	if err := st.split(time.Now(), shardID); err != nil {
		return fmt.Errorf("split shard %s of %s: %w", shardID, arn, err)
	}

	return nil
}

// TrimPoint is where a stream is cut off. Without a field set it is now: every
// record is trimmed, and every closed shard with them.
type TrimPoint struct {
	// SequenceNumber, if set: records before it are trimmed, not itself.
	SequenceNumber string
	// Time, if set: records written before it are trimmed.
	Time time.Time
}

// Trim removes the records before a point, as retention does. Shards that were
// closed before it disappear.
func (s *Service) Trim(arn string, to TrimPoint) error {
	st, err := s.named(&arn)
	if err != nil {
		return fmt.Errorf("trim %s: %w", arn, err)
	}

	var cut sequence
	switch {
	case to.SequenceNumber != "" && !to.Time.IsZero():
		return wire.Invalid("trim %s: either SequenceNumber or Time, not both", arn)
	case to.SequenceNumber != "":
		if cut, err = parseSequence(to.SequenceNumber); err != nil {
			return wire.Invalid("trim %s before %s: %v", arn, to.SequenceNumber, err)
		}
	case !to.Time.IsZero():
		cut = sequenceAt(to.Time)
	default:
		cut = st.clock.next(time.Now())
	}

	if err := s.trim(st, cut); err != nil {
		return fmt.Errorf("trim %s: %w", arn, err)
	}

	return nil
}

// enabled finds a stream that still takes records.
func (s *Service) enabled(arn string) (*Stream, error) {
	st, err := s.named(&arn)
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

type adminIn struct {
	StreamArn            *string
	ShardId              *string //nolint:revive // the wire's name
	BeforeSequenceNumber string
	BeforeTime           *float64 // seconds since 1970
}

func (s *Service) rollShards(_ context.Context, in *adminIn) (any, error) {
	if in.StreamArn == nil {
		return nil, wire.Missing("streamArn")
	}
	return struct{}{}, s.Roll(*in.StreamArn)
}

func (s *Service) splitShard(_ context.Context, in *adminIn) (any, error) {
	if in.StreamArn == nil {
		return nil, wire.Missing("streamArn")
	}

	if in.ShardId == nil {
		return nil, wire.Missing("shardId")
	}

	return struct{}{}, s.Split(*in.StreamArn, *in.ShardId)
}

func (s *Service) trimStream(_ context.Context, in *adminIn) (any, error) {
	if in.StreamArn == nil {
		return nil, wire.Missing("streamArn")
	}

	to := TrimPoint{SequenceNumber: in.BeforeSequenceNumber}
	if in.BeforeTime != nil {
		to.Time = time.UnixMilli(int64(*in.BeforeTime * 1000))
	}

	return struct{}{}, s.Trim(*in.StreamArn, to)
}
