package expression

import (
	"strings"
	"testing"

	"ratchet/embedded/internal/attr"
)

func TestParamsRefusals(t *testing.T) {
	s := attr.Value{Kind: attr.S, Str: "x"}
	used := map[string]attr.Value{":x": s}
	with := func(key string, v attr.Value) map[string]attr.Value {
		return map[string]attr.Value{":x": s, key: v}
	}
	for _, tt := range []struct {
		name   string
		names  map[string]string
		values map[string]attr.Value
		want   string
	}{
		{"all are used", map[string]string{"#a": "a"}, used, ""},
		{"no names at all", nil, used, "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; attribute name: #a"},
		{"empty names", map[string]string{}, used, "ExpressionAttributeNames must not be empty"},
		{"empty values", map[string]string{"#a": "a"}, map[string]attr.Value{}, "ExpressionAttributeValues must not be empty"},
		{"a name without its mark", map[string]string{"#a": "a", "b": "b"}, used, `ExpressionAttributeNames contains invalid key: Syntax error; key: "b"`},
		{"a name that is only a mark", map[string]string{"#a": "a", "#": "b"}, used, `ExpressionAttributeNames contains invalid key: Syntax error; key: "#"`},
		{"an empty key", map[string]string{"#a": "a", "": "b"}, used, "ExpressionAttributeNames contains invalid key: The expression attribute map contains an empty key;"},
		{"a key of 256 bytes", map[string]string{"#a": "a", "#" + strings.Repeat("n", 255): "b"}, used, "ExpressionAttributeNames contains invalid key: The expression attribute map contains a key that is too long; size of key: 256"},
		{"a name that stands for nothing", map[string]string{"#a": ""}, used, "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"},
		{"a name for something too long", map[string]string{"#a": strings.Repeat("n", 65536)}, used, "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be less than 65536 bytes for key #a"},
		{"a value with a bad key", map[string]string{"#a": "a"}, with(":a-b", s), `ExpressionAttributeValues contains invalid key: Syntax error; key: ":a-b"`},
		{"a value that is none", map[string]string{"#a": "a"}, with(":y", attr.Value{}), "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :y"},
		{"an unused name", map[string]string{"#a": "a", "#c": "c", "#b": "b"}, used, "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #c}"},
		{"an unused value", map[string]string{"#a": "a"}, with(":y", s), "Value provided in ExpressionAttributeValues unused in expressions: keys: {:y}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewParams(tt.names, tt.values)
			_, err := ParseCondition("ConditionExpression", "#a = :x AND #a <> :x", p)
			if err == nil {
				err = p.Unused()
			}

			got := ""
			if err != nil {
				got = err.Error()
			}

			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	repeat := func(n int, part, between string) string {
		return strings.TrimSuffix(strings.Repeat(part+between, n), between)
	}
	for _, tt := range []struct{ name, src, want string }{
		{"4096 characters pass", "a=:x" + strings.Repeat(" ", 4092), ""},
		{"4097 characters do not", "a=:x" + strings.Repeat(" ", 4093), "Expression size has exceeded the maximum allowed size; expression size: 4097"},
		{"nothing", "", "The expression can not be empty;"},
		{"299 NOT and a comparison are 300 operators", strings.Repeat("NOT ", 299) + "a=:x", ""},
		{"300 NOT and a comparison are too many", strings.Repeat("NOT ", 300) + "a=:x", "The expression contains too many operators; operator count: 301"},
		{"100 operands of IN pass", "a IN (" + repeat(100, ":x", ",") + ")", ""},
		{"101 operands of IN do not", "a IN (" + repeat(101, ":x", ",") + ")", "The IN operator is provided with too many operands; number of operands: 101"},
		{"a path of 32 steps passes", repeat(32, "a", ".") + " = :x", ""},
		{"a path of 33 steps does not", repeat(33, "a", ".") + " = :x", "The document path has too many nesting levels; nesting levels: 33"},
		{"thousands of parentheses", strings.Repeat("(", 4000), `Syntax error; token: "<EOF>", near: "("`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseCondition("FilterExpression", tt.src, NewParams(nil, map[string]attr.Value{":x": {Kind: attr.S}}))
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "Invalid FilterExpression: ")
			}

			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
