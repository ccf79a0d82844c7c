package streams

import (
	"context"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/wire"
)

type shardFilter struct {
	Type    string
	ShardId *string //nolint:revive // the wire's name
}

type describeStreamIn struct {
	StreamArn             *string
	Limit                 *int64
	ExclusiveStartShardId *string //nolint:revive // the wire's name
	ShardFilter           *shardFilter
}

type sequenceRange struct {
	StartingSequenceNumber string
	EndingSequenceNumber   string `json:",omitempty"`
}

type shardOut struct {
	ShardId             string //nolint:revive // the wire's name
	ParentShardId       string `json:",omitempty"` //nolint:revive // the wire's name
	SequenceNumberRange sequenceRange
}

type keyElement struct{ AttributeName, KeyType string }

type streamDescription struct {
	StreamArn               string
	StreamLabel             string
	StreamStatus            string
	StreamViewType          View
	TableName               string
	CreationRequestDateTime float64
	KeySchema               []keyElement
	Shards                  []shardOut
	LastEvaluatedShardId    string `json:",omitempty"` //nolint:revive // the wire's name
}

// describeStream lists shards in the order of their ids, which is the order of their
// creation to the millisecond. A page may continue after a shard that has been trimmed
// since.
func (s *Service) describeStream(_ context.Context, in *describeStreamIn) (any, error) {
	limit, err := pageSize(in.Limit)
	if err != nil {
		return nil, err
	}

	if err := in.ShardFilter.check(); err != nil {
		return nil, err
	}

	st, err := s.streamOf(in.StreamArn)
	if err != nil {
		return nil, err
	}

	st.mu.RLock()
	defer st.mu.RUnlock()

	d := st.describe()
	for _, sh := range st.all {
		r := &sh.record
		if in.ShardFilter != nil && r.Parent != *in.ShardFilter.ShardId ||
			in.ExclusiveStartShardId != nil && r.ID <= *in.ExclusiveStartShardId {
			continue
		}

		d.Shards = append(d.Shards, r.describe())
	}

	// st.all is in the order of numbers. Pages continue by id, and shards of one millisecond may
	// have ids in another order than their numbers.
	slices.SortFunc(d.Shards, func(a, b shardOut) int { return strings.Compare(a.ShardId, b.ShardId) })

	if len(d.Shards) > limit {
		d.Shards = d.Shards[:limit]
		d.LastEvaluatedShardId = d.Shards[limit-1].ShardId
	}

	return map[string]any{"StreamDescription": d}, nil
}

func (f *shardFilter) check() error {
	if f == nil {
		return nil
	}

	if err := wire.OneOf(f.Type, "shardFilter.type", "CHILD_SHARDS"); err != nil {
		return err
	}

	if f.Type == "" || f.ShardId == nil {
		return wire.Invalid("ShardFilter needs both Type and ShardId")
	}

	return nil
}

// describe returns the description of the stream without shards. The caller holds s.mu.
func (s *Stream) describe() streamDescription {
	r := &s.record
	d := streamDescription{
		StreamArn:               r.ARN,
		StreamLabel:             r.Label,
		StreamStatus:            "ENABLED",
		StreamViewType:          r.View,
		TableName:               r.Table,
		CreationRequestDateTime: float64(r.Created.UnixMilli()) / 1000,
		KeySchema:               []keyElement{{AttributeName: r.HashKey, KeyType: "HASH"}},
		Shards:                  []shardOut{},
	}
	if r.RangeKey != "" {
		d.KeySchema = append(d.KeySchema, keyElement{AttributeName: r.RangeKey, KeyType: "RANGE"})
	}

	if !r.Disabled.IsZero() {
		d.StreamStatus = "DISABLED"
	}

	return d
}

func (r *shardRecord) describe() shardOut {
	out := shardOut{
		ShardId:             r.ID,
		ParentShardId:       r.Parent,
		SequenceNumberRange: sequenceRange{StartingSequenceNumber: r.Start.String()},
	}
	if r.End != 0 {
		out.SequenceNumberRange.EndingSequenceNumber = r.End.String()
	}

	return out
}

// created is when the shard was opened.
func (r *shardRecord) created() time.Time { return r.Start.time() }
