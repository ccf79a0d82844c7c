package dynamo

import (
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// JSON returns an item as DynamoDB's JSON has it, each value an object with its type as the one member. It is nil for
// nil. It fails for a value of no type.
func JSON(in Item) (map[string]any, error) {
	if in == nil {
		return nil, nil
	}

	out := make(map[string]any, len(in))
	for k, v := range in {
		e, err := jsonValue(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", k, err)
		}
		out[k] = e
	}

	return out, nil
}

func jsonValue(in types.AttributeValue) (any, error) {
	switch v := in.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}, nil
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}, nil
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}, nil
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}, nil
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}, nil
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}, nil
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}, nil
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}, nil
	case *types.AttributeValueMemberM:
		// An empty map must stay a map: JSON returns nil for nil, which would decode to no value.
		m, err := JSON(v.Value)
		if m == nil {
			m = map[string]any{}
		}

		return map[string]any{"M": m}, err
	case *types.AttributeValueMemberL:
		l := make([]any, len(v.Value))
		for i, e := range v.Value {
			var err error
			if l[i], err = jsonValue(e); err != nil {
				return nil, err
			}
		}

		return map[string]any{"L": l}, nil
	case *types.UnknownUnionMember:
		// Of a type that the SDK does not know, and no reader either.
		return map[string]any{v.Tag: v.Value}, nil
	}

	return nil, fmt.Errorf("value of unknown type %T", in)
}

// FromJSON is the reverse of JSON, for JSON that was decoded with encoding/json.
func FromJSON(in map[string]any) (Item, error) {
	if in == nil {
		return nil, nil
	}

	out := make(Item, len(in))
	for k, v := range in {
		d, err := valueOf(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", k, err)
		}
		out[k] = d
	}

	return out, nil
}

func valueOf(in any) (types.AttributeValue, error) {
	m, ok := in.(map[string]any)
	if !ok || len(m) != 1 {
		return nil, fmt.Errorf("want an object with one member, got %T", in)
	}

	for kind, v := range m {
		switch v := v.(type) {
		case string:
			return scalarOf(kind, v)
		case bool:
			if kind == "BOOL" {
				return &types.AttributeValueMemberBOOL{Value: v}, nil
			}

			if kind == "NULL" {
				return &types.AttributeValueMemberNULL{Value: v}, nil
			}
		case map[string]any:
			if kind == "M" {
				inner, err := FromJSON(v)
				return &types.AttributeValueMemberM{Value: inner}, err
			}
		case []any:
			return listOf(kind, v)
		}

		return nil, fmt.Errorf("type %s with a %T", kind, v)
	}

	return nil, nil
}

func scalarOf(kind, v string) (types.AttributeValue, error) {
	switch kind {
	case "S":
		return &types.AttributeValueMemberS{Value: v}, nil
	case "N":
		return &types.AttributeValueMemberN{Value: v}, nil
	case "B":
		b, err := base64.StdEncoding.DecodeString(v)
		return &types.AttributeValueMemberB{Value: b}, err
	}

	return nil, fmt.Errorf("type %s with a string", kind)
}

func listOf(kind string, in []any) (types.AttributeValue, error) {
	if kind == "L" {
		l := make([]types.AttributeValue, len(in))
		for i, e := range in {
			var err error
			if l[i], err = valueOf(e); err != nil {
				return nil, err
			}
		}

		return &types.AttributeValueMemberL{Value: l}, nil
	}

	// Every other kind is a set, whose elements are plain texts without a type of their own.
	texts := make([]string, len(in))
	for i, e := range in {
		s, ok := e.(string)
		if !ok {
			return nil, fmt.Errorf("type %s with a %T", kind, e)
		}
		texts[i] = s
	}

	switch kind {
	case "SS":
		return &types.AttributeValueMemberSS{Value: texts}, nil
	case "NS":
		return &types.AttributeValueMemberNS{Value: texts}, nil
	case "BS":
		bs := make([][]byte, len(texts))
		for i, s := range texts {
			var err error
			if bs[i], err = base64.StdEncoding.DecodeString(s); err != nil {
				return nil, err
			}
		}

		return &types.AttributeValueMemberBS{Value: bs}, nil
	}

	return nil, fmt.Errorf("type %s with a list", kind)
}
