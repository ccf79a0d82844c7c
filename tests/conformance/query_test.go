//go:build conformance

package conformance

import (
	"fmt"
	"testing"
)

func TestQuery(t *testing.T) {
	withTables(t, map[string]string{"texts": "h:S,r:S", "numbers": "h:N,r:N", "bytes": "h:B,r:B", "single": "id:S"})

	for n, text := range []string{"a", "aa", "ab", "b", "B", "é", "😀", "~", " ", "z"} {
		quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"texts","Item":{"h":{"S":"p"},"r":{"S":%q},"n":{"N":"%d"},"even":{"BOOL":%v}}}`, text, n, n%2 == 0))
	}

	for _, n := range []string{"0", "1", "-1", "10", "9", "-10", "-9", "1.5", "-1.5", "1e100", "-1e100", "1e-100", "-1e-100", "100", "99", "101", "0.1", "0.01"} {
		quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"numbers","Item":{"h":{"N":"1"},"r":{"N":%q}}}`, n))
	}

	for _, b := range []string{"AA==", "AAA=", "AAE=", "/w==", "//8=", "YQ==", "YQA=", "YWE="} {
		quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"bytes","Item":{"h":{"B":"AA=="},"r":{"B":%q}}}`, b))
	}
	quietly(t, "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"v":{"N":"1"}}}`)

	texts := `{"TableName":"texts","KeyConditionExpression":`
	p := `,"ExpressionAttributeValues":{":p":{"S":"p"}}`
	px := `,"ExpressionAttributeValues":{":p":{"S":"p"},":x":{"S":"b"}}`

	rows := []row{
		{"a partition", "Query", texts + `"h = :p"` + p + `}`},
		{"backwards", "Query", texts + `"h = :p","ScanIndexForward":false` + p + `}`},
		{"consistently", "Query", texts + `"h = :p","ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"` + p + `}`},
		{"capacity by index", "Query", texts + `"h = :p","ReturnConsumedCapacity":"INDEXES"` + p + `}`},
		{"no such partition", "Query", texts + `"h = :p","ExpressionAttributeValues":{":p":{"S":"none"}}}`},
		{"a count", "Query", texts + `"h = :p","Select":"COUNT"` + p + `}`},
		{"all attributes", "Query", texts + `"h = :p","Select":"ALL_ATTRIBUTES"` + p + `}`},
		{"projected attributes", "Query", texts + `"h = :p","Select":"ALL_PROJECTED_ATTRIBUTES"` + p + `}`},
		{"specific attributes without any", "Query", texts + `"h = :p","Select":"SPECIFIC_ATTRIBUTES"` + p + `}`},
		{"specific attributes", "Query", texts + `"h = :p","Select":"SPECIFIC_ATTRIBUTES","ProjectionExpression":"r"` + p + `}`},
		{"all attributes and a projection", "Query", texts + `"h = :p","Select":"ALL_ATTRIBUTES","ProjectionExpression":"r"` + p + `}`},
		{"a count and a projection", "Query", texts + `"h = :p","Select":"COUNT","ProjectionExpression":"r"` + p + `}`},
		{"an unknown selection", "Query", texts + `"h = :p","Select":"X"` + p + `}`},
		{"a projection", "Query", texts + `"h = :p","ProjectionExpression":"n"` + p + `}`},
		{"three", "Query", texts + `"h = :p","Limit":3` + p + `}`},
		{"three backwards", "Query", texts + `"h = :p","Limit":3,"ScanIndexForward":false` + p + `}`},
		{"exactly as many as there are", "Query", texts + `"h = :p","Limit":10` + p + `}`},
		{"one more than there are", "Query", texts + `"h = :p","Limit":11` + p + `}`},
		{"no limit", "Query", texts + `"h = :p","Limit":0` + p + `}`},
		{"a negative limit", "Query", texts + `"h = :p","Limit":-1` + p + `}`},
		{"after a key", "Query", texts + `"h = :p","Limit":3,"ExclusiveStartKey":{"h":{"S":"p"},"r":{"S":"aa"}}` + p + `}`},
		{"before a key", "Query", texts + `"h = :p","Limit":3,"ScanIndexForward":false,"ExclusiveStartKey":{"h":{"S":"p"},"r":{"S":"b"}}` + p + `}`},
		{"after a key that is not there", "Query", texts + `"h = :p","Limit":1,"ExclusiveStartKey":{"h":{"S":"p"},"r":{"S":"aaa"}}` + p + `}`},
		{"after the last", "Query", texts + `"h = :p","ExclusiveStartKey":{"h":{"S":"p"},"r":{"S":"😀"}}` + p + `}`},
		{"after a key of another partition", "Query", texts + `"h = :p","ExclusiveStartKey":{"h":{"S":"q"},"r":{"S":"b"}}` + p + `}`},
		{"after half a key", "Query", texts + `"h = :p","ExclusiveStartKey":{"h":{"S":"p"}}` + p + `}`},
		{"after a key of the wrong type", "Query", texts + `"h = :p","ExclusiveStartKey":{"h":{"S":"p"},"r":{"N":"1"}}` + p + `}`},
		{"after a key outside the range", "Query", texts + `"h = :p AND r > :x","ExclusiveStartKey":{"h":{"S":"p"},"r":{"S":"a"}}` + px + `}`},
		{"after a key too long", "Query", texts + `"h = :p","ExclusiveStartKey":{"h":{"S":"p"},"r":{"S":"a"},"z":{"S":"x"}}` + p + `}`},
		{"a filter", "Query", texts + `"h = :p","FilterExpression":"even = :t","ExpressionAttributeValues":{":p":{"S":"p"},":t":{"BOOL":true}}}`},
		{"a filter after the limit", "Query", texts + `"h = :p","Limit":3,"FilterExpression":"even = :t","ExpressionAttributeValues":{":p":{"S":"p"},":t":{"BOOL":true}}}`},
		{"a filter on a key", "Query", texts + `"h = :p","FilterExpression":"r = :p"` + p + `}`},
		{"a filter on a member of a key", "Query", texts + `"h = :p","FilterExpression":"r.x = :p"` + p + `}`},
		{"an empty filter", "Query", texts + `"h = :p","FilterExpression":""` + p + `}`},
		{"no condition", "Query", `{"TableName":"texts"}`},
		{"an empty condition", "Query", texts + `""}`},
		{"an unknown table", "Query", `{"TableName":"absent","KeyConditionExpression":"h = :p"` + p + `}`},
		{"an unknown index", "Query", texts + `"h = :p","IndexName":"none"` + p + `}`},
		{"an unused value", "Query", texts + `"h = :p"` + px + `}`},
		{"a table without a sort key", "Query", `{"TableName":"single","KeyConditionExpression":"id = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`},
		{"a second condition without a sort key", "Query", `{"TableName":"single","KeyConditionExpression":"id = :p AND v = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`},
		{"values alone", "Query", `{"TableName":"texts"` + p + `}`},
		{"an empty partition", "Query", texts + `"h = :p","ExpressionAttributeValues":{":p":{"S":""}}}`},
		{"an empty sort key", "Query", texts + `"h = :p AND r = :x","ExpressionAttributeValues":{":p":{"S":"p"},":x":{"S":""}}}`},
		{"greater than an empty sort key", "Query", texts + `"h = :p AND r > :x","ExpressionAttributeValues":{":p":{"S":"p"},":x":{"S":""}}}`},
		{"beginning with nothing", "Query", texts + `"h = :p AND begins_with(r, :x)","ExpressionAttributeValues":{":p":{"S":"p"},":x":{"S":""}}}`},
	}
	for _, r := range []string{"r = :x", "r < :x", "r <= :x", "r > :x", "r >= :x", "r BETWEEN :x AND :y", "begins_with(r, :x)", ":x < r", ":x >= r"} {
		for table, values := range map[string][]string{
			"texts":   {`{"S":"a"}`, `{"S":"b"}`, `{"S":"é"}`, `{"S":"0"}`, `{"N":"1"}`},
			"numbers": {`{"N":"0"}`, `{"N":"-1.5"}`, `{"N":"100"}`, `{"N":"0.01"}`, `{"N":"-1e-101"}`, `{"S":"1"}`},
			"bytes":   {`{"B":"AA=="}`, `{"B":"AAA="}`, `{"B":"YQ=="}`, `{"B":"/w=="}`},
		} {
			partition := map[string]string{"texts": `{"S":"p"}`, "numbers": `{"N":"1"}`, "bytes": `{"B":"AA=="}`}[table]
			for _, x := range values {
				upper := ""
				if r == "r BETWEEN :x AND :y" {
					upper = `,":y":` + map[string]string{"texts": `{"S":"z"}`, "numbers": `{"N":"1000"}`, "bytes": `{"B":"/w=="}`}[table]
				}
				rows = append(rows, row{table + " " + r + " " + x, "Query",
					fmt.Sprintf(`{"TableName":%q,"KeyConditionExpression":"h = :p AND %s","ExpressionAttributeValues":{":p":%s,":x":%s%s}}`, table, r, partition, x, upper)})
			}
		}
	}
	compareRows(t, rows)
}

