package main

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// valueKinds are the types of flags and settings in words.
var valueKinds = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"uint":     "a whole number, at least 0",
	"float":    "a number",
	"string":   "a text",
	"duration": "a duration like 1m30s",
	reflect.TypeFor[time.Duration]().String(): "a duration like 1m30s",
	"intSlice":       "whole numbers with commas between them",
	"[]int":          "whole numbers with commas between them",
	"stringToString": "NAME=VALUE",
}

// flagError says what a flag wants where pflag says what a parser met.
func flagError(err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" && strings.Trim(unknown.GetSpecifiedShortnames(), ".0123456789") == "" {
		return fmt.Errorf("-%s: a negative number is not allowed here", unknown.GetSpecifiedShortnames())
	}

	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}

	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s %q: out of range", invalid.GetFlag().Name, invalid.GetValue())
	}

	kind, known := valueKinds[strings.TrimSuffix(strings.TrimSuffix(invalid.GetFlag().Value.Type(), "64"), "32")]
	if !known {
		return err
	}

	return fmt.Errorf("%s %q: must be %s", invalid.GetFlag().Name, invalid.GetValue(), kind)
}

// given refuses flags that were given and say nothing: a script's variable that is not
// set must not turn a request with a name into one without.
func given(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			return usageError("%s: must not be empty", name)
		}
	}

	return nil
}

// in is the time after d, or none.
func in(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}
