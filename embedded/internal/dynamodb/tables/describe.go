package tables

import (
	"time"

	"ratchet/embedded/internal/dynamodb/indexes"
	"ratchet/embedded/internal/dynamodb/keyspace"
)

// seconds returns a time as the wire has it: seconds since 1970.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// Size is the number of items of a table, or of entries of an index, and the sum of their bytes.
type Size struct{ Items, Bytes int64 }

// Describe returns the TableDescription, but for the stream's view. arns is the beginning of the ARNs of tables.
func (r *Record) Describe(arns string, table Size, of func(*indexes.Index) Size) map[string]any {
	d := map[string]any{
		"TableName":                 r.Name,
		"TableArn":                  arns + r.Name,
		"TableId":                   r.ID,
		"TableStatus":               "ACTIVE",
		"CreationDateTime":          seconds(r.Created),
		"KeySchema":                 elements(&r.Keys),
		"AttributeDefinitions":      r.definitions().wire(),
		"ItemCount":                 table.Items,
		"TableSizeBytes":            table.Bytes,
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
	r.Kept.Describe(d, r.owner())

	// A disabled stream keeps its ARN here, but has no specification.
	if r.StreamARN != "" {
		// The label is the end of the ARN.
		d["LatestStreamArn"] = r.StreamARN
		d["LatestStreamLabel"] = r.StreamARN[len(r.StreamARN)-len("2006-01-02T15:04:05.000"):]
	}

	r.describeIndexes(d, arns, of)

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

// describeIndexes adds the indexes to a table's description.
func (r *Record) describeIndexes(d map[string]any, arns string, of func(*indexes.Index) Size) {
	var global, local []map[string]any
	for i := range r.Indexes {
		x := &r.Indexes[i]

		shown := map[string]any{"ProjectionType": x.Projection}
		if x.Projection == indexes.Include {
			shown["NonKeyAttributes"] = x.NonKey
		}

		entries := of(x)
		index := map[string]any{
			"IndexName":      x.Name,
			"IndexArn":       arns + r.Name + "/index/" + x.Name,
			"KeySchema":      elements(&x.Keys),
			"Projection":     shown,
			"ItemCount":      entries.Items,
			"IndexSizeBytes": entries.Bytes,
		}

		// A local index has no status and no throughput of its own.
		if x.Local {
			local = append(local, index)
			continue
		}

		index["IndexStatus"] = "ACTIVE"
		if x.Building {
			index["IndexStatus"], index["Backfilling"] = "CREATING", true
		}
		index["ProvisionedThroughput"] = map[string]any{
			"ReadCapacityUnits": x.ReadUnits, "WriteCapacityUnits": x.WriteUnits, "NumberOfDecreasesToday": 0,
		}
		x.Describe(index, indexOwner(x, r.Billing))
		global = append(global, index)
	}

	if global != nil {
		d["GlobalSecondaryIndexes"] = global
	}

	if local != nil {
		d["LocalSecondaryIndexes"] = local
	}
}
