package jsonata

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// nodeWeight is how many bytes each part of a value counts beside its text: maxItems of them are as much as a value
// may be.
const nodeWeight = 8

// checked returns a value, or errMemory if it is larger or deeper than a value may be.
func checked(v any) (any, error) {
	left := maxValue + nodeWeight // the value itself is no part

	return within(v, fits(v, &left))
}

func within(v any, ok bool) (any, error) {
	if !ok {
		return nil, errMemory
	}

	return v, nil
}

// fits reports whether a value counts left bytes or less. A value that occurs several times counts each time.
func fits(v any, left *int) bool { return fitsAt(v, left, 0) }

func fitsAt(v any, left *int, depth int) bool {
	// Every value is charged, so that the work is bounded, too.
	if *left -= nodeWeight; *left < 0 || depth > rawjson.MaxDepth {
		return false
	}

	ok := true

	switch v := v.(type) {
	case nil, float64, bool:
	case string:
		*left -= len(v)
	case json.Number:
		*left -= len(v)
	case orderedObject:
		v.Range(func(name string, value any) bool {
			*left -= len(name)
			ok = fitsAt(value, left, depth+1)

			return ok
		})
	case map[string]any:
		for name, value := range v {
			*left -= len(name)
			if ok = fitsAt(value, left, depth+1); !ok {
				break
			}
		}
	default:
		for _, item := range sequence(v) {
			if !fitsAt(item, left, depth+1) {
				return false
			}
		}
	}

	return ok && *left >= 0
}

// sequence returns the items of an array or of a sequence, as gnata calls the values of a path before they become
// an array. The library does not export its type.
func sequence(v any) []any {
	if items, ok := v.([]any); ok {
		return items
	}

	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer || r.IsNil() || r.Elem().Kind() != reflect.Struct || r.Elem().Type().Name() != "Sequence" {
		return nil
	}

	items, _ := r.Elem().FieldByName("Values").Interface().([]any)

	return items
}

// getter is an object of gnata that finds a member.
type getter interface{ Get(name string) (any, bool) }

// countNamed reports whether a step with a name finds no more than left values.
func countNamed(v any, name string, left *int) bool { return countNamedAt(v, name, left, 0) }

func countNamedAt(v any, name string, left *int, depth int) bool {
	// Most steps read an object.
	if _, ok := v.(getter); ok && depth == 0 {
		return true
	}

	if *left--; *left < 0 || depth > rawjson.MaxDepth {
		return false
	}

	var member any
	switch v := v.(type) {
	case getter:
		member, _ = v.Get(name)
	case map[string]any:
		member = v[name]
	default:
		for _, item := range sequence(v) {
			if !countNamedAt(item, name, left, depth+1) {
				return false
			}
		}
	}

	*left -= len(sequence(member))

	return *left >= 0
}

// countMembers reports whether a wildcard finds no more than left values.
func countMembers(v any, left *int) bool {
	one := func(_ string, member any) bool {
		*left -= 1 + len(sequence(member))

		return *left >= 0
	}

	for _, item := range append([]any{v}, sequence(v)...) {
		switch item := item.(type) {
		case orderedObject:
			item.Range(one)
		case map[string]any:
			for _, member := range item {
				one("", member)
			}
		default:
			*left--
		}

		if *left < 0 {
			return false
		}
	}

	return true
}

// notInside refuses an update that holds the object that it updates: the object would be a part of itself.
func notInside(args []any, target any) (any, error) {
	if _, err := checked(args[0]); err != nil {
		return nil, err
	}

	return within(args[0], !holds(args[0], target))
}

// holds reports whether an object is a part of a value.
func holds(v, object any) bool {
	found := false

	switch v := v.(type) {
	case orderedObject:
		if v == object {
			return true
		}

		v.Range(func(_ string, member any) bool {
			found = holds(member, object)

			return !found
		})
	case map[string]any:
		if m, ok := object.(map[string]any); ok && reflect.ValueOf(m).Pointer() == reflect.ValueOf(v).Pointer() {
			return true
		}

		for _, member := range v {
			found = found || holds(member, object)
		}
	default:
		for _, item := range sequence(v) {
			found = found || holds(item, object)
		}
	}

	return found
}

// operatorRange is the operator .., which gnata lets make ten million numbers in one step.
func operatorRange(args []any, _ any) (any, error) {
	var bounds [2]float64
	for i, code := range []string{"T2003", "T2004"} {
		if args[i] == nil {
			continue
		}

		n, ok := number(args[i])
		if !ok || n != math.Trunc(n) {
			return nil, fmt.Errorf("%s: a side of the range operator must be an integer", code)
		}

		bounds[i] = n
	}

	from, to := bounds[0], bounds[1]
	if args[0] == nil || args[1] == nil || from > to {
		return nil, nil
	}

	if to-from >= maxItems || math.IsInf(from, 0) || math.IsInf(to, 0) {
		return nil, errMemory
	}

	numbers := make([]any, int(to-from)+1)
	for i := range numbers {
		numbers[i] = from + float64(i)
	}

	return numbers, nil
}
