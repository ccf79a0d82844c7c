package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/operate/audit"
	"ratchet/server"
)

// defaultLogLevel and defaultLogFormat are settings that are no part of the configuration.
const (
	defaultLogLevel  = "info"
	defaultLogFormat = "text"
)

// settings are what the commands of one call of the program share.
type settings struct {
	// flags are those of the running command that are settings, see flagGroup.
	flags *pflag.FlagSet
	// taken are the groups of flags that a command and those below it declare, used those of which the
	// command itself uses the flags, and shared the flags that it has by them and by the commands below it.
	taken, used map[*cobra.Command][]*flagGroup
	shared      map[*cobra.Command]*pflag.FlagSet

	json  bool
	quiet bool
	// progress is that of the running command, nil if it shows none.
	progress *progress
	// progressEvery replaces progressInterval, if it is set.
	progressEvery time.Duration
	// creates is set for the commands that may create a data directory.
	creates bool
	// noted is set once the target was printed.
	noted bool
	// parts are what the program brings along.
	parts server.Parts
	// act is the row of the command in the audit table, nil if it only reads.
	act *audit.Entry
}

// load merges the sources of the settings into a valid configuration, and returns it with the log.
// Flags win over the environment, which wins over the profile, which wins over the file.
func (s *settings) load() (server.Config, *slog.Logger, error) {
	all, err := s.layers()
	if err != nil {
		return server.Config{}, nil, usageError("settings: %w", err)
	}

	return s.configure(all)
}

// configure is load, with sources that were read.
func (s *settings) configure(all layers) (server.Config, *slog.Logger, error) {
	k, err := all.merge(s.flags)
	if err != nil {
		return server.Config{}, nil, usageError("settings: %w", err)
	}

	for _, key := range []string{"config", "profile", "json", "quiet", "help"} {
		k.Delete(key)
	}
	level, format := k.String("log-level"), k.String("log-format")
	k.Delete("log-level")
	k.Delete("log-format")

	cfg, err := decodeSettings(k)
	if err != nil {
		return server.Config{}, nil, usageError("settings: %w", err)
	}

	cfg.Parts = s.parts

	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return server.Config{}, nil, &statusError{exitUsage, err}
	}

	log, err := newLog(s.progress.over(os.Stderr), cmp.Or(level, defaultLogLevel), cmp.Or(format, defaultLogFormat))
	if err != nil {
		return server.Config{}, nil, err
	}

	return cfg, log, nil
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
