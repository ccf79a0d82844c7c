//go:build conformance

package conformance

import (
	"fmt"
	"testing"
)

// streamOf returns the ARN of the table's stream on each side.
func streamOf(t *testing.T, table string) (engine, vendor string) {
	t.Helper()
	arn := func(s *side) string {
		d := ask(t, s, "DescribeTable", fmt.Sprintf(`{"TableName":%q}`, table))
		arn, _ := d.body["Table"].(map[string]any)["LatestStreamArn"].(string)
		return arn
	}

	return arn(engineSide), arn(vendorSide)
}

// compareOwn sends each side a request with its own names in it.
func compareOwn(t *testing.T, operation, engineBody, vendorBody string) (engine, vendor answer) {
	t.Helper()

	engine, vendor = ask(t, engineSide, operation, engineBody), ask(t, vendorSide, operation, vendorBody)
	if got, want := engine.line(operation), vendor.line(operation); !agree(want, got) {
		t.Errorf("%s %s\n vendor %s\n engine %s", operation, clip(engineBody), clip(want), clip(got))
	}

	return engine, vendor
}

// records reads the whole stream of one side, its records in the order in which they
// were written: the tables here have one partition key, so one shard has them.
func records(t *testing.T, s *side, arn string) []any {
	t.Helper()

	d := ask(t, s, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, arn))
	shards, _ := d.body["StreamDescription"].(map[string]any)["Shards"].([]any)
	var all []any
	for _, shard := range shards {
		id := shard.(map[string]any)["ShardId"].(string)

		i := ask(t, s, "GetShardIterator", fmt.Sprintf(`{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":"TRIM_HORIZON"}`, arn, id))
		iterator, _ := i.body["ShardIterator"].(string)
		for empty := 0; iterator != "" && empty < 2; {
			r := ask(t, s, "GetRecords", fmt.Sprintf(`{"ShardIterator":%q}`, iterator))
			list, _ := r.body["Records"].([]any)
			all = append(all, list...)
			iterator, _ = r.body["NextShardIterator"].(string)

			if len(list) == 0 {
				empty++
			}
		}
	}

	return all
}

