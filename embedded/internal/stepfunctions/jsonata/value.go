package jsonata

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/recolabs/gnata"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// orderedObject is an object in the form that gnata decodes and makes, with the order of its members.
type orderedObject interface {
	Len() int
	Range(f func(name string, value any) bool)
}

// encoder writes a value as JSON.
type encoder struct {
	out []byte
	err error
}

// encode returns a value of gnata as JSON. It fails for functions, and for a value that is
// larger or deeper than a value may be.
func encode(v any) ([]byte, error) {
	e := &encoder{}
	e.value(v, 0)

	return e.out, e.err
}

func (e *encoder) value(v any, depth int) {
	if e.err != nil {
		return
	}

	if len(e.out) > maxValue {
		e.err = errMemory
		return
	}

	if depth > rawjson.MaxDepth {
		e.err = errUnsupported
		return
	}

	switch v := v.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case string:
		e.out = rawjson.AppendText(e.out, v)
	case json.Number:
		e.out = appendNumber(e.out, v)
	case float64:
		e.out = appendFloat(e.out, v)
	case []any:
		e.array(v, depth)
	case orderedObject:
		e.object(v.Range, depth)
	case map[string]any:
		e.plainObject(v, depth)
	default:
		// gnata has a value of its own for null, because nil means undefined.
		if !gnata.IsNull(v) {
			e.err = errUnsupported
			return
		}

		e.out = append(e.out, "null"...)
	}
}

func (e *encoder) array(items []any, depth int) {
	if len(items) > maxItems {
		e.err = errMemory
		return
	}

	e.out = append(e.out, '[')
	for i, item := range items {
		if i > 0 {
			e.out = append(e.out, ',')
		}

		e.value(item, depth+1)

		if e.err != nil {
			return
		}
	}

	e.out = append(e.out, ']')
}

func (e *encoder) object(members func(func(string, any) bool), depth int) {
	e.out = append(e.out, '{')
	first := true
	members(func(name string, value any) bool {
		if !first {
			e.out = append(e.out, ',')
		}

		first = false
		e.out = append(rawjson.AppendText(e.out, name), ':')
		e.value(value, depth+1)

		return e.err == nil
	})

	e.out = append(e.out, '}')
}

// plainObject writes a map in the order of its names. gnata makes some objects as maps, for example the
// matches of an expression.
func (e *encoder) plainObject(m map[string]any, depth int) {
	e.object(func(yield func(string, any) bool) {
		for _, name := range sortedNames(m) {
			if !yield(name, m[name]) {
				return
			}
		}
	}, depth)
}

// appendNumber appends a number from JSON: an integer of 64 bits as it is, any other number
// as the double that it is on the service.
func appendNumber(out []byte, n json.Number) []byte {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return strconv.AppendInt(out, i, 10)
	}

	f, _ := strconv.ParseFloat(string(n), 64) // infinite beyond the doubles

	return appendFloat(out, f)
}

// appendFloat appends a number as JavaScript writes it. JSON has no infinite numbers: the
// service writes their names.
// Source: https://github.com/floci-io/floci/pull/2783: measured on AWS.
func appendFloat(out []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(out, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(out, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(out, `"-Infinity"`...)
	case f == 0: // also -0
		return append(out, '0')
	}

	// JavaScript writes numbers in this range without an exponent.
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(out, f, 'f', -1, 64)
	}

	text := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")

	// Go writes two digits of the exponent at least, JavaScript no leading zero.
	return append(out, mantissa+"e"+exponent[:1]+strings.TrimLeft(exponent[1:], "0")...)
}

// decode reads JSON as gnata does.
func decode(text []byte) (any, error) { return gnata.DecodeJSON(text) }

// isFunction reports whether a value of gnata is a function: of the expression itself or of the language.
func isFunction(v any) bool {
	if v == nil {
		return false
	}

	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Func {
		return true
	}

	// gnata does not export these types, so only their names are known.
	return t.Kind() == reflect.Pointer && (t.Elem().Name() == "Lambda" || t.Elem().Name() == "SignedBuiltin")
}

// typeName returns the name of the type of a JSON value, as error messages have it.
func typeName(v []byte) string {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return "object"
	case rawjson.Array:
		return "array"
	case rawjson.String:
		return "string"
	case rawjson.Number:
		return "number"
	case rawjson.Bool:
		return "boolean"
	default:
		return "null"
	}
}