func TestScan(t *testing.T) {
	withTables(t, map[string]string{"texts": "h:S,r:N", "empty": "id:S"})

	for n := range 12 {
		quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"texts","Item":{"h":{"S":"p"},"r":{"N":"%d"},"even":{"BOOL":%v}}}`, n, n%2 == 0))
	}
	compareRows(t, []row{
		{"all", "Scan", `{"TableName":"texts"}`},
		{"capacity", "Scan", `{"TableName":"texts","ReturnConsumedCapacity":"TOTAL"}`},
		{"consistently", "Scan", `{"TableName":"texts","ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}`},
		{"nothing", "Scan", `{"TableName":"empty"}`},
		{"nothing costs", "Scan", `{"TableName":"empty","ReturnConsumedCapacity":"TOTAL"}`},
		{"a count", "Scan", `{"TableName":"texts","Select":"COUNT"}`},
		{"a filter", "Scan", `{"TableName":"texts","FilterExpression":"even = :t","ExpressionAttributeValues":{":t":{"BOOL":true}}}`},
		{"a filter on a key", "Scan", `{"TableName":"texts","FilterExpression":"r > :t","ExpressionAttributeValues":{":t":{"N":"5"}}}`},
		{"a filter after the limit", "Scan", `{"TableName":"texts","Limit":5,"FilterExpression":"even = :t","ExpressionAttributeValues":{":t":{"BOOL":true}}}`},
		{"a projection", "Scan", `{"TableName":"texts","ProjectionExpression":"r"}`},
		{"a limit", "Scan", `{"TableName":"texts","Limit":5}`},
		{"after a key", "Scan", `{"TableName":"texts","Limit":5,"ExclusiveStartKey":{"h":{"S":"p"},"r":{"N":"4"}}}`},
		{"the last page", "Scan", `{"TableName":"texts","Limit":5,"ExclusiveStartKey":{"h":{"S":"p"},"r":{"N":"9"}}}`},
		{"as many as there are", "Scan", `{"TableName":"texts","Limit":12}`},
		{"after a bad key", "Scan", `{"TableName":"texts","ExclusiveStartKey":{"h":{"S":"p"}}}`},
		{"after a key of the wrong type", "Scan", `{"TableName":"texts","ExclusiveStartKey":{"h":{"S":"p"},"r":{"S":"4"}}}`},
		{"the only segment", "Scan", `{"TableName":"texts","Segment":0,"TotalSegments":1}`},
		{"a segment without a total", "Scan", `{"TableName":"texts","Segment":0}`},
		{"a total without a segment", "Scan", `{"TableName":"texts","TotalSegments":2}`},
		{"a segment out of range", "Scan", `{"TableName":"texts","Segment":2,"TotalSegments":2}`},
		{"no segments", "Scan", `{"TableName":"texts","Segment":0,"TotalSegments":0}`},
		{"too many segments", "Scan", `{"TableName":"texts","Segment":0,"TotalSegments":1000001}`},
		{"a negative segment", "Scan", `{"TableName":"texts","Segment":-1,"TotalSegments":2}`},
		{"an unknown table", "Scan", `{"TableName":"absent"}`},
		{"an unknown index", "Scan", `{"TableName":"texts","IndexName":"none"}`},
		{"no table", "Scan", `{}`},
		{"no limit", "Scan", `{"TableName":"texts","Limit":0}`},
		{"a bad filter", "Scan", `{"TableName":"texts","FilterExpression":"x"}`},
		{"values alone", "Scan", `{"TableName":"texts","ExpressionAttributeValues":{":t":{"N":"5"}}}`},
		{"an unknown selection", "Scan", `{"TableName":"texts","Select":"X"}`},
		{"specific attributes without any", "Scan", `{"TableName":"texts","Select":"SPECIFIC_ATTRIBUTES"}`},
	})
}
