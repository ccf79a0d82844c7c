//go:build conformance

package conformance

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The generated requests draw on one item and one set of references.
const generatedItem = `{"id":{"S":"g"},"s":{"S":"abc"},"n":{"N":"5"},"b":{"B":"YWJj"},"t":{"BOOL":true},"z":{"NULL":true},` +
	`"l":{"L":[{"N":"1"},{"S":"x"},{"M":{"k":{"N":"2"}}}]},"m":{"M":{"k":{"S":"v"},"n":{"N":"7"},"l":{"L":[{"N":"3"}]}}},"ss":{"SS":["a","b"]},"ns":{"NS":["1","2"]}}`

var (
	generatedNames  = map[string]string{"#n": "n", "#m": "m", "#status": "status"}
	generatedValues = map[string]json.RawMessage{
		":s": json.RawMessage(`{"S":"abc"}`), ":a": json.RawMessage(`{"S":"a"}`), ":n": json.RawMessage(`{"N":"5"}`), ":one": json.RawMessage(`{"N":"1"}`),
		":b": json.RawMessage(`{"B":"YQ=="}`), ":t": json.RawMessage(`{"BOOL":true}`), ":l": json.RawMessage(`{"L":[{"N":"1"}]}`),
		":ss": json.RawMessage(`{"SS":["a","c"]}`), ":ns": json.RawMessage(`{"NS":["1"]}`), ":kind": json.RawMessage(`{"S":"N"}`),
	}
	generated = recorded{Names: generatedNames, Values: generatedValues}
)

var (
	paths = rapid.SampledFrom([]string{"s", "n", "#n", "b", "t", "z", "l", "l[0]", "l[1]", "l[2].k", "l[9]", "m", "m.k", "#m.n", "m.l[0]", "m.zz", "ss", "ns", "nope", "nope.x"})
	odd   = rapid.SampledFrom([]string{"status", "#status", "#undefined", "l[99999999999]", "s.s.s", "_x", "1x", "m..k", "l[x]"})
	value = rapid.SampledFrom([]string{":s", ":a", ":n", ":one", ":b", ":t", ":l", ":ss", ":ns", ":kind", ":undefined"})
)

// seldom draws from rare once in a while, else from usual.
func seldom(t *rapid.T, usual, rare *rapid.Generator[string]) string {
	if rapid.IntRange(0, 24).Draw(t, "seldom") == 0 {
		return rare.Draw(t, "rare")
	}
	return usual.Draw(t, "usual")
}

func operand(t *rapid.T) string {
	switch rapid.IntRange(0, 5).Draw(t, "operand") {
	case 0, 1:
		return seldom(t, paths, odd)
	case 2, 3:
		return value.Draw(t, "value")
	case 4:
		return "size(" + seldom(t, paths, odd) + ")"
	default:
		return "(" + operand(t) + ")"
	}
}

func condition(t *rapid.T, depth int) string {
	comparison := func() string {
		return operand(t) + rapid.SampledFrom([]string{" = ", " <> ", " < ", "<=", " > ", " >= "}).Draw(t, "sign") + operand(t)
	}

	most := 10
	if depth == 0 {
		most = 6
	}

	switch rapid.IntRange(0, most).Draw(t, "condition") {
	case 0, 1:
		return comparison()
	case 2:
		return operand(t) + " BETWEEN " + operand(t) + " AND " + operand(t)
	case 3:
		return operand(t) + " IN (" + operand(t) + ", " + operand(t) + ")"
	case 4:
		return rapid.SampledFrom([]string{"attribute_exists", "attribute_not_exists", "unknown"}).Draw(t, "function") + "(" + operand(t) + ")"
	case 5:
		return rapid.SampledFrom([]string{"begins_with", "contains"}).Draw(t, "function") + "(" + operand(t) + ", " + operand(t) + ")"
	case 6:
		return "attribute_type(" + operand(t) + ", :kind)"
	case 7:
		return "NOT " + condition(t, depth-1)
	case 8:
		return "(" + condition(t, depth-1) + ")"
	case 9:
		return condition(t, depth-1) + " AND " + condition(t, depth-1)
	default:
		return condition(t, depth-1) + " OR " + condition(t, depth-1)
	}
}

// mangle takes away, doubles or exchanges a token once in a while.
func mangle(t *rapid.T, expression string) string {
	if rapid.IntRange(0, 9).Draw(t, "mangle") != 0 {
		return expression
	}

	tokens := strings.Fields(expression)
	at := rapid.IntRange(0, len(tokens)-1).Draw(t, "at")
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		tokens = append(tokens[:at:at], tokens[at+1:]...)
	case 1:
		tokens = append(tokens[:at+1:at+1], tokens[at:]...)
	default:
		tokens[at] = rapid.SampledFrom([]string{"AND", ")", "(", ",", "=", "SET", "!", "size", "."}).Draw(t, "token")
	}

	return strings.Join(tokens, " ")
}

