package dynamodb

import (
	"context"
	"maps"
	"slices"
	"time"

	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/wire"
)

type tableIn struct{ TableName *string }

// requireTable refuses a request without a table, in the words of the operations on tables.
func requireTable(name *string) error {
	if name == nil {
		return invalid("The parameter 'TableName' is required but was not present in the request")
	}

	return nil
}

// existingTable is lookup with the message of the operations on tables.
func (s *Service) existingTable(name *string) (*table, error) {
	if err := requireTable(name); err != nil {
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

// seconds returns a time as the wire has it: seconds since 1970.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// describe returns the TableDescription.
func (s *Service) describe(t *table, state *tableState) map[string]any {
	r := &state.record

	// The counts can be below 0: a crash loses counted insertions, and deletions follow.
	d := map[string]any{
		"TableName":                 r.Name,
		"TableArn":                  s.arnPrefix() + r.Name,
		"TableId":                   r.ID,
		"TableStatus":               "ACTIVE",
		"CreationDateTime":          seconds(r.Created),
		"KeySchema":                 elements(&r.Keys),
		"AttributeDefinitions":      r.definitions().wire(),
		"ItemCount":                 max(0, t.count.Load()),
		"TableSizeBytes":            max(0, t.bytes.Load()),
		"DeletionProtectionEnabled": r.DeletionProtection,
		"ProvisionedThroughput": map[string]any{
			"ReadCapacityUnits": r.ReadUnits, "WriteCapacityUnits": r.WriteUnits, "NumberOfDecreasesToday": 0,
		},
	}
	if r.Billing == "PAY_PER_REQUEST" {
		d["BillingModeSummary"] = map[string]any{
			"BillingMode": r.Billing, "LastUpdateToPayPerRequestDateTime": seconds(r.BillingSince),
		}
	}

	if r.Class != "" {
		d["TableClassSummary"] = map[string]any{"TableClass": r.Class}
	}

	if r.KeyARN != "" {
		d["SSEDescription"] = map[string]any{"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": r.KeyARN}
	}
	r.Describe(d, r.owner())

	// A disabled stream keeps its ARN here, but has no specification.
	if r.StreamARN != "" {
		// The label is the end of the ARN.
		d["LatestStreamArn"] = r.StreamARN
		d["LatestStreamLabel"] = r.StreamARN[len(r.StreamARN)-len("2006-01-02T15:04:05.000"):]
	}

	if state.stream != nil {
		d["StreamSpecification"] = map[string]any{"StreamEnabled": true, "StreamViewType": state.stream.View()}
	}

	s.describeIndexes(d, t, r)

	return d
}

func elements(k *keyspace.Schema) []keyElement {
	list := make([]keyElement, k.Count())
	for i := range list {
		list[i] = keyElement{k.At(i).Name, "HASH"}
		if i >= k.Hashes() {
			list[i].KeyType = "RANGE"
		}
	}

	return list
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
