package jsonata

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf16"
)

// matching replaces gnata's $match for regular expressions. gnata counts the characters before
// each match from the start, which takes minutes for a text of 256 KiB, and calls the index start.
func matching(original any) any {
	f := reflect.ValueOf(original)

	return reflect.MakeFunc(f.Type(), func(in []reflect.Value) []reflect.Value {
		args, _ := in[0].Interface().([]any)
		text, isText := argument(args, 0).(string)
		expression, isExpression := argument(args, 1).(map[string]any)
		if !isText || !isExpression {
			// gnata answers, or refuses, all other arguments.
			return f.Call(in)
		}

		v, err := matches(text, expression, args)

		// Through pointers, because reflect.ValueOf(nil) has no type.
		return []reflect.Value{reflect.ValueOf(&v).Elem(), reflect.ValueOf(&err).Elem()}
	}).Interface()
}

// matches returns the matches of a regular expression in a text, without an array if there is
// only one. An index counts UTF-16 code units, as on the service.
func matches(text string, expression map[string]any, args []any) (any, error) {
	pattern, err := compilePattern(expression)
	if err != nil {
		return nil, err
	}

	most := math.MaxInt // matches
	if argument(args, 2) != nil {
		limit, ok := number(args[2])
		if !ok {
			return nil, wrongArgument("match", 2)
		}

		if limit < 0 || math.IsNaN(limit) {
			return nil, fmt.Errorf("D3040: %v", limit)
		}

		// Bounded before the conversion: an infinite limit fits no int.
		most = int(math.Ceil(min(limit, maxRanged+1)))
	}

	var found []any
	at, index := 0, 0
	// One match more than allowed shows that there are too many.
	for _, place := range pattern.FindAllStringSubmatchIndex(text, maxRanged+1) {
		switch {
		case len(found) == most:
			return single(found), nil
		case len(found) == maxRanged:
			return nil, errMemory
		case place[0] == place[1]:
			return nil, fmt.Errorf("D1004: %s", pattern)
		}

		// The index counts on from the match before, so that the text is read only once.
		index += units(text[at:place[0]])
		at = place[0]

		groups := make([]any, 0, len(place)/2-1)
		for g := 2; g < len(place); g += 2 {
			// A group that took no part in the match is an empty text.
			group := ""
			if place[g] >= 0 {
				group = text[place[g]:place[g+1]]
			}

			groups = append(groups, group)
		}

		found = append(found, map[string]any{"match": text[place[0]:place[1]], "index": float64(index), "groups": groups})
	}

	return single(found), nil
}

// compilePattern compiles a regular expression of an expression, with its flags i, m and s. gnata
// adds the flag g.
func compilePattern(expression map[string]any) (*regexp.Regexp, error) {
	source, _ := expression["pattern"].(string)
	flags, _ := expression["flags"].(string)
	for _, flag := range "ims" {
		if strings.ContainsRune(flags, flag) {
			source = "(?" + string(flag) + ")" + source
		}
	}

	pattern, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("the regular expression cannot be used: %w", err)
	}

	return pattern, nil
}

// units returns the length of a text in UTF-16 code units.
func units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}

	return n
}

// single returns a sequence as JSONata does: nothing for none, and the item if there is one.
func single(items []any) any {
	switch len(items) {
	case 0:
		return nil
	case 1:
		return items[0]
	default:
		return items
	}
}
