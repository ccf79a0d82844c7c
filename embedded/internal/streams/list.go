package streams

import (
	"context"
	"slices"
	"strings"

	"ratchet/embedded/internal/wire"
)

// maxList is the largest number of shards or streams on one page.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_ListStreams.html
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

	// TableName is a name or an ARN, which ends with "/" and the name.
	table := ""
	if in.TableName != nil {
		table = (*in.TableName)[strings.LastIndexByte(*in.TableName, '/')+1:]
	}

	list := []map[string]string{}

	// Start ARNs are compared and not looked up: the stream may be gone since the last page.
	for _, st := range s.sorted() {
		if table != "" && st.record.Table != table ||
			in.ExclusiveStartStreamArn != nil && st.record.ARN <= *in.ExclusiveStartStreamArn {
			continue
		}

		list = append(list, map[string]string{
			"StreamArn":   st.record.ARN,
			"TableName":   st.record.Table,
			"StreamLabel": st.record.Label,
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

// sorted returns all streams in the order of their ARNs.
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

// pageSize returns the page size that a request asks for, or the largest.
func pageSize(limit *int64) (int, error) {
	if limit == nil {
		return maxList, nil
	}

	return int(*limit), wire.Within(limit, "limit", 1, maxList)
}
