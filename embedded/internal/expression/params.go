package expression

import (
	"slices"
	"strings"

	"ratchet/embedded/internal/attr"
)

// Params resolves the references of one request: the #names and :values of its expressions. It is
// not safe for concurrent use.
type Params struct {
	Names  map[string]string
	Values map[string]attr.Value

	err        error
	usedNames  []string
	usedValues []string
	// room holds the first of the used names and values.
	room [2][usedAtHand]string
}

// usedAtHand is the number of names, and of values, that need no further memory.
const usedAtHand = 6

// NewParams returns the references of a request with these ExpressionAttributeNames and
// ExpressionAttributeValues; nil means that the request has none. The Parse functions and
// Unused return the error if a name or value is invalid.
func NewParams(names map[string]string, values map[string]attr.Value) *Params {
	p := &Params{Names: names, Values: values}
	p.usedNames, p.usedValues = p.room[0][:0], p.room[1][:0]

	if names != nil {
		p.err = checkNames(names)
	}

	if values != nil && p.err == nil {
		p.err = checkValues(values)
	}

	return p
}

// Err returns the error in the names and values themselves.
func (p *Params) Err() error { return p.err }

// Unused returns an error if there is a name or value to which no expression parsed with p
// refers, or if the names and values themselves are invalid. Call it after the last Parse.
func (p *Params) Unused() error {
	if p.err != nil {
		return p.err
	}

	// Each used reference is listed once and was given, so the numbers tell whether one is unused.
	if len(p.usedNames) < len(p.Names) {
		return unused("ExpressionAttributeNames", p.Names, p.usedNames)
	}

	if len(p.usedValues) < len(p.Values) {
		return unused("ExpressionAttributeValues", p.Values, p.usedValues)
	}

	return nil
}

func unused[V any](field string, given map[string]V, used []string) error {
	var left []string
	for key := range given {
		if !slices.Contains(used, key) {
			left = append(left, key)
		}
	}
	slices.Sort(left)

	return errorf("Value provided in %s unused in expressions: keys: {%s}", field, strings.Join(left, ", "))
}

// name resolves a #reference.
func (p *Params) name(ref string) (string, bool) {
	name, ok := p.Names[ref]
	if ok && !slices.Contains(p.usedNames, ref) {
		p.usedNames = append(p.usedNames, ref)
	}

	return name, ok
}

// value resolves a :reference.
func (p *Params) value(ref string) (attr.Value, bool) {
	v, ok := p.Values[ref]
	if ok && !slices.Contains(p.usedValues, ref) {
		p.usedValues = append(p.usedValues, ref)
	}

	return v, ok
}

func checkNames(names map[string]string) error {
	const field = "ExpressionAttributeNames"
	if err := checkKeys(field, '#', names); err != nil {
		return err
	}

	return firstError(names, func(key, name string) *Error {
		switch {
		case name == "":
			return errorf("%s contains invalid value: Empty attribute name for key %s", field, key)
		case len(name) > attr.MaxNameLength:
			return errorf("%s contains invalid value: Attribute name is too large, must be less than 65536 bytes for key %s", field, key)
		}

		return nil
	})
}

func checkValues(values map[string]attr.Value) error {
	const field = "ExpressionAttributeValues"
	if err := checkKeys(field, ':', values); err != nil {
		return err
	}

	return firstError(values, func(key string, v attr.Value) *Error {
		if err := v.Err(); err != nil {
			return errorf("%s contains invalid value: %v for key %s", field, err, key)
		}
		return nil
	})
}

func checkKeys[V any](field string, mark byte, given map[string]V) error {
	if len(given) == 0 {
		return errorf("%s must not be empty", field)
	}

	return firstError(given, func(key string, _ V) *Error {
		switch {
		case key == "":
			return errorf("%s contains invalid key: The expression attribute map contains an empty key;", field)
		case len(key) > maxReference:
			return errorf("%s contains invalid key: The expression attribute map contains a key that is too long; size of key: %d", field, len(key))
		case key[0] != mark || len(key) == 1 || !wordEndsAt(key, 1, len(key)):
			return errorf("%s contains invalid key: Syntax error; key: %q", field, key)
		}

		return nil
	})
}

// firstError returns the error of the smallest key that has one, so that the same request
// always gets the same answer.
func firstError[V any](given map[string]V, check func(key string, v V) *Error) error {
	var first *Error
	at := ""
	for key, v := range given {
		if err := check(key, v); err != nil && (first == nil || key < at) {
			first, at = err, key
		}
	}

	if first == nil {
		return nil
	}

	return first
}
