package dynamo

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Kinds names the types of attributes as DynamoDB's JSON does: S, N, B, BOOL, M, L or SS. An N is a whole
// number of 64 bits.
type Kinds map[string]string

// Check returns an error that names an attribute which the item has in another type; the first by name if
// there are several. An attribute of another type is no absent one: what reads it as "" or 0 would decide
// on something that was never written. Check ignores attributes that k does not name.
func (k Kinds) Check(item Item) error {
	wrong := ""

	for name, v := range item {
		if kind := k[name]; kind != "" && kindOf(v) != kind && (wrong == "" || name < wrong) {
			wrong = name
		}
	}

	if wrong == "" {
		return nil
	}

	return fmt.Errorf("attribute %s is not of type %s", wrong, k[wrong])
}

// CheckAll is Check for each map in the list of that name. A member of the list that is no map is an error.
func (k Kinds) CheckAll(item Item, name string) error {
	list, _ := item[name].(*types.AttributeValueMemberL)
	if list == nil {
		return nil
	}

	for i, v := range list.Value {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			return fmt.Errorf("attribute %s[%d] is not of type M", name, i)
		}

		if err := k.Check(m.Value); err != nil {
			return fmt.Errorf("attribute %s[%d]: %w", name, i, err)
		}
	}

	return nil
}

func kindOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		if _, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			return "N"
		}
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberSS:
		return "SS"
	}

	return ""
}