func TestStreamRecords(t *testing.T) {
	for _, view := range []string{"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"} {
		t.Run(view, func(t *testing.T) {
			quietly(t, "CreateTable", createTable("streamed", "h:S,r:N", `,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"`+view+`"}`))
			t.Cleanup(func() { quietly(t, "DeleteTable", `{"TableName":"streamed"}`) })

			key := `"Key":{"h":{"S":"p"},"r":{"N":"1"}}`
			for _, r := range []row{
				{"", "PutItem", `{"TableName":"streamed","Item":{"h":{"S":"p"},"r":{"N":"1"},"v":{"S":"a"}}}`},
				{"", "PutItem", `{"TableName":"streamed","Item":{"h":{"S":"p"},"r":{"N":"1"},"v":{"S":"a"}}}`}, // changes nothing
				{"", "PutItem", `{"TableName":"streamed","Item":{"h":{"S":"p"},"r":{"N":"1"},"v":{"S":"b"}}}`},
				{"", "UpdateItem", `{"TableName":"streamed",` + key + `,"UpdateExpression":"SET v = :v, n = :n","ExpressionAttributeValues":{":v":{"S":"c"},":n":{"N":"1.5"}}}`},
				{"", "UpdateItem", `{"TableName":"streamed",` + key + `,"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{":v":{"S":"c"}}}`}, // changes nothing
				{"", "UpdateItem", `{"TableName":"streamed",` + key + `,"UpdateExpression":"REMOVE n"}`},
				{"", "DeleteItem", `{"TableName":"streamed",` + key + `}`},
				{"", "DeleteItem", `{"TableName":"streamed",` + key + `}`}, // nothing there
				{"", "BatchWriteItem", `{"RequestItems":{"streamed":[{"PutRequest":{"Item":{"h":{"S":"p"},"r":{"N":"2"}}}}]}}`},
				{"", "TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"streamed","Key":{"h":{"S":"p"},"r":{"N":"2"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}}}]}`},
			} {
				both(t, r.operation, r.body)
			}

			engineArn, vendorArn := streamOf(t, "streamed")
			got, want := records(t, engineSide, engineArn), records(t, vendorSide, vendorArn)
			for n := range max(len(got), len(want)) {
				line := func(list []any) string {
					if n >= len(list) {
						return "nothing"
					}
					return text(normal("", list[n]))
				}
				if e, v := line(got), line(want); !agree(v, e) {
					t.Errorf("record %d\n vendor %s\n engine %s", n, v, e)
				}
			}
		})
	}
}

func TestStreamRequests(t *testing.T) {
	quietly(t, "CreateTable", createTable("streamed", "id:S", `,"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}`))
	t.Cleanup(func() { quietly(t, "DeleteTable", `{"TableName":"streamed"}`) })
	quietly(t, "PutItem", `{"TableName":"streamed","Item":{"id":{"S":"a"}}}`)
	quietly(t, "PutItem", `{"TableName":"streamed","Item":{"id":{"S":"a"},"v":{"N":"1"}}}`)
	e, v := streamOf(t, "streamed")
	own := func(operation, format string, engine, vendor []any) (answer, answer) {
		t.Helper()
		return compareOwn(t, operation, fmt.Sprintf(format, engine...), fmt.Sprintf(format, vendor...))
	}
	list := func(of ...any) []any { return of }
	own("ListStreams", `{"TableName":"streamed"}`, nil, nil)
	both(t, "ListStreams", `{"TableName":"absent"}`)
	both(t, "ListStreams", `{"TableName":"streamed","Limit":0}`)
	both(t, "ListStreams", `{"TableName":"streamed","Limit":101}`)
	both(t, "DescribeStream", `{}`)
	both(t, "DescribeStream", `{"StreamArn":"x"}`)
	both(t, "DescribeStream", `{"StreamArn":"arn:aws:dynamodb:ddblocal:000000000000:table/absent/stream/2026-01-01T00:00:00.000"}`)
	own("DescribeStream", `{"StreamArn":%q,"Limit":0}`, list(e), list(v))
	de, dv := ask(t, engineSide, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, e)), ask(t, vendorSide, "DescribeStream", fmt.Sprintf(`{"StreamArn":%q}`, v))
	// How many shards there are is each side's own affair; the rest is compared.
	shard := func(a answer) (id string, rest string) {
		d := a.body["StreamDescription"].(map[string]any)
		for _, s := range d["Shards"].([]any) {
			id = s.(map[string]any)["ShardId"].(string)
		}
		delete(d, "Shards")

		return id, text(normal("", d))
	}

	se, restE := shard(de)
	sv, restV := shard(dv)
	if restE != restV {
		t.Errorf("DescribeStream\n vendor %s\n engine %s", restV, restE)
	}

	for _, kind := range []string{"TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "X"} {
		own("GetShardIterator", `{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":"`+kind+`"}`, list(e, se), list(v, sv))
	}
	own("GetShardIterator", `{"StreamArn":%q,"ShardId":"shardId-00000000000000000000-00000000","ShardIteratorType":"LATEST"}`, list(e), list(v))
	own("GetShardIterator", `{"StreamArn":%q,"ShardId":%q}`, list(e, se), list(v, sv))
	own("GetShardIterator", `{"StreamArn":%q,"ShardIteratorType":"LATEST"}`, list(e), list(v))
	own("GetShardIterator", `{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":"AT_SEQUENCE_NUMBER","SequenceNumber":"x"}`, list(e, se), list(v, sv))
	both(t, "GetRecords", `{}`)
	both(t, "GetRecords", `{"ShardIterator":"x"}`)
	i := func(s *side, arn, id string) any {
		return ask(t, s, "GetShardIterator", fmt.Sprintf(`{"StreamArn":%q,"ShardId":%q,"ShardIteratorType":"LATEST"}`, arn, id)).body["ShardIterator"]
	}
	own("GetRecords", `{"ShardIterator":%q}`, list(i(engineSide, e, se)), list(i(vendorSide, v, sv)))
	own("GetRecords", `{"ShardIterator":%q,"Limit":0}`, list(i(engineSide, e, se)), list(i(vendorSide, v, sv)))
	own("GetRecords", `{"ShardIterator":%q,"Limit":1001}`, list(i(engineSide, e, se)), list(i(vendorSide, v, sv)))
}
