package dynamodb

import (
	"context"
	"maps"
	"slices"

	"ratchet/embedded/internal/dynamodb/tables"
	"ratchet/embedded/internal/wire"
)

type tableIn struct{ TableName *string }

// existingTable is lookup with the message of the operations on tables.
func (s *Service) existingTable(name *string) (*table, error) {
	if err := tables.RequireTable(name); err != nil {
		return nil, err
	}

	n, err := s.tableName(name)
	if err != nil {
		return nil, err
	}

	if t := s.tables.get(n); t != nil {
		return t, nil
	}

	return nil, wire.Errorf("ResourceNotFoundException", "Requested resource not found: Table: %s not found", n)
}

func (s *Service) describeTable(_ context.Context, in *tableIn) (any, error) {
	t, err := s.existingTable(in.TableName)
	if err != nil {
		return nil, err
	}

	return map[string]any{"Table": s.describe(t, t.state.Load())}, nil
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

	names := slices.Sorted(maps.Keys(*s.tables.tables.Load()))
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
func (s *Service) describe(t *table, state *tableState) map[string]any {
	// The counts can be below 0: a crash loses counted insertions, and deletions follow.
	counted := tables.Size{Items: max(0, t.count.Load()), Bytes: max(0, t.bytes.Load())}

	d := state.record.Describe(s.arnPrefix(), counted, t.indexCounts)
	if state.stream != nil {
		d["StreamSpecification"] = map[string]any{"StreamEnabled": true, "StreamViewType": state.stream.View()}
	}

	return d
}
