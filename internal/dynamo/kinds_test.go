package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

func TestAnAttributeOfAnotherTypeIsNamed(t *testing.T) {
	kinds := dynamo.Kinds{"s": "S", "n": "N", "b": "B", "f": "BOOL", "m": "M", "l": "L", "set": "SS"}
	list := func(v ...types.AttributeValue) types.AttributeValue { return &types.AttributeValueMemberL{Value: v} }
	right := func() dynamo.Item {
		return dynamo.Item{
			"s": dynamo.S("x"), "n": dynamo.N(1), "b": dynamo.B(nil), "f": dynamo.Bool(false), "m": dynamo.M(nil), "l": list(),
			"set": dynamo.SS("x"), "another": dynamo.S("x"),
		}
	}

	if err := kinds.Check(right()); err != nil || kinds.Check(nil) != nil {
		t.Error(err)
	}

	for name, kind := range kinds {
		item := right()
		item[name] = &types.AttributeValueMemberNULL{Value: true}

		if err := kinds.Check(item); err == nil || err.Error() != "attribute "+name+" is not of type "+kind {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := kinds.Check(dynamo.Item{"n": &types.AttributeValueMemberN{Value: "1.5"}, "s": dynamo.N(1)}); err == nil || !strings.Contains(err.Error(), "attribute n ") {
		t.Errorf("a fraction: %v", err)
	}

	for want, member := range map[string]types.AttributeValue{"": dynamo.M(right()), "l[1] is not of type M": dynamo.S("x"), "l[1]: attribute s": dynamo.M(dynamo.Item{"s": dynamo.N(1)})} {
		err := kinds.CheckAll(dynamo.Item{"l": list(dynamo.M(nil), member)}, "l")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
