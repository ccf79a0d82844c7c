package dynamo

import (
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
