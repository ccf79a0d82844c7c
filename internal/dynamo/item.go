package dynamo

import (
	"strconv"
	"time"
	"unicode/utf8"

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

// Millis is a moment as epoch milliseconds.
func Millis(t time.Time) types.AttributeValue { return N(t.UnixMilli()) }

// Seconds is a moment as epoch seconds, rounded down: the unit of a TTL attribute.
func Seconds(t time.Time) types.AttributeValue { return N(t.Unix()) }

// Numbers reads a set of whole numbers.
func Numbers(i Item, name string) map[int]bool {
	numbers := map[int]bool{}
	if set, ok := i[name].(*types.AttributeValueMemberNS); ok {
		for _, text := range set.Value {
			if n, err := strconv.Atoi(text); err == nil {
				numbers[n] = true
			}
		}
	}

	return numbers
}

// B is bytes.
func B(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// Bool is a boolean.
func Bool(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// SS is a set of strings.
func SS(members ...string) types.AttributeValue {
	return &types.AttributeValueMemberSS{Value: members}
}

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
	n, _ := strconv.ParseInt(v.Value, 10, 64) // 0 for a fraction or an exponent

	return n
}

// Time reads a moment in epoch milliseconds, in UTC. It returns the zero time when there
// is none, or when the number is 0.
func Time(i Item, name string) time.Time {
	ms := Number(i, name)
	if ms == 0 {
		return time.Time{}
	}

	return time.UnixMilli(ms).UTC()
}

// HasExpired reports whether an item counts as absent, because the attribute has a time, in epoch
// seconds, at or before now. An item without the attribute never expires.
func HasExpired(i Item, name string, now time.Time) bool {
	ends := Number(i, name)

	return ends > 0 && ends <= now.Unix()
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

// Cut returns the text with at most n bytes, whole characters only.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}

	// Back to the first byte of the character that the cut would split.
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}

	return text[:n]
}
