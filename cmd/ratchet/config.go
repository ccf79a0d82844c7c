package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"ratchet/server"
)

// decodeSettings reads settings strictly: an unknown name is an error, durations are
// written like "2s", lists like "1,2", and the environment's strings become numbers.
func decodeSettings(k *koanf.Koanf) (cfg server.Config, err error) {
	var read mapstructure.Metadata
	err = k.UnmarshalWithConf("", &cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &cfg, TagName: "koanf", Metadata: &read, WeaklyTypedInput: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToWeakSliceHookFunc(",")),
	}})
	var wrong *mapstructure.DecodeError
	switch {
	case errors.As(err, &wrong):
		name, _, _ := strings.Cut(wrong.Name(), "[") // of a list the element is named
		return cfg, fmt.Errorf("%s: must be %s", name, kindOf(name))
	case err != nil:
		return cfg, err
	case len(read.Unused) > 0:
		slices.Sort(read.Unused)
		return cfg, fmt.Errorf("there is no %s (see `ratchet --help`)", strings.Join(read.Unused, ", "))
	}

	return cfg, nil
}

// kindOf says in words what the setting holds.
func kindOf(setting string) string {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[server.Config]()) {
		if f.Tag.Get("koanf") == setting {
			return valueKinds[strings.TrimSuffix(f.Type.String(), "64")]
		}
	}

	return valueKinds["string"]
}

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
