//go:build conformance

package conformance

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The parameters that expressions have replaced.

func TestLegacyWrites(t *testing.T) {
	withTables(t, map[string]string{"single": "id:S"})
	quietly(t, "PutItem", `{"TableName":"single","Item":`+generatedItem+`}`)

	put := func(more string) string { return `{"TableName":"single","Item":` + generatedItem + `,` + more + `}` }
	update := func(more string) string { return `{"TableName":"single","Key":{"id":{"S":"g"}},` + more + `}` }
	n := `"Expected":{"n":{"Value":{"N":"5"}}}`

	compareRows(t, []row{
		{"both", "PutItem", put(n + `,"ConditionExpression":"attribute_exists(id)"`)},
		{"both, and an operator", "PutItem", put(n + `,"ConditionalOperator":"AND","ConditionExpression":"attribute_exists(id)"`)},
		{"an operator beside an expression", "PutItem", put(`"ConditionalOperator":"AND","ConditionExpression":"attribute_exists(id)"`)},
		{"nothing expected", "PutItem", put(`"Expected":{}`)},
		{"an operator for nothing", "PutItem", put(`"Expected":{},"ConditionalOperator":"OR"`)},
		{"an operator for one", "PutItem", put(n + `,"ConditionalOperator":"OR"`)},
		{"an operator alone", "PutItem", put(`"ConditionalOperator":"AND"`)},
		{"no such operator", "PutItem", put(`"ConditionalOperator":"XOR","Expected":{"n":{"Value":{"N":"5"}},"s":{"Value":{"S":"x"}}}`)},
		{"an empty element", "PutItem", put(`"Expected":{"n":{}}`)},
		{"exists without a value", "PutItem", put(`"Expected":{"n":{"Exists":true}}`)},
		{"does not exist, with a value", "PutItem", put(`"Expected":{"n":{"Exists":false,"Value":{"N":"1"}}}`)},
		{"does not exist", "PutItem", put(`"Expected":{"n":{"Exists":false}}`)},
		{"does not exist, truly", "PutItem", put(`"Expected":{"zz":{"Exists":false}}`)},
		{"exists and a comparison", "PutItem", put(`"Expected":{"n":{"Exists":true,"ComparisonOperator":"EQ","Value":{"N":"1"}}}`)},
		{"a value and a list", "PutItem", put(`"Expected":{"n":{"Value":{"N":"1"},"AttributeValueList":[{"N":"1"}]}}`)},
		{"a list without a comparison", "PutItem", put(`"Expected":{"n":{"AttributeValueList":[{"N":"1"}]}}`)},
		{"a comparison without a value", "PutItem", put(`"Expected":{"n":{"ComparisonOperator":"EQ"}}`)},
		{"a comparison of none", "PutItem", put(`"Expected":{"n":{"ComparisonOperator":"EQ","AttributeValueList":[]}}`)},
		{"no such comparison", "PutItem", put(`"Expected":{"n":{"ComparisonOperator":"XX","AttributeValueList":[{"N":"1"}]}}`)},
		{"a comparison with a value", "PutItem", put(`"Expected":{"n":{"ComparisonOperator":"EQ","Value":{"N":"5"}}}`)},
		{"bounds of two types", "PutItem", put(`"Expected":{"n":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"9"},{"S":"1"}]}}`)},
		{"an empty name", "PutItem", put(`"Expected":{"":{"Value":{"N":"5"}}}`)},
		{"a bad value", "PutItem", put(`"Expected":{"n":{"Value":{"N":"x"}}}`)},
		{"an empty value", "PutItem", put(`"Expected":{"n":{"ComparisonOperator":"EQ","AttributeValueList":[{}]}}`)},
		{"values of expressions", "PutItem", put(n + `,"ExpressionAttributeValues":{":x":{"N":"5"}}`)},
		{"names of expressions", "PutItem", put(n + `,"ExpressionAttributeNames":{"#x":"n"}`)},
		{"a name with a dot", "PutItem", put(`"Expected":{"m.k":{"Value":{"S":"v"}}}`)},
		{"a deletion with both", "DeleteItem", update(n + `,"ConditionExpression":"attribute_exists(id)"`)},
		{"a deletion that fails", "DeleteItem", update(`"Expected":{"n":{"Value":{"N":"6"}}}`)},
		{"an update with both", "UpdateItem", update(`"AttributeUpdates":{"n":{"Value":{"N":"1"}}},"UpdateExpression":"REMOVE x"`)},
		{"an update with all", "UpdateItem", update(n + `,"ConditionalOperator":"OR","AttributeUpdates":{"n":{"Value":{"N":"1"}}},"UpdateExpression":"REMOVE x","ConditionExpression":"n = n"`)},
		{"expected beside an update expression", "UpdateItem", update(n + `,"UpdateExpression":"REMOVE x"`)},
		{"no updates", "UpdateItem", update(`"AttributeUpdates":{},"ReturnValues":"ALL_NEW"`)},
		{"put without a value", "UpdateItem", update(`"AttributeUpdates":{"n":{"Action":"PUT"}}`)},
		{"an empty update", "UpdateItem", update(`"AttributeUpdates":{"n":{}}`)},
		{"no such action", "UpdateItem", update(`"AttributeUpdates":{"n":{"Action":"XX","Value":{"N":"1"}}}`)},
		{"a deletion of the key", "UpdateItem", update(`"AttributeUpdates":{"id":{"Action":"DELETE"}}`)},
		{"the key", "UpdateItem", update(`"AttributeUpdates":{"id":{"Action":"PUT","Value":{"S":"x"}}}`)},
		{"an update with a bad value", "UpdateItem", update(`"AttributeUpdates":{"n":{"Action":"PUT","Value":{"N":"x"}}}`)},
		{"an update of no name", "UpdateItem", update(`"AttributeUpdates":{"":{"Action":"PUT","Value":{"N":"1"}}}`)},
		{"an update with an operator", "UpdateItem", update(`"AttributeUpdates":{"n":{"Value":{"N":"1"}}},"ConditionalOperator":"AND"`)},
		{"an update with values", "UpdateItem", update(`"AttributeUpdates":{"n":{"Action":"PUT","Value":{"N":"1"}}},"ExpressionAttributeValues":{":x":{"N":"5"}}`)},
		{"an update of a name with a dot", "UpdateItem", update(`"AttributeUpdates":{"m.k":{"Action":"PUT","Value":{"N":"1"}}},"ReturnValues":"ALL_NEW"`)},
		{"an update that fails", "UpdateItem", update(`"AttributeUpdates":{"n":{"Action":"ADD","Value":{"N":"1"}}},"Expected":{"n":{"Value":{"N":"6"}}}`)},
		{"updated old", "UpdateItem", update(`"AttributeUpdates":{"n":{"Action":"PUT","Value":{"N":"9"}},"zz":{"Action":"PUT","Value":{"N":"9"}},"s":{"Action":"DELETE"}},"ReturnValues":"UPDATED_OLD"`)},
		{"an action left out", "UpdateItem", update(`"AttributeUpdates":{"w":{"Value":{"N":"1"}}},"ReturnValues":"ALL_NEW"`)},
		{"updated new", "UpdateItem", update(`"AttributeUpdates":{"n":{"Action":"PUT","Value":{"N":"8"}}},"ReturnValues":"UPDATED_NEW"`)},
		{"a deletion of nothing", "UpdateItem", `{"TableName":"single","Key":{"id":{"S":"delete"}},"AttributeUpdates":{"n":{"Action":"DELETE"}}}`},
		{"creates nothing", "GetItem", `{"TableName":"single","Key":{"id":{"S":"delete"}}}`},
	})
}

