package dynamodb

import (
	"context"
	"maps"
	"slices"

	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/wire"
)

type tableIn struct{ TableName *string }

func (s *Service) describeTable(_ context.Context, in *tableIn) (any, error) {
	t, err := s.tables.Existing(in.TableName)
	if err != nil {
		return nil, err
	}

	return map[string]any{"Table": s.describe(t, t.State())}, nil
}

type listTablesIn struct {
	ExclusiveStartTableName *string
	Limit                   *int64
}

func (s *Service) listTables(_ context.Context, in *listTablesIn) (any, error) {
	if err := wire.Within(in.Limit, "limit", 1, 100); err != nil {
		return nil, err
	}

	limit := 100
	if in.Limit != nil {
		limit = int(*in.Limit)
	}

	names := slices.Sorted(maps.Keys(s.tables.All()))
	if in.ExclusiveStartTableName != nil {
		// The table may be gone since the last page: its place in the order is enough.
		at, found := slices.BinarySearch(names, *in.ExclusiveStartTableName)
		if found {
			at++
		}
		names = names[at:]
	}

	out := map[string]any{}
	if len(names) > limit {
		names = names[:limit]
		out["LastEvaluatedTableName"] = names[limit-1]
	}

	// An empty list and not null.
	out["TableNames"] = append([]string{}, names...)

	return out, nil
}

// describe returns the TableDescription.
func (s *Service) describe(t *catalog.Table, state *catalog.State) map[string]any {
	d := state.Record.Describe(s.tables.TableARNs(), t.Size(), t.IndexCounts)
	if state.Stream != nil {
		d["StreamSpecification"] = map[string]any{"StreamEnabled": true, "StreamViewType": state.Stream.View()}
	}

	return d
}
