package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"ratchet/server"
)

// settings are the global flags of one call of the program.
type settings struct {
	flags *pflag.FlagSet
	json  bool
}

// load merges the file, the environment and the flags into a valid configuration, and
// returns it with the log. Flags win over the environment, which wins over the file.
func (s *settings) load() (server.Config, *slog.Logger, error) {
	k := koanf.New(".")
	if name, _ := s.flags.GetString("config"); name != "" {
		if err := k.Load(file.Provider(name), yaml.Parser()); err != nil {
			return server.Config{}, nil, usageError("config %s: %w", name, err)
		}
	}

	fromEnv := env.Provider(".", env.Opt{Prefix: "RATCHET_", TransformFunc: func(k, v string) (string, any) {
		return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(k, "RATCHET_")), "_", "-"), v
	}})
	if err := errors.Join(k.Load(fromEnv, nil), k.Load(posflag.Provider(s.flags, ".", k), nil)); err != nil {
		return server.Config{}, nil, usageError("settings: %w", err)
	}

	for _, key := range []string{"config", "json", "help"} {
		k.Delete(key)
	}
	level := k.String("log-level")
	k.Delete("log-level")

	cfg, err := decodeSettings(k)
	if err != nil {
		return server.Config{}, nil, usageError("settings: %w", err)
	}

	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return server.Config{}, nil, &statusError{exitUsage, err}
	}

	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return server.Config{}, nil, usageError("log-level %q: must be debug, info, warn or error", level)
	}

	return cfg, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}

// decodeSettings decodes the settings. An unknown name is an error. Durations are written
// like "2s", lists like "1,2"; strings of the environment are converted to numbers.
func decodeSettings(k *koanf.Koanf) (cfg server.Config, err error) {
	var read mapstructure.Metadata
	err = k.UnmarshalWithConf("", &cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &cfg, TagName: "koanf", Metadata: &read, WeaklyTypedInput: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToWeakSliceHookFunc(",")),
	}})
	var wrong *mapstructure.DecodeError
	switch {
	case errors.As(err, &wrong):
		name, _, _ := strings.Cut(wrong.Name(), "[") // an element of a list is "name[0]"
		return cfg, fmt.Errorf("%s: must be %s", name, kindOf(name))
	case err != nil:
		return cfg, err
	case len(read.Unused) > 0:
		slices.Sort(read.Unused)
		return cfg, fmt.Errorf("there is no %s (see `ratchet --help`)", strings.Join(read.Unused, ", "))
	}

	return cfg, nil
}

// kindOf describes the values of a setting.
func kindOf(setting string) string {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[server.Config]()) {
		if f.Tag.Get("koanf") == setting {
			return valueKinds[strings.TrimSuffix(f.Type.String(), "64")]
		}
	}

	return valueKinds["string"]
}
