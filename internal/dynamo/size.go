package dynamo

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Size returns about how many bytes DynamoDB counts for the attributes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func Size(i Item) int {
	n := 0
	for name, v := range i {
		n += len(name) + valueSize(v)
	}

	return n
}

const (
	collection = 3  // overhead of a list or a map
	member     = 1  // overhead of each member of a list or a map
	mostNumber = 21 // a number of 38 digits
)

func valueSize(v types.AttributeValue) int {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	// The sender cannot know the exact size of a number, so numbers are estimated from above.
	case *types.AttributeValueMemberN:
		n = numberSize(v.Value)
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			n += numberSize(s)
		}
	case *types.AttributeValueMemberL:
		n = collection
		for _, m := range v.Value {
			n += member + valueSize(m)
		}
	case *types.AttributeValueMemberM:
		n = collection + member*len(v.Value) + Size(v.Value)
	default: // BOOL, NULL
		n = 1
	}

	return n
}

// numberSize is an upper estimate: one byte for two digits, and one more.
func numberSize(text string) int { return min(len(text)/2+2, mostNumber) }
