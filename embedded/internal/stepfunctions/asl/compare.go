package asl

import (
	"errors"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// comparedTypes are the types that rules compare, by the prefix of the operator.
var comparedTypes = []struct {
	prefix, constant string
	order            func(a, b []byte) (int, bool)
}{
	{prefix: "String", constant: "STRING", order: orderTexts},
	{prefix: "Numeric", constant: "NUMBER", order: orderNumbers},
	{prefix: "Timestamp", constant: "TIMESTAMP", order: orderTimes},
	{prefix: "Boolean", constant: "BOOLEAN", order: orderBooleans},
}

// relations are the suffixes of the operators.
var relations = []struct {
	suffix  string
	accepts func(order int) bool
}{
	{suffix: "Equals", accepts: func(o int) bool { return o == 0 }},
	{suffix: "LessThan", accepts: func(o int) bool { return o < 0 }},
	{suffix: "LessThanEquals", accepts: func(o int) bool { return o <= 0 }},
	{suffix: "GreaterThan", accepts: func(o int) bool { return o > 0 }},
	{suffix: "GreaterThanEquals", accepts: func(o int) bool { return o >= 0 }},
}

// tests are the operators that test the type of a value.
var tests = map[string]func(v []byte) bool{
	"IsNull":      func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Null },
	"IsString":    func(v []byte) bool { return rawjson.KindOf(v) == rawjson.String },
	"IsNumeric":   func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Number },
	"IsBoolean":   func(v []byte) bool { return rawjson.KindOf(v) == rawjson.Bool },
	"IsTimestamp": func(v []byte) bool { _, ok := instant(v); return ok },
}

func orderTexts(a, b []byte) (int, bool) {
	x, okX := rawjson.Text(a)
	y, okY := rawjson.Text(b)

	return strings.Compare(x, y), okX && okY
}

func orderNumbers(a, b []byte) (int, bool) {
	if rawjson.KindOf(a) != rawjson.Number || rawjson.KindOf(b) != rawjson.Number {
		return 0, false
	}

	return rawjson.CompareNumbers(a, b), true
}

func orderTimes(a, b []byte) (int, bool) {
	x, okX := instant(a)
	y, okY := instant(b)

	return x.Compare(y), okX && okY
}

func orderBooleans(a, b []byte) (int, bool) {
	ok := rawjson.KindOf(a) == rawjson.Bool && rawjson.KindOf(b) == rawjson.Bool
	// Booleans have no order: compileComparison allows Equals only.
	if rawjson.True(a) == rawjson.True(b) {
		return 0, ok
	}

	return 1, ok
}

// instant returns the time of an RFC 3339 timestamp.
func instant(v []byte) (time.Time, bool) {
	text, ok := rawjson.Text(v)
	if !ok {
		return time.Time{}, false
	}

	t, err := ParseTimestamp(text)

	return t, err == nil
}

var errTimestamp = errors.New("a comma before the fraction, or an hour of one digit")

// ParseTimestamp reads an RFC 3339 timestamp. It refuses two forms that time.Parse accepts.
func ParseTimestamp(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	// The first colon stands behind an hour of two digits.
	if err == nil && (strings.Contains(text, ",") || strings.Index(text, ":") != len("2006-01-02T15")) {
		err = errTimestamp
	}

	return t, err
}
