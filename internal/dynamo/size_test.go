package dynamo

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The sizes come from the developer guide, with an upper estimate for numbers.
func TestSizesAreThoseThatDynamoDBCounts(t *testing.T) {
	text := func(n int) types.AttributeValue { return &types.AttributeValueMemberS{Value: strings.Repeat("x", n)} }
	number := func(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: strings.Repeat("1", n)} }

	for _, row := range []struct {
		name  string
		value types.AttributeValue
		want  int
	}{
		{"a text", text(7), 7},
		{"bytes", &types.AttributeValueMemberB{Value: make([]byte, 9)}, 9},
		{"a number of 1 digit", number(1), 2},
		{"a number of 4 digits", number(4), 4},
		{"a number of 38 digits", number(38), 21},
		{"a number with exponent and sign", number(44), 21},
		{"texts", &types.AttributeValueMemberSS{Value: []string{"ab", "cde"}}, 5},
		{"sets of bytes", &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, 3},
		{"numbers", &types.AttributeValueMemberNS{Value: []string{"1", "1111"}}, 6},
		{"a truth value", &types.AttributeValueMemberBOOL{}, 1},
		{"a list", &types.AttributeValueMemberL{Value: []types.AttributeValue{text(10), text(20)}}, 3 + 11 + 21},
		{"a map", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"ab": text(10), "cde": text(20)}}, 3 + 2*1 + 12 + 23},
	} {
		if got := Size(Item{"name": row.value}); got != 4+row.want {
			t.Errorf("%s: %d, want %d", row.name, got-4, row.want)
		}
	}
}
