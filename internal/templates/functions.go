package templates

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sync"
	"text/template"
)

// builtins are the functions of text/template, without call. What and and or do is done by the run.
var builtins = sync.OnceValue(func() map[string]any {
	logic := func(...any) any { return nil }

	return map[string]any{
		"and": logic, "or": logic, "not": func(value any) bool { return !isTrue(value) },
		"len": length, "index": index, "slice": slice,
		"print": fmt.Sprint, "printf": format, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"eq": equal, "ne": func(a, b any) (bool, error) { same, err := equal(a, b); return !same, err },
		"lt": compared(func(order int) bool { return order < 0 }), "le": compared(func(order int) bool { return order <= 0 }),
		"gt": compared(func(order int) bool { return order > 0 }), "ge": compared(func(order int) bool { return order >= 0 }),
	}
})

// wide matches a verb whose value may have more than 999 characters by its width or precision.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*(\*|[0-9]{4})`)

// format is fmt.Sprintf, which pads a value to a million characters if a template says so.
func format(text string, values ...any) (string, error) {
	if wide.MatchString(text) {
		return "", errors.New("a width or precision above 999, or one that is a value")
	}

	return fmt.Sprintf(text, values...), nil
}

func length(value any) (int, error) {
	switch v := pointed(value); v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), nil
	default:
		return 0, fmt.Errorf("len of a value of type %T", value)
	}
}

// index returns x[i][j]. A map without the key has the zero value.
func index(value any, indexes ...any) (any, error) {
	for _, i := range indexes {
		v := pointed(value)
		switch v.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			at, err := position(i, v.Len()-1)
			if err != nil {
				return nil, err
			}
			value = v.Index(at).Interface()
		case reflect.Map:
			key, err := argument(i, v.Type().Key())
			if err != nil {
				return nil, err
			}

			element := v.MapIndex(key)
			if !element.IsValid() {
				element = reflect.Zero(v.Type().Elem())
			}
			value = element.Interface()
		default:
			return nil, fmt.Errorf("index of a value of type %T", value)
		}
	}

	return value, nil
}

// slice returns x[i:j].
func slice(value any, indexes ...any) (any, error) {
	v := pointed(value)
	if v.Kind() != reflect.Slice && v.Kind() != reflect.String {
		return nil, fmt.Errorf("slice of a value of type %T", value)
	}

	if len(indexes) > 2 {
		return nil, errors.New("more than two indexes")
	}

	bounds := [2]int{0, v.Len()}

	for i, one := range indexes {
		var err error
		if bounds[i], err = position(one, v.Len()); err != nil {
			return nil, err
		}
	}

	if bounds[0] > bounds[1] {
		return nil, fmt.Errorf("index %d is above %d", bounds[0], bounds[1])
	}

	return v.Slice(bounds[0], bounds[1]).Interface(), nil
}

func position(value any, last int) (int, error) {
	v := reflect.ValueOf(value)
	if !v.CanInt() || v.Int() < 0 || v.Int() > int64(last) {
		return 0, fmt.Errorf("no index from 0 to %d: %v", last, value)
	}

	return int(v.Int()), nil
}

var errComparison = errors.New("values that cannot be compared")

// equal reports whether a value is one of the others.
func equal(value any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("nothing to compare with")
	}

	for _, other := range others {
		if order, err := compare(value, other); err == nil {
			if order == 0 {
				return true, nil
			}

			continue
		}

		a, b := reflect.ValueOf(value), reflect.ValueOf(other)

		switch {
		case !a.IsValid() || !b.IsValid(): // one is nothing
			if a.IsValid() == b.IsValid() {
				return true, nil
			}
		case a.Kind() != b.Kind() || !a.Comparable() || !b.Comparable():
			return false, fmt.Errorf("%w: %T and %T", errComparison, value, other)
		case value == other:
			return true, nil
		}
	}

	return false, nil
}

func compared(holds func(int) bool) func(a, b any) (bool, error) {
	return func(a, b any) (bool, error) {
		if reflect.ValueOf(a).Kind() == reflect.Bool {
			return false, errComparison
		}
		order, err := compare(a, b)

		return holds(order), err
	}
}

// compare returns the order of two numbers of a kind, of two texts, or of true and false.
func compare(a, b any) (int, error) {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)

	switch {
	case v.CanInt() && w.CanInt():
		return cmp.Compare(v.Int(), w.Int()), nil
	case v.CanUint() && w.CanUint():
		return cmp.Compare(v.Uint(), w.Uint()), nil
	case v.CanInt() && w.CanUint():
		if v.Int() < 0 {
			return -1, nil
		}

		return cmp.Compare(uint64(v.Int()), w.Uint()), nil
	case v.CanUint() && w.CanInt():
		order, err := compare(b, a)

		return -order, err
	case v.CanFloat() && w.CanFloat():
		return cmp.Compare(v.Float(), w.Float()), nil
	case v.Kind() == reflect.String && w.Kind() == reflect.String:
		return cmp.Compare(v.String(), w.String()), nil
	case v.Kind() == reflect.Bool && w.Kind() == reflect.Bool:
		return cmp.Compare(truth(v), truth(w)), nil
	default:
		return 0, fmt.Errorf("%w: %T and %T", errComparison, a, b)
	}
}

func truth(v reflect.Value) int {
	if v.Bool() {
		return 1
	}

	return 0
}