func updateOf(t *rapid.T) string {
	addend := func() string {
		if rapid.IntRange(0, 3).Draw(t, "addend") == 0 {
			return "if_not_exists(" + seldom(t, paths, odd) + ", " + operandOfUpdate(t) + ")"
		}
		return operandOfUpdate(t)
	}
	var sections []string
	add := func(word string, clause func() string) {
		n := rapid.IntRange(-2, 2).Draw(t, word)
		var clauses []string
		for range n {
			clauses = append(clauses, clause())
		}

		if len(clauses) > 0 {
			sections = append(sections, word+" "+strings.Join(clauses, ", "))
		}
	}
	add("SET", func() string {
		target := seldom(t, paths, odd) + " = "
		switch rapid.IntRange(0, 4).Draw(t, "value") {
		case 0:
			return target + addend() + rapid.SampledFrom([]string{" + ", " - "}).Draw(t, "sign") + addend()
		case 1:
			return target + "list_append(" + addend() + ", " + addend() + ")"
		default:
			return target + addend()
		}
	})
	add("REMOVE", func() string { return seldom(t, paths, odd) })
	add("ADD", func() string { return seldom(t, paths, odd) + " " + value.Draw(t, "value") })
	add("DELETE", func() string { return seldom(t, paths, odd) + " " + value.Draw(t, "value") })

	if len(sections) == 0 {
		return "REMOVE nope"
	}

	return strings.Join(sections, " ")
}

func operandOfUpdate(t *rapid.T) string {
	if rapid.Bool().Draw(t, "path") {
		return seldom(t, paths, odd)
	}
	return value.Draw(t, "value")
}

// withGeneratedTable returns the preparation of the one table "generated".
func withGeneratedTable(schema string) func(testing.TB, *sides) {
	return func(t testing.TB, s *sides) { s.withTable(t, "generated", createTable("generated", schema, "")) }
}

func withGeneratedItem(t testing.TB, s *sides) {
	withGeneratedTable("id:S")(t, s)
	putGeneratedItem(t, s)
}

func putGeneratedItem(t fataler, s *sides) {
	s.quietly(t, "PutItem", `{"TableName":"generated","Item":`+generatedItem+`}`)
}

func checkConditions(t *rapid.T, s *sides) {
	expression := mangle(t, condition(t, 3))
	s.compare(t, "PutItem", generated.request("generated", "ConditionExpression", expression, `,"Item":`+generatedItem))
	s.compare(t, "Scan", generated.request("generated", "FilterExpression", expression, ""))
}

func checkUpdates(t *rapid.T, s *sides) {
	putGeneratedItem(t, s)

	expression := mangle(t, updateOf(t))
	s.compare(t, "UpdateItem", generated.request("generated", "UpdateExpression", expression, `,"Key":{"id":{"S":"g"}},"ReturnValues":"ALL_NEW"`))
}

func checkProjections(t *rapid.T, s *sides) {
	list := make([]string, rapid.IntRange(1, 4).Draw(t, "paths"))
	for n := range list {
		list[n] = seldom(t, paths, odd)
	}
	s.compare(t, "GetItem", generated.request("generated", "ProjectionExpression", mangle(t, strings.Join(list, " , ")), `,"Key":{"id":{"S":"g"}}`))
}

// checkNumbers: numbers of any size keep their order in a sort key and their value in a sum. Sums
// are compared by value: DynamoDB Local answers 1 + 2.0 with 3.0, the service with 3.
func checkNumbers(t *rapid.T, s *sides) {
	n, m := bigNumbers.Draw(t, "n"), bigNumbers.Draw(t, "m")
	s.compare(t, "PutItem", fmt.Sprintf(`{"TableName":"generated","Item":{"h":{"S":"p"},"r":{"N":%q}}}`, n))
	s.compare(t, "Query", `{"TableName":"generated","KeyConditionExpression":"h = :p AND r <= :r","ScanIndexForward":false,"Limit":5,"ExpressionAttributeValues":{":p":{"S":"p"},":r":{"N":"`+m+`"}}}`)

	sum := fmt.Sprintf(`{"TableName":"generated","Key":{"h":{"S":"sum"},"r":{"N":"0"}},"UpdateExpression":"SET a = :n + :m, b = :n - :m","ExpressionAttributeValues":{":n":{"N":%q},":m":{"N":%q}},"ReturnValues":"ALL_NEW"}`, n, m)

	engine, vendor := s.ask(t, "UpdateItem", sum)
	e, v := engine.line("UpdateItem"), vendor.line("UpdateItem")
	if engine.status == 200 && vendor.status == 200 {
		e, v = rationals(engine), rationals(vendor)
	}

	if !agree(v, e) {
		t.Fatalf("%s\n vendor %s\n engine %s", sum, v, e)
	}
}

var bigNumbers = rapid.Custom(func(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + rapid.StringMatching(`[0-9]{1,20}(\.[0-9]{1,19})?`).Draw(t, "digits") +
		rapid.SampledFrom([]string{"", "e10", "E-10", "e100", "e-120", "e+104", "e120"}).Draw(t, "exponent")
})

// rationals writes the sums of an answer by value.
func rationals(a answer) string {
	var all []string
	attributes, _ := a.body["Attributes"].(map[string]any)
	for _, name := range []string{"a", "b"} {
		v, _ := attributes[name].(map[string]any)
		text, _ := v["N"].(string)

		r, ok := new(big.Rat).SetString(text)
		if !ok {
			return a.raw
		}
		all = append(all, r.RatString())
	}

	return strings.Join(all, " ")
}
