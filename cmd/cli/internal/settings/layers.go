package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"ratchet/server"
)

// secretsOf returns the settings of a configuration whose value is never printed: those of the type server.Secret. Each
// can be in a file of its own, named by the setting with -file at its end.
func secretsOf(config reflect.Type) (names []string) {
	for field := range config.Fields() {
		name, option, _ := strings.Cut(field.Tag.Get("koanf"), ",")

		switch {
		case option == "squash":
			names = append(names, secretsOf(field.Type)...)
		case field.Type == reflect.TypeFor[server.Secret]():
			names = append(names, name)
		}
	}

	return names
}

// maxSecretFile is the size in bytes of the largest file with a secret.
const maxSecretFile = 64 << 10

// layer is one source of settings.
type layer struct {
	name     string // "file", "profile" or "environment"
	settings *koanf.Koanf
	// origin says where a setting of the layer stands.
	origin func(setting string) string
	// files are the secrets that stand in files of their own, by setting.
	files map[string]string
}

// layers are the sources of settings other than flags, the weakest first.
type layers []layer

// Layers reads the file, its profile and the environment.
func (s *Settings) Layers() (layers, error) {
	environment := koanf.New(".")

	// Variables are texts. They get their types when all settings are decoded.
	err := environment.Load(env.Provider(".", env.Opt{Prefix: "RATCHET_", TransformFunc: func(k, v string) (string, any) {
		return settingOf(k), v
	}}), nil)
	if err != nil {
		return nil, err
	}

	// chosen returns a setting that chooses the sources themselves: from a flag, a variable or the
	// file.
	chosen := func(name string, file *koanf.Koanf) string {
		if value, _ := s.Flags.GetString(name); value != "" {
			return value
		}

		if value := environment.String(name); value != "" {
			return value
		}

		return file.String(name)
	}

	settings := koanf.New(".")
	// The file cannot name another file.
	name := chosen("config", settings)

	if name != "" {
		if err := settings.Load(file.Provider(name), yaml.Parser()); err != nil {
			return nil, fmt.Errorf("config %s: %w", name, err)
		}
	}

	profiles := settings.Cut("profiles")
	// Profiles are no settings of their own, and must not be found by name.
	settings.Delete("profiles")

	all := layers{{name: "file", settings: settings, origin: func(string) string { return name }}}

	if selected := chosen("profile", settings); selected != "" {
		// A profile that does not exist would silently mean the defaults.
		if !slices.Contains(profiles.MapKeys(""), selected) {
			return nil, fmt.Errorf("profile %q: must be one of those under `profiles` in --config: %s",
				selected, orNone(profiles.MapKeys("")))
		}

		all = append(all, layer{name: "profile", settings: profiles.Cut(selected), origin: func(string) string { return name + ", profile " + selected }})
	}

	all = append(all, layer{name: "environment", settings: environment, origin: VariableOf})

	// Secrets are read layer by layer: a secret and its file may be in different layers, and the
	// stronger layer wins.
	for i := range all {
		if err := all[i].readSecrets(); err != nil {
			return nil, err
		}
	}

	return all, nil
}

// settingOf returns the setting of an environment variable.
func settingOf(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "RATCHET_")), "_", "-")
}

// VariableOf returns the environment variable of a setting.
func VariableOf(setting string) string {
	return "RATCHET_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "there are none"
	}

	return strings.Join(names, ", ")
}

// readSecrets replaces each setting that names a file with a secret by the content of the file.
func (l *layer) readSecrets() error {
	l.files = map[string]string{}

	for _, secret := range secretsOf(reflect.TypeFor[server.Config]()) {
		setting := secret + "-file"

		name := l.settings.String(setting)
		// The file's name must not stay behind as an unknown setting.
		l.settings.Delete(setting)

		if name == "" {
			continue
		}

		if l.settings.String(secret) != "" {
			return fmt.Errorf("%s and %s: only one of the two", l.origin(secret), l.origin(setting))
		}

		info, err := os.Stat(name)
		if err == nil && info.Size() > maxSecretFile {
			err = fmt.Errorf("the file has more than %d bytes", maxSecretFile)
		}

		var text []byte
		if err == nil {
			text, err = os.ReadFile(name)
		}

		if err == nil {
			// Editors end a file with a line feed, which is no part of a secret.
			err = l.settings.Set(secret, strings.TrimSpace(string(text)))
		}

		if err != nil {
			return fmt.Errorf("%s: %w", l.origin(setting), unnamed(err))
		}

		l.files[secret] = name
	}

	return nil
}

// unnamed returns the error without the name of the file: the secret itself may stand there by mistake.
func unnamed(err error) error {
	if of, is := errors.AsType[*fs.PathError](err); is {
		return fmt.Errorf("%s the file that it names: %w", of.Op, of.Err)
	}

	return err
}

// Merge returns all settings. Flags win over all other sources.
func (all layers) Merge(flags *pflag.FlagSet) (*koanf.Koanf, error) {
	k := koanf.New(".")

	var err error
	for _, l := range all {
		err = errors.Join(err, k.Merge(l.settings))
	}

	// Only flags that were given override; the defaults of flags are below everything.
	return k, errors.Join(err, k.Load(posflag.Provider(flags, ".", k), nil))
}

// SourceOf says where the value of a setting comes from.
func (all layers) SourceOf(setting string, flags *pflag.FlagSet) (source, origin string) {
	if f := flags.Lookup(setting); f != nil && f.Changed {
		return "flag", "--" + setting
	}

	// The strongest source that has the setting.
	for _, l := range slices.Backward(all) {
		if !l.settings.Exists(setting) {
			continue
		}

		// The origin of a secret is the setting that names its file.
		if name, ok := l.files[setting]; ok {
			return l.name, l.origin(setting+"-file") + " = " + name
		}

		return l.name, l.origin(setting)
	}

	return "default", ""
}