func TestLegacyReads(t *testing.T) {
	withTables(t, map[string]string{"ranged": "h:S,r:N", "single": "id:S"})

	for n := range 3 {
		quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"ranged","Item":{"h":{"S":"p"},"r":{"N":"%d"},"v":{"N":"%d"}}}`, n, n%2))
	}
	quietly(t, "PutItem", `{"TableName":"single","Item":`+generatedItem+`}`)

	query := func(more string) string {
		return `{"TableName":"ranged","KeyConditions":{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]}}` + more + `}`
	}
	keys := func(conditions string) string { return `{"TableName":"ranged","KeyConditions":` + conditions + `}` }
	h := `"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]}`
	v := `{"v":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`
	two := `{"v":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]},"w":{"ComparisonOperator":"NULL"}}`

	rows := []row{
		{"a partition", "Query", query("")},
		{"backwards", "Query", query(`,"ScanIndexForward":false,"Limit":2`)},
		{"no keys", "Query", keys(`{}`)},
		{"three keys", "Query", keys(`{` + h + `,"r":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]},"x":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`)},
		{"no partition key", "Query", keys(`{"r":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`)},
		{"another key", "Query", keys(`{` + h + `,"x":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`)},
		{"a range of partitions", "Query", keys(`{"h":{"ComparisonOperator":"LT","AttributeValueList":[{"S":"p"}]}}`)},
		{"no value", "Query", keys(`{"h":{"ComparisonOperator":"NULL"}}`)},
		{"a partition of another type", "Query", keys(`{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`)},
		{"no comparison", "Query", keys(`{"h":{"AttributeValueList":[{"S":"p"}]}}`)},
		{"an empty partition key", "Query", keys(`{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":""}]}}`)},
		{"a bad key", "Query", keys(`{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"x"}]}}`)},
		{"both keys", "Query", query(`,"KeyConditionExpression":"h = :h","ExpressionAttributeValues":{":h":{"S":"p"}}`)},
		{"keys and a filter expression", "Query", query(`,"FilterExpression":"v = :h","ExpressionAttributeValues":{":h":{"N":"1"}}`)},
		{"keys and a projection expression", "Query", query(`,"ProjectionExpression":"v"`)},
		{"a key expression and a filter", "Query", `{"TableName":"ranged","KeyConditionExpression":"h = :h","ExpressionAttributeValues":{":h":{"S":"p"}},"QueryFilter":` + v + `}`},
		{"all beside a filter expression", "Query", query(`,"QueryFilter":` + v + `,"ConditionalOperator":"AND","AttributesToGet":["v"],"FilterExpression":"v = v"`)},
		{"all beside all", "Query", query(`,"QueryFilter":` + v + `,"ConditionalOperator":"AND","AttributesToGet":["v"],"FilterExpression":"v = v","KeyConditionExpression":"h = :h","ProjectionExpression":"v"`)},
		{"a filter", "Query", query(`,"QueryFilter":` + v)},
		{"an empty filter", "Query", query(`,"QueryFilter":{}`)},
		{"a filter on a key", "Query", query(`,"QueryFilter":{"r":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}`)},
		{"a filter without a comparison", "Query", query(`,"QueryFilter":{"v":{}}`)},
		{"two filters, one of which holds", "Query", query(`,"ConditionalOperator":"OR","QueryFilter":` + two)},
		{"two filters", "Query", query(`,"QueryFilter":` + two)},
		{"an operator for one", "Query", query(`,"ConditionalOperator":"OR","QueryFilter":` + v)},
		{"an operator alone", "Query", query(`,"ConditionalOperator":"OR"`)},
		{"attributes", "Query", query(`,"AttributesToGet":["v","zz"]`)},
		{"an attribute twice", "Query", query(`,"AttributesToGet":["v","v"]`)},
		{"no attributes", "Query", query(`,"AttributesToGet":[]`)},
		{"an attribute without a name", "Query", query(`,"AttributesToGet":[""]`)},
		{"attributes beside all", "Query", query(`,"AttributesToGet":["v"],"Select":"ALL_ATTRIBUTES"`)},
		{"attributes beside a count", "Query", query(`,"AttributesToGet":["v"],"Select":"COUNT"`)},
		{"specific attributes", "Query", query(`,"AttributesToGet":["v"],"Select":"SPECIFIC_ATTRIBUTES"`)},
		{"values alone", "Query", query(`,"ExpressionAttributeValues":{":h":{"N":"1"}}`)},
		{"names alone", "Query", query(`,"ExpressionAttributeNames":{"#h":"h"}`)},
		{"a scan with a filter", "Scan", `{"TableName":"ranged","ScanFilter":` + v + `}`},
		{"a scan with both filters", "Scan", `{"TableName":"ranged","FilterExpression":"v = v","ScanFilter":` + v + `}`},
		{"a scan with a filter and a projection", "Scan", `{"TableName":"ranged","ProjectionExpression":"v","ScanFilter":` + v + `}`},
		{"a scan with all", "Scan", `{"TableName":"ranged","AttributesToGet":["v"],"ConditionalOperator":"OR","ProjectionExpression":"v","FilterExpression":"v = v","ScanFilter":` + v + `}`},
		{"a scan with attributes", "Scan", `{"TableName":"ranged","AttributesToGet":["v"]}`},
		{"a scan with an operator", "Scan", `{"TableName":"ranged","ConditionalOperator":"OR"}`},
		{"a scan with the filter of a query", "Scan", `{"TableName":"ranged","QueryFilter":` + v + `}`},
		{"an item's attributes", "GetItem", `{"TableName":"single","Key":{"id":{"S":"g"}},"AttributesToGet":["n","zz"]}`},
		{"an item's attribute twice", "GetItem", `{"TableName":"single","Key":{"id":{"S":"g"}},"AttributesToGet":["n","n"]}`},
		{"none of an item's attributes", "GetItem", `{"TableName":"single","Key":{"id":{"S":"g"}},"AttributesToGet":["m.k"]}`},
		{"an item's attributes in two ways", "GetItem", `{"TableName":"single","Key":{"id":{"S":"g"}},"AttributesToGet":["n"],"ProjectionExpression":"n"}`},
		{"an item's attributes and names", "GetItem", `{"TableName":"single","Key":{"id":{"S":"g"}},"AttributesToGet":["n"],"ExpressionAttributeNames":{"#n":"n"}}`},
		{"attributes of a batch", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[{"id":{"S":"g"}}],"AttributesToGet":["n","zz"]}}}`},
		{"attributes of a batch twice", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[{"id":{"S":"g"}}],"AttributesToGet":["n","n"]}}}`},
		{"attributes of a batch in two ways", "BatchGetItem", `{"RequestItems":{"single":{"Keys":[{"id":{"S":"g"}}],"AttributesToGet":["n"],"ProjectionExpression":"n"}}}`},
	}

	for _, operator := range legacyOperators {
		for _, values := range []string{`[]`, `[{"N":"1"}]`, `[{"N":"1"},{"N":"2"}]`, `[{"N":"2"},{"N":"1"}]`} {
			rows = append(rows, row{operator + " " + values, "Query", keys(`{` + h + `,"r":{"ComparisonOperator":"` + operator + `","AttributeValueList":` + values + `}}`)})
		}
	}
	compareRows(t, rows)
}

