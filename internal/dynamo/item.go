package dynamo

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item, a key, a map, or the values of an expression.
type Item = map[string]types.AttributeValue

// S is a string.
func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// N is a whole number.
func N(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// B is bytes.
func B(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// Bool is a boolean.
func Bool(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// M is a map.
func M(m Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

// Text reads a string, "" when there is none.
func Text(i Item, name string) string {
	v, _ := i[name].(*types.AttributeValueMemberS)
	if v == nil {
		return ""
	}

	return v.Value
}

// Number reads a whole number, 0 when there is none.
func Number(i Item, name string) int64 {
	v, _ := i[name].(*types.AttributeValueMemberN)
	if v == nil {
		return 0
	}
	n, _ := strconv.ParseInt(v.Value, 10, 64) // 0 for what is no whole number

	return n
}

// Bytes reads bytes, nil when there are none.
func Bytes(i Item, name string) []byte {
	v, _ := i[name].(*types.AttributeValueMemberB)
	if v == nil {
		return nil
	}

	return v.Value
}

// Flag reads a boolean, false when there is none.
func Flag(i Item, name string) bool {
	v, _ := i[name].(*types.AttributeValueMemberBOOL)
	return v != nil && v.Value
}
