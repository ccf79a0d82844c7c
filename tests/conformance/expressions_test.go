//go:build conformance

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// recorded are the expressions whose answers the engine's own tests keep.
type recorded struct {
	Item   json.RawMessage
	Names  map[string]string
	Values map[string]json.RawMessage
	Rows   []struct{ Expression string }
}

func readRecorded(t *testing.T, file string) recorded {
	t.Helper()

	raw, err := os.ReadFile(filepath.Join("../../embedded/internal/expression/testdata", file))
	if err != nil {
		t.Fatal(err)
	}

	var small bytes.Buffer
	if err := json.Compact(&small, raw); err != nil {
		t.Fatal(err)
	}

	var r recorded
	if err := json.Unmarshal(small.Bytes(), &r); err != nil {
		t.Fatal(err)
	}

	return r
}

var reference = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

// request writes a request whose member field holds the expression, with the
// references it names.
func (r recorded) request(table, field, expression, more string) string {
	body := map[string]any{"TableName": table, field: expression}
	names, values := map[string]string{}, map[string]json.RawMessage{}
	for _, ref := range reference.FindAllString(expression, -1) {
		if name, ok := r.Names[ref]; ok {
			names[ref] = name
		}

		if value, ok := r.Values[ref]; ok {
			values[ref] = value
		}
	}

	if len(names) > 0 {
		body["ExpressionAttributeNames"] = names
	}

	if len(values) > 0 {
		body["ExpressionAttributeValues"] = values
	}

	return text(body)[:len(text(body))-1] + more + "}"
}

func TestRecordedExpressions(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S", "ranged": "h:S,r:S"})

	for _, tt := range []struct{ file, table, operation, field, more string }{
		{"conditions.json", "single", "PutItem", "ConditionExpression", `,"Item":%s`},
		{"conditions.json", "single", "Scan", "FilterExpression", ""},
		{"updates.json", "single", "UpdateItem", "UpdateExpression", `,"Key":{"id":{"S":"u"}},"ReturnValues":"ALL_NEW"`},
		{"projections.json", "single", "GetItem", "ProjectionExpression", `,"Key":{"id":{"S":"u"}}`},
		{"keyconditions.json", "ranged", "Query", "KeyConditionExpression", ""},
	} {
		t.Run(tt.operation, func(t *testing.T) {
			r := readRecorded(t, tt.file)
			more := tt.more
			if tt.operation == "PutItem" {
				more = fmt.Sprintf(more, r.Item)
			}

			for _, row := range r.Rows {
				if tt.table == "single" {
					quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"single","Item":%s}`, r.Item))
				}
				both(t, tt.operation, r.request(tt.table, tt.field, row.Expression, more))
			}
		})
	}
}

// Requests with more than one fault, of which the sides report different ones; every
// such difference is shown here at least once.
func TestManyFaults(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S"})
	quietly(t, "PutItem", `{"TableName":"single","Item":{"id":{"S":"a"},"n":{"N":"1"}}}`)
	update := `{"TableName":"single","Key":{"id":{"S":"a"}},"UpdateExpression":`
	compareRows(t, []row{
		{"a path that leads nowhere and a wrong type", "UpdateItem", update + `"SET nope.x = :s ADD n :ss","ExpressionAttributeValues":{":s":{"S":"x"},":ss":{"SS":["a"]}}}`},
		{"two bad numbers", "UpdateItem", update + `"SET a = :n + :m","ExpressionAttributeValues":{":n":{"N":"1e126"},":m":{"N":"1e126"}}}`},
		{"bounds of two types, one of them binary", "Scan", `{"TableName":"single","FilterExpression":"n BETWEEN :s AND :b","ExpressionAttributeValues":{":s":{"S":"x"},":b":{"B":"YQ=="}}}`},
	})
}