var legacyOperators = []string{"EQ", "NE", "LE", "LT", "GE", "GT", "NOT_NULL", "NULL", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "IN", "BETWEEN"}

var (
	legacyNames  = rapid.SampledFrom([]string{"s", "n", "b", "t", "z", "l", "m", "ss", "ns", "nope"})
	legacyValues = rapid.SampledFrom([]string{`{"S":"abc"}`, `{"S":"a"}`, `{"S":"x"}`, `{"N":"5"}`, `{"N":"1"}`, `{"N":"9"}`, `{"B":"YWJj"}`, `{"B":"YQ=="}`, `{"BOOL":true}`,
		`{"BOOL":false}`, `{"NULL":true}`, `{"SS":["a","b"]}`, `{"SS":["a"]}`, `{"NS":["1","2"]}`, `{"NS":["2"]}`, `{"L":[{"N":"1"}]}`, `{"M":{"k":{"S":"v"}}}`})
)

// legacyComparisons draws comparisons of up to three attributes. If several have faults, the two sides
// report the fault of different attributes, so at most one attribute gets a fault.
func legacyComparisons(t *rapid.T) string {
	var list []string
	seen := map[string]bool{}
	for range rapid.IntRange(1, 3).Draw(t, "comparisons") {
		name := legacyNames.Draw(t, "name")
		if seen[name] {
			continue
		}
		seen[name] = true

		operator, values := rapid.SampledFrom(legacyOperators).Draw(t, "operator"), []string{}
		if len(list) > 0 {
			operator = rapid.SampledFrom([]string{"EQ", "NE", "NULL", "NOT_NULL"}).Draw(t, "operator that takes all")
		}

		count := map[string]int{"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2, "IN": rapid.IntRange(1, 3).Draw(t, "members")}
		n, special := count[operator]
		if !special {
			n = 1
		}

		if len(list) == 0 && rapid.IntRange(0, 15).Draw(t, "miscount") == 0 {
			n++
		}

		for range n {
			values = append(values, legacyValues.Draw(t, "value"))
		}
		list = append(list, fmt.Sprintf(`%q:{"ComparisonOperator":%q,"AttributeValueList":[%s]}`, name, operator, strings.Join(values, ",")))
	}

	joined := ""
	if len(list) > 1 {
		joined = rapid.SampledFrom([]string{"", `,"ConditionalOperator":"AND"`, `,"ConditionalOperator":"OR"`}).Draw(t, "joined")
	}

	return `{` + strings.Join(list, ",") + `}` + joined
}

func withLegacyItems(t testing.TB, s *sides) {
	withGeneratedItem(t, s)
	s.withTable(t, "ranged", createTable("ranged", "h:S,r:S", ""))
	s.quietly(t, "PutItem", `{"TableName":"ranged","Item":{"h":{"S":"p"},"r":{"S":"g"},`+generatedItem[1:]+`}`)
}

func checkLegacyConditions(t *rapid.T, s *sides) {
	comparisons := legacyComparisons(t)
	s.compare(t, "PutItem", `{"TableName":"generated","Item":`+generatedItem+`,"Expected":`+comparisons+`}`)
	s.compare(t, "Scan", `{"TableName":"generated","ScanFilter":`+comparisons+`}`)
	s.compare(t, "Query", `{"TableName":"ranged","KeyConditions":{"h":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"p"}]}},"QueryFilter":`+comparisons+`}`)
}

func checkLegacyUpdates(t *rapid.T, s *sides) {
	putGeneratedItem(t, s)
	name, value := legacyNames.Draw(t, "name"), legacyValues.Draw(t, "value")
	action := rapid.SampledFrom([]string{"PUT", "ADD", "DELETE"}).Draw(t, "action")

	update := fmt.Sprintf(`%q:{"Action":%q,"Value":%s}`, name, action, value)
	if action == "DELETE" && rapid.Bool().Draw(t, "whole") {
		update = fmt.Sprintf(`%q:{"Action":"DELETE"}`, name)
	}

	if rapid.Bool().Draw(t, "another") {
		update += fmt.Sprintf(`,"other":{"Action":"PUT","Value":%s}`, legacyValues.Draw(t, "value"))
	}
	returned := rapid.SampledFrom([]string{"ALL_OLD", "UPDATED_OLD", "ALL_NEW"}).Draw(t, "returned")
	s.compare(t, "UpdateItem", `{"TableName":"generated","Key":{"id":{"S":"g"}},"AttributeUpdates":{`+update+`},"ReturnValues":"`+returned+`"}`)
	s.compare(t, "GetItem", `{"TableName":"generated","Key":{"id":{"S":"g"}}}`)
}
