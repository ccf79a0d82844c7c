package attr

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of types in the texts of a SerializationException, as the service writes them.
const (
	javaString  = "class java.lang.String"
	javaBoolean = "class java.lang.Boolean"
	javaBytes   = "class java.nio.ByteBuffer"
	javaValue   = "class com.amazonaws.dynamodb.v20120810.AttributeValue"
	javaMap     = "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"
	notExpected = "Start of structure or map found where not expected"
)

func serialization(format string, args ...any) error {
	return &serializationError{fmt.Sprintf(format, args...)}
}

// UnmarshalJSONFrom reads an item in one pass; null gives a nil item. It fails with a
// *serializationError for JSON of the wrong shape, and with the decoder's own error for
// malformed JSON. Values that are not data become Invalid: see Err.
func (i *Item) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	item, message, err := decodeItem(d, 1)
	if err != nil {
		return err
	}

	if message != "" {
		// The item then has only this fault, under a name that no attribute can have.
		item = Item{"": invalid(message)}
	}
	*i = item

	return nil
}

// UnmarshalJSONFrom reads a value in one pass, as Item.UnmarshalJSONFrom does.
func (v *Value) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := decodeValue(d, 1)
	if err != nil {
		return err
	}
	*v = value

	return nil
}

// UnmarshalJSON reads an item, for encoding/json.
func (i *Item) UnmarshalJSON(b []byte) error {
	return unwrap(json.UnmarshalDecode(newDecoder(b), i))
}

// UnmarshalJSON reads a value, for encoding/json.
func (v *Value) UnmarshalJSON(b []byte) error {
	return unwrap(json.UnmarshalDecode(newDecoder(b), v))
}

func newDecoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
}

// unwrap returns this package's own error without the JSON package's wrapping.
func unwrap(err error) error {
	var s *serializationError
	if errors.As(err, &s) {
		return s
	}

	return err
}

// decodeItem reads an object of values. message is not empty when a name in it is not
// allowed.
func decodeItem(d *jsontext.Decoder, depth int) (item Item, message string, err error) {
	switch d.PeekKind() {
	case 'n':
		_, err := d.ReadToken()
		return nil, "", err
	case '{':
	case '[':
		return nil, "", serialization("Unrecognized collection type %s", javaMap)
	default:
		return nil, "", unexpected(d, "Unexpected field type")
	}

	if _, err := d.ReadToken(); err != nil {
		return nil, "", err
	}

	item = Item{}
	for d.PeekKind() != '}' {
		name, err := readString(d)
		if err != nil {
			return nil, "", err
		}

		v, err := decodeValue(d, depth)
		if err != nil {
			return nil, "", err
		}

		switch {
		// Reading goes on: a SerializationException further on is reported instead of the
		// fault of this name.
		case name == "":
			message = msgEmptyName
		case len(name) > MaxNameLength:
			message = msgNameTooLarge
		}

		item[name] = v
	}

	_, err = d.ReadToken()

	return item, message, err
}

// unexpected returns the error for JSON of the wrong type, or the decoder's error when
// the JSON is malformed.
func unexpected(d *jsontext.Decoder, message string) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}

	return &serializationError{message}
}

// decodeValue reads {"S":"x"}. It ignores members that are null or unknown.
func decodeValue(d *jsontext.Decoder, depth int) (Value, error) {
	switch d.PeekKind() {
	case 'n':
		_, err := d.ReadToken()
		return Value{}, err
	case '{':
	case '[':
		return Value{}, serialization("Unrecognized collection type %s", javaValue)
	default:
		return Value{}, unexpected(d, "Unexpected value type in payload")
	}

	// The rest of a value that is too deep is skipped: the request may have other faults
	// that the service reports first.
	if depth > MaxDepth {
		return invalid(msgTooDeep), d.SkipValue()
	}

	if _, err := d.ReadToken(); err != nil {
		return Value{}, err
	}

	var value Value
	members := 0
	for d.PeekKind() != '}' {
		kind, err := readKind(d)
		if err != nil {
			return Value{}, err
		}

		if kind == Invalid || d.PeekKind() == 'n' {
			if err := d.SkipValue(); err != nil {
				return Value{}, err
			}

			continue
		}

		v, err := decodeMember(d, kind, depth)
		if err != nil {
			return Value{}, err
		}

		// The service reports a fault within any member before it reports that there are
		// several members.
		members++
		if members == 1 || v.Kind == Invalid && value.Kind != Invalid {
			value = v
		}
	}

	if members > 1 && value.Kind != Invalid {
		value = invalid(msgMany)
	}

	_, err := d.ReadToken()

	return value, err
}

// readKind reads a member's name. An unknown name gives Invalid.
func readKind(d *jsontext.Decoder) (Kind, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return Invalid, err
	}

	// The usual types without a copy of their names.
	switch string(raw) {
	case `"S"`:
		return S, nil
	case `"N"`:
		return N, nil
	case `"M"`:
		return M, nil
	}

	name, err := unquote(raw)

	return KindOf(name), err
}

// decodeMember reads the data that follows a descriptor.
func decodeMember(d *jsontext.Decoder, kind Kind, depth int) (Value, error) {
	switch kind {
	case S:
		s, err := decodeString(d)
		return Value{Kind: S, Str: s}, err
	case N:
		s, err := decodeString(d)
		if err != nil {
			return Value{}, err
		}

		// A text that is no number is a fault of the value and not of the JSON.
		n, err := ParseNumber(s)
		if err != nil {
			return invalid(err.Error()), nil
		}

		return Value{Kind: N, Str: n}, nil
	case B:
		b, err := decodeBytes(d)
		return Value{Kind: B, Str: b}, err
	case BOOL:
		b, err := decodeBool(d)
		return Value{Kind: BOOL, Bool: b}, err
	case NULL:
		b, err := decodeBool(d)
		if !b && err == nil {
			return invalid(msgNullTrue), nil
		}

		return Value{Kind: NULL, Bool: true}, err
	case M:
		return decodeMap(d, depth)
	case L:
		return decodeList(d, depth)
	default:
		return decodeSet(d, kind)
	}
}

func decodeMap(d *jsontext.Decoder, depth int) (Value, error) {
	m, message, err := decodeItem(d, depth+1)
	if err != nil {
		return Value{}, err
	}

	if message != "" {
		return invalid(message), nil
	}

	// A map with an Invalid member is Invalid itself, so that Item.Err looks at one level only.
	if err := m.Err(); err != nil {
		return invalid(err.Error()), nil
	}

	return Value{Kind: M, Map: m}, nil
}

func decodeList(d *jsontext.Decoder, depth int) (Value, error) {
	if err := beginList(d); err != nil {
		return Value{}, err
	}

	// The list is read to its end: a SerializationException after a fault is reported
	// instead of the fault.
	list, fault := []Value{}, ""
	for d.PeekKind() != ']' {
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return Value{}, err
		}

		if err := v.Err(); err != nil && fault == "" {
			fault = err.Error()
		}

		list = append(list, v)
	}

	_, err := d.ReadToken()
	if fault != "" {
		return invalid(fault), err
	}

	return NewList(list), err
}

// beginList reads the opening bracket.
func beginList(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '[':
		_, err := d.ReadToken()
		return err
	case '{':
		return serialization(notExpected)
	default:
		return unexpected(d, "Unexpected field type")
	}
}
