//go:build conformance

package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// attributeValues are values as they may come, most of them wrong.
func attributeValues() []string {
	values := []string{
		`{}`, `{"S":"a","N":"1"}`, `{"X":"a"}`, `{"X":"a","S":"b"}`, `null`, `"a"`, `1`, `[]`, `{"S":1}`, `{"S":null}`, `{"S":true}`,
		`{"S":{}}`, `{"S":[]}`, `{"N":1}`, `{"N":1.5}`, `{"N":true}`, `{"N":null}`, `{"BOOL":"true"}`, `{"BOOL":1}`, `{"BOOL":null}`,
		`{"BOOL":"x"}`, `{"BOOL":[]}`, `{"BOOL":false}`, `{"NULL":true}`, `{"NULL":false}`, `{"NULL":null}`, `{"B":"YQ=="}`, `{"B":"YQ"}`,
		`{"B":"!!!!"}`, `{"B":""}`, `{"B":1}`, `{"B":[]}`, `{"S":""}`, `{"S":"é😀\u0000\n"}`, `{"SS":[]}`, `{"SS":["a","a"]}`, `{"SS":["b","a"]}`,
		`{"SS":[""]}`, `{"SS":"a"}`, `{"SS":{}}`, `{"SS":[1]}`, `{"SS":[null]}`, `{"SS":["b","a","b","c","a"]}`, `{"NS":[]}`,
		`{"NS":["1","1.0"]}`, `{"NS":["2","10","-1","1e2"]}`, `{"NS":["a"]}`, `{"NS":[1]}`, `{"NS":[""]}`, `{"BS":[]}`,
		`{"BS":["YQ==","YQ=="]}`, `{"BS":["Yg==","YQ=="]}`, `{"BS":[""]}`, `{"BS":["!"]}`, `{"L":[]}`, `{"L":{}}`, `{"L":"a"}`, `{"L":[null]}`,
		`{"L":[{}]}`, `{"L":[{"N":"a"}]}`, `{"L":["a"]}`, `{"M":{}}`, `{"M":[]}`, `{"M":"a"}`, `{"M":{"a":{}}}`, `{"M":{"":{"S":"a"}}}`,
		`{"M":{"a":null}}`, `{"S":"a","N":null}`, `{"NULL":false,"S":"1"}`, `{"N":"x","S":"1"}`, `{"SS":[],"S":"1"}`,
		`{"SS":["a","a"],"N":"x"}`, `{"M":{"a":{"L":[{"BOOL":true},{"M":{"b":{"NS":["3"]}}}]}}}`,
	}
	for _, n := range []string{"1", "01", "+1", "-0", "1.0", "1.50", "-0.5", ".5", "5.", "1e5", "1E+20", "1e-7", "0e10", "1e125", "1e126",
		"1e-130", "1e-131", "-9.9e125", "10000000000000000000.0000000000000000001e120", "12345678901234567890123456789012345678", "123456789012345678901234567890123456789",
		"123456789012345678901234567890123456780", "abc", "", " 1", "1 ", "0x10", "1e", "1_0", "Infinity", "NaN", "1e99999", "1e-99999",
		"0e999", "1e9999999999", "9.99999999999999999999999999999999999999e125"} {
		values = append(values, fmt.Sprintf(`{"N":%q}`, n))
	}

	for _, depth := range []int{30, 31, 32, 40} {
		values = append(values,
			strings.Repeat(`{"L":[`, depth)+`{"S":"x"}`+strings.Repeat(`]}`, depth),
			strings.Repeat(`{"M":{"a":`, depth)+`{"S":"x"}`+strings.Repeat(`}}`, depth))
	}

	return values
}

// A value goes into an item, an expression and a key. The stored value is read
// back where both sides took it.
func TestValues(t *testing.T) {
	withTables(t, map[string]string{"values": "id:S"})

	for _, v := range attributeValues() {
		engine, vendor := both(t, "PutItem", `{"TableName":"values","Item":{"id":{"S":"a"},"v":`+v+`}}`)
		if engine.status == 200 && vendor.status == 200 {
			both(t, "GetItem", `{"TableName":"values","Key":{"id":{"S":"a"}}}`)
		}

		if engine, vendor = both(t, "UpdateItem", `{"TableName":"values","Key":{"id":{"S":"b"}},"UpdateExpression":"SET w = :v","ExpressionAttributeValues":{":v":`+v+`}}`); engine.status == 200 && vendor.status == 200 {
			both(t, "GetItem", `{"TableName":"values","Key":{"id":{"S":"b"}}}`)
		}
		both(t, "GetItem", `{"TableName":"values","Key":{"id":`+v+`}}`)
	}
}

func TestSizes(t *testing.T) {
	withTables(t, map[string]string{"values": "id:S", "ranged": "h:S,r:B"})

	text := func(n int) string { return strings.Repeat("x", n) }
	put := func(table, item string) { t.Helper(); both(t, "PutItem", `{"TableName":"`+table+`","Item":`+item+`}`) }
	const limit = 400 << 10
	for _, n := range []int{limit - 4, limit - 3} {
		put("values", `{"id":{"S":"a"},"v":{"S":"`+text(n)+`"}}`)
	}
	both(t, "UpdateItem", `{"TableName":"values","Key":{"id":{"S":"a"}},"UpdateExpression":"SET w = v"}`)

	for _, n := range []int{2048, 2049} {
		put("values", `{"id":{"S":"`+text(n)+`"}}`)
		both(t, "GetItem", `{"TableName":"values","Key":{"id":{"S":"`+text(n)+`"}}}`)
	}

	for _, n := range []int{1024, 1028} {
		put("ranged", `{"h":{"S":"a"},"r":{"B":"`+strings.Repeat("YWFh", n/3+1)+`"}}`)
	}

	for _, item := range []string{`{"id":{"S":""}}`, `{"id":{"S":"a"},"":{"S":"x"}}`, `{"id":{"S":"a"},"` + text(65535) + `":{"S":"x"}}`,
		`{"id":{"S":"a"},"` + text(65536) + `":{"S":"x"}}`, `{"id":{"S":"a"},"v":{"M":{"` + text(65536) + `":{"S":"x"}}}}`} {
		put("values", item)
	}
	put("ranged", `{"h":{"S":"a"},"r":{"B":""}}`)
	// What an item consumes tells its size: 1 KB is one unit to write.
	for _, v := range []string{`{"N":"0"}`, `{"N":"-123.45"}`, `{"N":"1000"}`, `{"BOOL":true}`, `{"L":[{"S":"a"},{"NULL":true}]}`, `{"M":{"k":{"N":"12"}}}`,
		`{"NS":["1","100"]}`, `{"BS":["YQ=="]}`, `{"S":"éé"}`} {
		for pad := 1024 - 24; pad < 1024; pad++ {
			both(t, "DeleteItem", `{"TableName":"values","Key":{"id":{"S":"a"}}}`)
			both(t, "PutItem", fmt.Sprintf(`{"TableName":"values","ReturnConsumedCapacity":"TOTAL","Item":{"id":{"S":"a"},"v":%s,"f":{"S":"%s"}}}`, v, text(pad)))
		}
	}
}
