package arguments

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ratchet/cmd/cli/internal/exit"
)

// ValueKinds describes the values of flags and settings by the name of their type, without
// the bits.
var ValueKinds = map[string]string{
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

// flagRuleError is the rule that the value of a flag breaks.
type flagRuleError string

func (e flagRuleError) Error() string { return string(e) }

// FlagError replaces pflag's messages about a parser by messages about the flag's values.
func FlagError(err error) error {
	var unknown *pflag.NotExistError
	// pflag takes -5 for short flags; the user meant a number.
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" && strings.Trim(unknown.GetSpecifiedShortnames(), ".0123456789") == "" {
		return fmt.Errorf("-%s: a negative number is not allowed here", unknown.GetSpecifiedShortnames())
	}

	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}

	return ValueError(invalid.GetFlag(), invalid.GetValue(), err)
}

// ValueError says which rule of its flag a value breaks.
func ValueError(f *pflag.Flag, value string, err error) error {
	var rule flagRuleError
	if errors.As(err, &rule) {
		return fmt.Errorf("%s %q: %w", f.Name, value, rule)
	}

	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s %q: out of range", f.Name, value)
	}

	// Sizes are of no interest: int32 and int64 are whole numbers.
	kind, known := ValueKinds[strings.TrimSuffix(strings.TrimSuffix(f.Value.Type(), "64"), "32")]
	if !known {
		return fmt.Errorf("%s %q: %w", f.Name, value, err)
	}

	return fmt.Errorf("%s %q: must be %s", f.Name, value, kind)
}

// Given fails if flags are set to the empty string, and names them all. A script's variable without a value
// must not turn a named request into a request without a name.
func Given(flags *pflag.FlagSet, names ...string) error {
	var empty []error

	for _, name := range names {
		// A flag that was not given is empty by default, which is no mistake.
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			empty = append(empty, fmt.Errorf("%s: must not be empty", name))
		}
	}

	return exit.Wrong(empty...)
}

// FromNow returns the time after d, or the zero time if d is 0.
func FromNow(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}
