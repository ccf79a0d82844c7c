package expression

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ratchet/embedded/internal/attr"
)

// vendorAnswers are the answers of DynamoDB Local 3.1.0 to expressions; the files under
// testdata were recorded from it, and tests/conformance asks it again.
type vendorAnswers struct {
	Item   attr.Item
	Names  map[string]string
	Values map[string]attr.Value
	Rows   []struct {
		Expression string
		Answer     json.RawMessage
	}
}

func readAnswers(t testing.TB, file string) vendorAnswers {
	t.Helper()

	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}

	var v vendorAnswers
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}

	return v
}

var reference = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

// params gives a request the references that its expression names, as the recording did.
func (v vendorAnswers) params(src string) *Params {
	names, values := map[string]string{}, map[string]attr.Value{}
	for _, ref := range reference.FindAllString(src, -1) {
		if name, ok := v.Names[ref]; ok {
			names[ref] = name
		}

		if value, ok := v.Values[ref]; ok {
			values[ref] = value
		}
	}

	if len(names) == 0 {
		names = nil
	}

	if len(values) == 0 {
		values = nil
	}

	return NewParams(names, values)
}

// awsKnowsBetter are the expressions that DynamoDB answers in other words than
// DynamoDB Local. The reasons stand in tests/conformance/differences_test.go.
var awsKnowsBetter = map[string]string{
	"a.:s = :s":                     `Invalid ConditionExpression: Syntax error; token: ":s", near: ".:s ="`,
	"size = :n":                     "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: size",
	"attribute_type(a, n)":          "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}",
	"SET a = :s, a = :t ADD q :s":   "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]",
	"r = :t":                        "Query condition missed key schema element: h",
	"h = :s AND a = :t":             "Query condition missed key schema element: r",
	"a = :s":                        "Query condition missed key schema element: h",
	"h = :s AND begins_with(a, :s)": "Query condition missed key schema element: r",
	"r BETWEEN :s AND :t":           "Query condition missed key schema element: h",
	"begins_with(r, :s)":            "Query condition missed key schema element: h",
	"a = :s AND b = :s":             "Query condition missed key schema element: h",
	"h = :s AND r = :s AND a = :t":  "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
	"h = :s AND a = :s AND r = :t":  "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
	"h.x = :s":                      "KeyConditionExpressions cannot have conditions on nested attributes",
	"h = :s AND r[0] = :s":          "KeyConditionExpressions cannot have conditions on nested attributes",
}

var braces = regexp.MustCompile(`\{[^{}]*\}`)

// sameWords compares messages; lists in braces come out of a Java hash set and have
// no order.
func sameWords(a, b string) bool {
	sorted := func(s string) string {
		return braces.ReplaceAllStringFunc(s, func(m string) string {
			words := strings.Split(strings.Trim(m, "{}"), ",")
			for n := range words {
				words[n] = strings.TrimSpace(words[n])
			}
			slices.Sort(words)

			return strings.Join(words, ",")
		})
	}

	return sorted(a) == sorted(b)
}

// checkAnswer compares a result with a vendor's row: an error with a message,
// anything else as JSON.
func checkAnswer(t *testing.T, file, src string, want json.RawMessage, got any, err error) {
	t.Helper()

	var message string
	better, ok := awsKnowsBetter[src]
	ok = ok && (file == "keyconditions.json") == (strings.Contains(better, "uery condition") || strings.HasPrefix(better, "KeyCondition"))
	if ok || json.Unmarshal(want, &message) == nil {
		if ok {
			message = better
		}

		if err == nil || !sameWords(err.Error(), message) {
			t.Errorf("%s\n got  %v (error %v)\n want error %s", src, got, err, message)
		}

		return
	}

	if err != nil {
		t.Errorf("%s\n got  error %v\n want %s", src, err, want)
		return
	}

	if items, ok := got.(attr.Item); ok {
		var item attr.Item
		if err := json.Unmarshal(want, &item); err != nil {
			t.Fatal(err)
		}

		if !attr.EqualItems(items, item) {
			t.Errorf("%s\n got  %s\n want %s", src, items.AppendJSON(nil), item.AppendJSON(nil))
		}

		return
	}

	if text, _ := json.Marshal(got); string(text) != string(want) {
		t.Errorf("%s\n got  %s\n want %s", src, text, want)
	}
}

func TestConditionsAsTheVendor(t *testing.T) {
	v := readAnswers(t, "conditions.json")
	for _, row := range v.Rows {
		p := v.params(row.Expression)
		c, err := ParseCondition("ConditionExpression", row.Expression, p)
		var got any
		if err == nil {
			if err = p.Unused(); err == nil {
				got, err = c.Match(v.Item)
			}
		}
		checkAnswer(t, "conditions.json", row.Expression, row.Answer, got, err)
	}
}

func TestUpdatesAsTheVendor(t *testing.T) {
	v := readAnswers(t, "updates.json")
	for _, row := range v.Rows {
		p := v.params(row.Expression)
		u, err := ParseUpdate(row.Expression, p)
		var got any
		if err == nil {
			if err = p.Unused(); err == nil {
				if u.WritesTo("id") {
					continue // the caller refuses to touch a key
				}
				got, err = u.Apply(v.Item)
			}
		}
		checkAnswer(t, "updates.json", row.Expression, row.Answer, got, err)
	}
}

func TestProjectionsAsTheVendor(t *testing.T) {
	v := readAnswers(t, "projections.json")
	for _, row := range v.Rows {
		projection, err := ParseProjection(row.Expression, v.params(row.Expression))
		var got any
		if err == nil {
			got = projection.Apply(v.Item)
		}
		checkAnswer(t, "projections.json", row.Expression, row.Answer, got, err)
	}
}

func TestKeyConditionsAsTheVendor(t *testing.T) {
	v := readAnswers(t, "keyconditions.json")
	for _, row := range v.Rows {
		k, err := keyCondition(row.Expression, v.params(row.Expression))
		checkAnswer(t, "keyconditions.json", row.Expression, row.Answer, k != nil, err)
	}
}

// keyCondition parses a key condition for a table with the keys h and r, which are strings.
func keyCondition(src string, p *Params) (*KeyCondition, error) {
	e, err := ParseKeyCondition(src, p)
	if err != nil {
		return nil, err
	}

	terms, err := e.Terms()
	if err != nil {
		return nil, err
	}

	return terms.Condition(KeySchema{Hash: []Key{{"h", attr.S}}, Range: []Key{{"r", attr.S}}}, nil)
}
