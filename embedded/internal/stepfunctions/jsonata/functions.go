package jsonata

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/recolabs/gnata"
)

// builtin is a function of the language. It gets its arguments and
// its focus: the value to which the call is applied.
type builtin = func(args []any, focus any) (any, error)

// functions are the functions of the language, with replacements for some of them.
type functions struct {
	// language has gnata's own functions. kind is their type, which the library does not export.
	language map[string]any
	kind     reflect.Type
	// fixed are the functions that are the same in each evaluation.
	fixed map[string]any
}

// library returns the functions. They are read from gnata once.
var library = sync.OnceValue(func() *functions {
	f := &functions{language: map[string]any{}}
	gnata.NewCustomEnv(nil).Range(func(name string, value any) { f.language[name] = value })

	f.kind = reflect.TypeOf(f.language["sum"])
	f.fixed = map[string]any{
		"hash":      f.wrap(hashOf),
		"parse":     f.wrap(parseJSON),
		"partition": f.wrap(partition),
		"range":     f.wrap(rangeOf),
	}

	for name, function := range f.language {
		f.fixed[name] = f.bounded(function, guards[name])
	}

	f.fixed["eval"] = nil // the service has $parse instead

	maps.Copy(f.fixed, f.planted())

	// This comes after the guards, because matching wraps the guarded function.
	f.fixed["match"] = matching(f.fixed["match"])

	return f
})

// perEvaluation are the names of the functions that depend on the scope.
var perEvaluation = []string{"millis", "now", "random", "shuffle", "uuid"}

// has reports whether there is a function with that name.
func (f *functions) has(name string) bool {
	_, own := f.fixed[name]
	_, language := f.language[name]

	return own || language || slices.Contains(perEvaluation, name)
}

// wrap makes a function callable in expressions.
func (f *functions) wrap(own builtin) any { return reflect.ValueOf(own).Convert(f.kind).Interface() }

// original returns a function of gnata.
func (f *functions) original(name string) builtin {
	return reflect.ValueOf(f.language[name]).Convert(reflect.TypeFor[builtin]()).Interface().(builtin)
}

// bindings returns the functions of one evaluation that are not gnata's own.
func (f *functions) bindings(s *Scope) map[string]any {
	all := maps.Clone(f.fixed)
	all["random"] = f.wrap(func(args []any, _ any) (any, error) { return random(s, args) })
	all["uuid"] = f.wrap(func([]any, any) (any, error) { return uuid(s), nil })
	all["millis"] = f.wrap(func([]any, any) (any, error) { return float64(s.Now), nil })
	all["now"] = f.wrap(func(args []any, focus any) (any, error) {
		// $now(picture, timezone) is $fromMillis(now, picture, timezone).
		return f.original("fromMillis")(append([]any{float64(s.Now)}, args...), focus)
	})
	all["shuffle"] = f.wrap(func(args []any, focus any) (any, error) {
		items, ok := argument(args, 0).([]any)
		if !ok {
			// gnata answers, or refuses, every other argument.
			return f.original("shuffle")(args, focus)
		}

		// A clone, because the argument may be a part of the input.
		items = slices.Clone(items)
		s.Random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })

		return items, nil
	})

	return all
}

// argument returns an argument, nil if it is absent or undefined.
func argument(args []any, i int) any {
	if i >= len(args) {
		return nil
	}

	return args[i]
}

// number returns a number of gnata as a double.
func number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	default:
		return 0, false
	}
}

// whole returns a number without its fraction, as the service reads its numbers: -1.7 is -1.
func whole(function string, args []any, i int) (n int64, err error) {
	f, ok := number(args[i])
	if !ok || math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return 0, wrongArgument(function, i)
	}

	return int64(f), nil
}

// wrongArgument is JSONata's error for an argument of another type.
func wrongArgument(function string, i int) error {
	return fmt.Errorf("T0410: Argument %d of function %q does not match function signature", i+1, function)
}

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
