package streams

import (
	"context"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/wire"
)

// maxList is the most shards or streams on one page.
const maxList = 100

type listStreamsIn struct {
	TableName               *string
	Limit                   *int64
	ExclusiveStartStreamArn *string
}

func (s *Service) listStreams(_ context.Context, in *listStreamsIn) (any, error) {
	limit, err := pageSize(in.Limit)
	if err != nil {
		return nil, err
	}

	table := ""
	if in.TableName != nil {
		table = (*in.TableName)[strings.LastIndexByte(*in.TableName, '/')+1:] // a name or an ARN
	}

	list := []map[string]string{}
	for _, st := range s.sorted() {
		if table != "" && st.record.Table != table || in.ExclusiveStartStreamArn != nil && st.record.ARN <= *in.ExclusiveStartStreamArn {
			continue
		}
		list = append(list, map[string]string{
			"StreamArn": st.record.ARN, "TableName": st.record.Table, "StreamLabel": st.record.Label,
		})
	}

	out := map[string]any{}
	if len(list) > limit {
		list = list[:limit]
		out["LastEvaluatedStreamArn"] = list[limit-1]["StreamArn"]
	}
	out["Streams"] = list

	return out, nil
}

// sorted is all streams in the order of their ARNs.
func (s *Service) sorted() []*Stream {
	s.mu.RLock()
	defer s.mu.RUnlock()

	all := make([]*Stream, 0, len(s.byARN))
	for _, st := range s.byARN {
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b *Stream) int { return strings.Compare(a.record.ARN, b.record.ARN) })

	return all
}

func pageSize(limit *int64) (int, error) {
	if limit == nil {
		return maxList, nil
	}
	return int(*limit), wire.Within(limit, "limit", 1, maxList)
}

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

// describeStream lists shards in the order of their IDs, which is that of their
// creation as far as milliseconds tell. A page goes on behind a shard even when
// that shard has been trimmed meanwhile.
func (s *Service) describeStream(_ context.Context, in *describeStreamIn) (any, error) {
	limit, err := pageSize(in.Limit)
	if err != nil {
		return nil, err
	}

	if err := in.ShardFilter.check(); err != nil {
		return nil, err
	}

	st, err := s.named(in.StreamArn)
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

// describe is the description without shards. Under mu.
func (s *Stream) describe() streamDescription {
	r := &s.record
	d := streamDescription{
		StreamArn: r.ARN, StreamLabel: r.Label, StreamStatus: "ENABLED", StreamViewType: r.View, TableName: r.Table,
		CreationRequestDateTime: float64(r.Created.UnixMilli()) / 1000,
		KeySchema:               []keyElement{{r.HashKey, "HASH"}},
		Shards:                  []shardOut{},
	}
	if r.RangeKey != "" {
		d.KeySchema = append(d.KeySchema, keyElement{r.RangeKey, "RANGE"})
	}

	if !r.Disabled.IsZero() {
		d.StreamStatus = "DISABLED"
	}

	return d
}

func (r *shardRecord) describe() shardOut {
	out := shardOut{ShardId: r.ID, ParentShardId: r.Parent, SequenceNumberRange: sequenceRange{StartingSequenceNumber: r.Start.String()}}
	if r.End != 0 {
		out.SequenceNumberRange.EndingSequenceNumber = r.End.String()
	}

	return out
}

// created is when the shard was opened.
func (r *shardRecord) created() time.Time { return r.Start.time() }
