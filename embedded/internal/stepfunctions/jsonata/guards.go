package jsonata

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
)

// guards bound the functions of gnata that can make a large value, or work for long, in one
// call. A guard returns the error of the limit that a call would pass.
var guards = map[string]func(args []any, focus any) error{
	"count":         shortArray,
	"sum":           shortArray,
	"distinct":      fewObjects,
	"formatBase":    wholeNumber,
	"formatInteger": shortNumeral,
	"fromMillis":    narrowPicture,
	"join":          shortJoin,
	"match":         patternMatch,
	"replace":       shortReplacement,
	"string":        smallValue,
}

// guarded returns a function of gnata that calls a guard first.
func guarded(function any, guard func(args []any, focus any) error) any {
	f := reflect.ValueOf(function)

	return reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value {
		args, _ := in[0].Interface().([]any)
		if err := guard(args, in[1].Interface()); err != nil {
			// The error goes through a pointer, because reflect.ValueOf would take the
			// error's own type and not the interface.
			return []reflect.Value{reflect.Zero(reflect.TypeFor[any]()), reflect.ValueOf(&err).Elem()}
		}

		return f.Call(in)
	}).Interface()
}

func shortArray(args []any, _ any) error {
	if items, ok := argument(args, 0).([]any); ok && len(items) > maxItems {
		return errMemory
	}

	return nil
}

// fewObjects bounds the comparison of each array and object with each other one.
func fewObjects(args []any, _ any) error {
	const most = 5000

	items, _ := argument(args, 0).([]any)
	count := 0
	for _, item := range items {
		switch item.(type) {
		case string, float64, bool, json.Number, nil:
		default:
			count++
		}
	}

	if count > most {
		return errTime
	}

	return nil
}

// wholeNumber refuses numbers that fit no integer of 64 bits. gnata would silently use another number.
func wholeNumber(args []any, focus any) error {
	v := argument(args, 0)
	if v == nil {
		// Without arguments, as in 10.$formatBase(), the function works on its focus.
		v = focus
	}

	if n, ok := number(v); ok && (math.IsNaN(n) || math.Abs(n) >= 1<<63) {
		return fmt.Errorf("the number %s is not an integer of 64 bits", appendFloat(nil, n))
	}

	return nil
}

// shortNumeral bounds Roman numerals, which grow with the number itself. For NaN, gnata's words
// do not end: they overflow the stack, which ends the process.
func shortNumeral(args []any, _ any) error {
	const most = 1_000_000

	picture, _ := argument(args, 1).(string)

	n, _ := number(argument(args, 0))
	if math.IsNaN(n) {
		return errors.New("the first argument of the formatInteger function must not be NaN")
	}

	if strings.HasPrefix(strings.ToUpper(picture), "I") && math.Abs(n) > most {
		return errMemory
	}

	return nil
}

var wideComponent = regexp.MustCompile(`\[[^\]]*\d{4,}[^\]]*\]`)

// narrowPicture bounds the width of a component of a date. A year has up to nine digits.
func narrowPicture(args []any, _ any) error {
	picture, _ := argument(args, 1).(string)
	for _, component := range wideComponent.FindAllString(picture, -1) {
		// Two widths of up to three digits each are allowed.
		if _, width, ok := strings.Cut(component, ","); ok && len(strings.Trim(width, "]*-0123456789")) == 0 && len(width) > len("123-123]") {
			return errMemory
		}
	}

	return nil
}

// patternMatch refuses a text as the pattern, as JSONata does. gnata would compile it to a regular
// expression, and keep the expression as long as the process lives.
func patternMatch(args []any, _ any) error {
	if _, ok := argument(args, 1).(string); ok {
		return wrongArgument("match", 1)
	}

	return nil
}

func shortJoin(args []any, _ any) error {
	items, ok := argument(args, 0).([]any)
	if !ok {
		return nil
	}

	separator, _ := argument(args, 1).(string)

	size := len(items) * len(separator)
	for _, item := range items {
		text, _ := item.(string)
		size += len(text)
	}

	if size > maxCall {
		return errMemory
	}

	return nil
}

func shortReplacement(args []any, _ any) error {
	text, _ := argument(args, 0).(string)
	replacement, _ := argument(args, 2).(string)

	// A regular expression can match before every character and at the end.
	matches := len(text) + 1
	if pattern, ok := argument(args, 1).(string); ok && pattern != "" {
		matches = strings.Count(text, pattern)
	}

	if len(text)+matches*len(replacement) > maxCall {
		return errMemory
	}

	return nil
}

// smallValue bounds a value that becomes a text.
func smallValue(args []any, focus any) error {
	v := focus
	if len(args) > 0 {
		v = args[0]
	}

	left := maxValue
	if !fits(v, &left) {
		return errMemory
	}

	return nil
}

// fits reports whether the text of a value takes about left bytes or less. A
// value that occurs several times counts each time.
func fits(v any, left *int) bool {
	// Every value takes at least one byte.
	*left--
	ok := true

	switch v := v.(type) {
	case string:
		*left -= len(v)
	case []any:
		for _, item := range v {
			if !fits(item, left) {
				return false
			}
		}
	case orderedObject:
		v.Range(func(name string, value any) bool {
			*left -= len(name)
			ok = fits(value, left)

			return ok
		})
	}

	return ok && *left >= 0
}
