package jsonata

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
)

// guards bound the functions of gnata that can make a large value, or work for long, in one
// call. A guard returns the error of the limit that a call would pass.
var guards = map[string]func(args []any, focus any) error{
	"append":        shortArrays,
	"contains":      shortMatch,
	"distinct":      fewObjects,
	"formatBase":    wholeNumber,
	"formatInteger": shortNumeral,
	"fromMillis":    narrowPicture,
	"join":          shortJoin,
	"match":         patternMatch,
	"replace":       shortReplacement,
	"split":         shortParts,
	"spread":        fewMembers,
	"string":        smallValue,
	"zip":           shortArrays,
}

// bounded returns a function of gnata that calls a guard first, if it has one, and whose value is no larger than
// a value may be.
func (f *functions) bounded(function any, guard func(args []any, focus any) error) any {
	if guard == nil {
		guard = func([]any, any) error { return nil }
	}

	original := reflect.ValueOf(function)

	switch {
	case original.Type() == f.kind:
		call := original.Convert(reflect.TypeFor[builtin]()).Interface().(builtin)

		return f.wrap(func(args []any, focus any) (any, error) {
			if err := guard(args, focus); err != nil {
				return nil, err
			}

			v, err := call(args, focus)
			if err != nil {
				return nil, err
			}

			return checked(v)
		})
	case original.Kind() != reflect.Func:
		// A function with a signature: its value is about as large as its argument.
		return function
	}

	// A function that gets the environment, whose type the library does not export.
	return reflect.MakeFunc(original.Type(), func(in []reflect.Value) []reflect.Value {
		args, _ := in[0].Interface().([]any)
		if err := guard(args, in[1].Interface()); err != nil {
			return failed(err)
		}

		out := original.Call(in)
		if out[1].IsNil() {
			if _, err := checked(out[0].Interface()); err != nil {
				return failed(err)
			}
		}

		return out
	}).Interface()
}

// failed returns what a function returns that fails. The error goes through a pointer, because reflect.ValueOf
// would take the error's own type and not the interface.
func failed(err error) []reflect.Value {
	return []reflect.Value{reflect.Zero(reflect.TypeFor[any]()), reflect.ValueOf(&err).Elem()}
}

// shortArrays bounds the arrays that a function puts together.
func shortArrays(args []any, _ any) error {
	size := 0
	for _, arg := range args {
		size += max(1, len(sequence(arg)))
	}

	if size > maxItems {
		return errMemory
	}

	return nil
}

// fewMembers bounds the objects of one member each that a function makes.
func fewMembers(args []any, _ any) error {
	const most = 100_000 // of some hundred bytes each

	left := most
	if v := argument(args, 0); !countMembers(v, &left) {
		return errMemory
	}

	return nil
}

// fewObjects bounds the comparison of each array and object with each other one.
func fewObjects(args []any, _ any) error {
	const most = 50_000_000 // parts of values that are compared

	items := sequence(argument(args, 0))

	count, left := 0, maxValue
	for _, item := range items {
		switch item.(type) {
		case string, float64, bool, json.Number, nil:
		default:
			count++

			if !fits(item, &left) {
				return errMemory
			}
		}
	}

	if count*(maxValue-left)/nodeWeight > most {
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

func shortReplacement(args []any, focus any) error {
	if err := shortMatch(args, focus); err != nil {
		return err
	}

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

// shortMatch bounds the work with a regular expression, which is its size times the length of the text, and the
// list of the matches.
func shortMatch(args []any, focus any) error {
	const (
		longest = 512 << 10 // bytes: twice the largest document
		most    = 1 << 28   // instructions
	)

	text, _ := argument(args, 0).(string)
	expression, _ := argument(args, 1).(map[string]any)

	if expression == nil { // the text is the focus
		expression, _ = argument(args, 0).(map[string]any)
		text, _ = focus.(string)
	}

	source, _ := expression["pattern"].(string)
	if source == "" {
		return nil
	}

	if len(text) > longest {
		return errMemory
	}

	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil //nolint:nilerr // the function says so
	}

	program, err := syntax.Compile(parsed.Simplify())
	if err == nil && len(program.Inst)*len(text) > most {
		return errTime
	}

	return nil
}

// shortParts bounds the parts of a text.
func shortParts(args []any, focus any) error {
	text, _ := argument(args, 0).(string)
	if separator, ok := argument(args, 1).(string); ok && strings.Count(text, separator) >= maxItems {
		return errMemory
	}

	return shortMatch(args, focus)
}

// smallValue bounds a value that becomes a text.
func smallValue(args []any, focus any) error {
	v := focus
	if len(args) > 0 {
		v = args[0]
	}

	_, err := checked(v)

	return err
}
