//go:build conformance

package conformance

import (
	"strings"

	"pgregory.net/rapid"
)

// Requests with several faults at once: each member is as often right as wrong, so which fault an
// answer names depends on the order of validation.

// member draws one of the values of a member, or leaves it out for "".
func member(t *rapid.T, name string, values ...string) string { return named(t, "", name, values...) }

// named is member for one of several elements that have the same members.
func named(t *rapid.T, element, name string, values ...string) string {
	value := rapid.SampledFrom(values).Draw(t, element+" "+name)
	if value == "" {
		return ""
	}

	return `"` + name + `":` + value
}

// object joins members, leaving out the empty ones.
func object(members ...string) string {
	var there []string
	for _, m := range members {
		if m != "" {
			there = append(there, m)
		}
	}

	return "{" + strings.Join(there, ",") + "}"
}

// names and values are what goes beside an expression.
func names(t *rapid.T) string {
	return member(t, "ExpressionAttributeNames", "", "", `{"#a":"v"}`, `{"#a":"v","#unused":"w"}`, `{"a":"v"}`)
}

func values(t *rapid.T) string {
	return member(t, "ExpressionAttributeValues", "", `{":h":{"S":"p"}}`, `{":h":{"S":"p"}}`, `{":h":{"S":"p"},":unused":{"S":"x"}}`, `{"h":{"S":"p"}}`, `{":h":{"N":"x"}}`, `{}`, `{":h":{"N":"1"}}`)
}

func invalidBatchGet(t *rapid.T) string {
	keys := member(t, "Keys", `[{"h":{"S":"p"},"r":{"N":"1"}}]`, `[{"h":{"S":"p"},"r":{"N":"1"}}]`, `[{"h":{"S":"p"},"r":{"N":"1"}},{"h":{"S":"p"},"r":{"N":"1"}}]`, `[{"h":{"S":"p"}}]`, `[{"h":{"S":"p"},"r":{"N":"x"}}]`, `[{"h":{"S":""},"r":{"N":"1"}}]`, `[]`, "")
	request := object(keys, member(t, "ProjectionExpression", "", "", `"v"`, `"v,"`, `"#a"`), names(t))
	table := rapid.SampledFrom([]string{"generated", "generated", "absent", "ab"}).Draw(t, "table")

	return object(
		rapid.SampledFrom([]string{`"RequestItems":{"` + table + `":` + request + `}`, `"RequestItems":{"` + table + `":` + request + `}`, `"RequestItems":{}`, ""}).Draw(t, "items"),
		member(t, "ReturnConsumedCapacity", "", "", "", `"X"`))
}

func invalidBatchWrite(t *rapid.T) string {
	one := func(label string) string {
		return rapid.SampledFrom([]string{
			`{"PutRequest":{"Item":{"h":{"S":"p"},"r":{"N":"1"}}}}`, `{"PutRequest":{"Item":{"h":{"S":"p"},"r":{"N":"2"}}}}`, `{"DeleteRequest":{"Key":{"h":{"S":"p"},"r":{"N":"1"}}}}`,
			`{"PutRequest":{"Item":{"h":{"S":"p"}}}}`, `{"PutRequest":{"Item":{"h":{"S":"p"},"r":{"N":"x"}}}}`, `{"PutRequest":{"Item":{"h":{"S":""},"r":{"N":"3"}}}}`,
			`{"DeleteRequest":{"Key":{"h":{"S":"p"}}}}`, `{"PutRequest":{}}`, `{}`,
		}).Draw(t, label)
	}
	table := rapid.SampledFrom([]string{"generated", "generated", "absent", "ab"}).Draw(t, "table")
	list := rapid.SampledFrom([]string{"[" + one("first") + "]", "[" + one("a") + "," + one("b") + "]", "[]"}).Draw(t, "list")

	return object(
		rapid.SampledFrom([]string{`"RequestItems":{"` + table + `":` + list + `}`, `"RequestItems":{"` + table + `":` + list + `}`, `"RequestItems":{}`, ""}).Draw(t, "items"),
		member(t, "ReturnConsumedCapacity", "", "", "", `"X"`))
}

func invalidTransactWrite(t *rapid.T) string {
	// Every part has a key of its own: DynamoDB Local lets two parts have one item if a condition
	// fails.
	one := func(label, number string) string {
		table := rapid.SampledFrom([]string{`"generated"`, `"generated"`, `"generated"`, `"absent"`, `"ab"`}).Draw(t, label+" table")
		key := rapid.SampledFrom([]string{`{"h":{"S":"p"},"r":{"N":"` + number + `"}}`, `{"h":{"S":"p"},"r":{"N":"` + number + `"}}`, `{"h":{"S":"p"}}`, `{"h":{"S":"p"},"r":{"N":"x"}}`, `{"h":{"S":""},"r":{"N":"1"}}`}).Draw(t, label+" key")
		condition := member(t, "ConditionExpression", "", `"attribute_exists(h)"`, `"attribute_not_exists(none)"`, `"v ="`, `"v = :none"`)

		switch rapid.IntRange(0, 3).Draw(t, label) {
		case 0:
			return `{"Put":` + object(`"TableName":`+table, `"Item":`+key, condition, names(t)) + `}`
		case 1:
			return `{"Delete":` + object(`"TableName":`+table, `"Key":`+key, condition) + `}`
		case 2:
			return `{"ConditionCheck":` + object(`"TableName":`+table, `"Key":`+key, condition) + `}`
		default:
			return `{"Update":` + object(`"TableName":`+table, `"Key":`+key, condition, values(t), member(t, "UpdateExpression", `"SET v = :h"`, `"SET v = :h"`, `"SET v"`, "")) + `}`
		}
	}

	return object(
		rapid.SampledFrom([]string{`"TransactItems":[` + one("first", "1") + `]`, `"TransactItems":[` + one("a", "1") + `,` + one("b", "2") + `]`}).Draw(t, "items"),
		member(t, "ReturnConsumedCapacity", "", "", "", "", `"X"`))
}

func invalidTransactGet(t *rapid.T) string {
	one := func(label string) string {
		return `{"Get":` + object(
			named(t, label, "TableName", `"generated"`, `"generated"`, `"absent"`, `"ab"`),
			named(t, label, "Key", `{"h":{"S":"p"},"r":{"N":"1"}}`, `{"h":{"S":"p"},"r":{"N":"2"}}`, `{"h":{"S":"p"}}`, `{"h":{"S":"p"},"r":{"N":"x"}}`, ""),
			named(t, label, "ProjectionExpression", "", "", `"v"`, `"v,"`, `"#a"`), names(t)) + `}`
	}
	list := rapid.SampledFrom([]string{one("first"), one("a") + "," + one("b"), `{}`, ""}).Draw(t, "list")

	return object(`"TransactItems":[`+list+`]`, member(t, "ReturnConsumedCapacity", "", "", "", `"X"`))
}

func checkInvalid(t *rapid.T, s *sides) {
	for _, request := range []struct{ operation, body string }{
		{"BatchGetItem", invalidBatchGet(t)}, {"BatchWriteItem", invalidBatchWrite(t)},
		{"TransactGetItems", invalidTransactGet(t)}, {"TransactWriteItems", invalidTransactWrite(t)},
	} {
		// What one side alone has written, where the two are known to differ, goes.
		for _, r := range []string{"1", "2"} {
			s.quietly(t, "DeleteItem", `{"TableName":"generated","Key":{"h":{"S":"p"},"r":{"N":"`+r+`"}}}`)
		}

		s.compare(t, request.operation, request.body)
	}
}
