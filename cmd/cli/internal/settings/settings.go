package settings

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

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/audit"
	"ratchet/server"
)

// defaultLogLevel and defaultLogFormat are settings that are no part of the configuration.
const (
	defaultLogLevel  = "info"
	defaultLogFormat = "text"
)

// Settings are shared by the commands of one call of the program.
type Settings struct {
	// Flags are the flags of the running command that are settings, see FlagGroup.
	Flags *pflag.FlagSet
	// taken has the groups of flags that a command declares for itself and the commands below it;
	// used has the groups whose flags the command itself uses; shared has all flags of groups that
	// the command accepts, also for the commands below it.
	taken, Used map[*cobra.Command][]*FlagGroup
	shared      map[*cobra.Command]*pflag.FlagSet
	// sets has the flags of each group, by its name, and of each combination of groups, by their names with a space behind each.
	sets map[string]*pflag.FlagSet

	JSON  bool
	Quiet bool
	// Progress is the progress of the running command, nil if it shows none.
	Progress *terminal.Progress
	// ProgressEvery replaces progressInterval, if it is set.
	ProgressEvery time.Duration
	// Creates is set for the commands that may create a data directory.
	Creates bool
	// noted is set once the target was printed.
	noted bool
	// parts are the program's own parts.
	parts server.Parts
	// Wrong is what is wrong with the values of the command's flags, see BePatient.
	Wrong []error
	// Act is the row of the command in the audit table, nil if it only reads.
	Act *audit.Entry
}

// New returns the settings of a program that brings its own parts, before the flags of a command are read.
func New(parts server.Parts) *Settings {
	s := &Settings{
		parts: parts,
		// The flags are defined at the end, when every command has said which groups it takes.
		taken: map[*cobra.Command][]*FlagGroup{}, Used: map[*cobra.Command][]*FlagGroup{}, shared: map[*cobra.Command]*pflag.FlagSet{},
		sets: map[string]*pflag.FlagSet{},
	}
	s.Flags = s.SharedFlags()

	return s
}

// Load merges the sources of the settings into a valid configuration, and returns it with the log.
// Flags win over the environment, which wins over the profile, which wins over the file.
func (s *Settings) Load() (server.Config, *slog.Logger, error) {
	all, err := s.Layers()
	if err != nil {
		return server.Config{}, nil, exit.UsageError("settings: %w", err)
	}

	return s.Configure(all)
}

// Configure is load, with sources that were read.
func (s *Settings) Configure(all layers) (server.Config, *slog.Logger, error) {
	k, err := all.Merge(s.Flags)
	if err != nil {
		return server.Config{}, nil, exit.UsageError("settings: %w", err)
	}

	// These choose sources and output; the configuration does not have them.
	for _, key := range []string{"config", "profile", "json", "quiet", "help"} {
		k.Delete(key)
	}
	level, format := k.String("log-level"), k.String("log-format")
	k.Delete("log-level")
	k.Delete("log-format")

	cfg, err := decodeSettings(k)
	if err != nil {
		return server.Config{}, nil, exit.UsageError("settings: %w", err)
	}

	cfg.Parts = s.parts

	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return server.Config{}, nil, exit.With(exit.Usage, err)
	}

	// A line of the log must remove the progress from the terminal first.
	log, err := newLog(s.Progress.Over(os.Stderr), cmp.Or(level, defaultLogLevel), cmp.Or(format, defaultLogFormat))
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
		// Weakly typed, because the environment has only texts.
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
	// A typo in a file must not be ignored: the setting would silently be the default.
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
			return arguments.ValueKinds[strings.TrimSuffix(f.Type.String(), "64")]
		}
	}

	return arguments.ValueKinds["string"]
}
