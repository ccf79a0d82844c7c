package operate

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

func configCommand(s *settings.Settings) *cobra.Command {
	show := &cobra.Command{
		Use: "show", Short: "Print every setting with its value and where it comes from", Args: cobra.NoArgs,
		Long: `Prints the target of commands, and every setting with its value and its source: flag, environment,
profile, file or default. Secrets are printed as ***. It opens and creates nothing.`,
		Example: "  ratchet config show\n  ratchet config show --json | jq -c 'select(.source != \"default\")'",
		RunE: func(c *cobra.Command, _ []string) error {
			shown, err := show(c.Context(), s)
			if err != nil {
				return err
			}

			return printSettings(c.OutOrStdout(), s.JSON, shown)
		},
	}

	return settings.Group("config", "Settings and where they come from", show)
}

// shownSetting is a setting as `config show` prints it.
type shownSetting struct {
	Setting string `json:"setting"`
	Value   any    `json:"value"`
	Source  string `json:"source"`
	// Origin is the flag, variable or file; empty for a default.
	Origin string `json:"origin,omitempty"`
}

// show returns the target and all settings.
func show(ctx context.Context, s *settings.Settings) ([]shownSetting, error) {
	all, err := s.Layers()
	if err != nil {
		return nil, exit.UsageError("settings: %w", err)
	}

	// This checks the settings, so that an invalid value is not shown as if it were in effect.
	cfg, _, err := s.Configure(all)
	if err != nil {
		return nil, err
	}

	merged, err := all.Merge(s.Flags)
	if err != nil {
		return nil, err
	}

	at := settings.ResolveTarget(ctx, cfg)
	shown := []shownSetting{{Setting: "target", Value: at.String(), Source: string(at.Kind)}}

	values := SettingsOf(cfg)
	for _, name := range []string{"log-level", "log-format"} { // they are no part of the configuration
		values[name] = merged.String(name)
	}

	for name, value := range values {
		source, origin := all.SourceOf(name, s.Flags)
		shown = append(shown, shownSetting{Setting: name, Value: masked(value), Source: source, Origin: origin})
	}

	// The target stays first.
	slices.SortFunc(shown[1:], func(a, b shownSetting) int { return strings.Compare(a.Setting, b.Setting) })

	return shown, nil
}

// SettingsOf returns every setting of the configuration, with its value as it is written.
func SettingsOf(cfg server.Config) map[string]any {
	all := map[string]any{}

	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("koanf"), ",")

			switch value := v.Field(i).Interface(); {
			case option == "squash":
				walk(v.Field(i))
			case name == "-":
			default:
				// A duration prints as 1m30s, which is how it is written in a file, and a secret as a placeholder.
				if text, ok := value.(fmt.Stringer); ok {
					value = text.String()
				}

				all[name] = value
			}
		}
	}
	walk(reflect.ValueOf(cfg))

	return all
}

// masked hides the secrets in a URL. The settings that are secrets print as a placeholder by themselves.
func masked(value any) any {
	text, ok := value.(string)
	if !ok || text == "" {
		return value
	}

	// Any text may be a URL with a password in it.
	return settings.WithoutSecrets(text)
}

func printSettings(out io.Writer, asJSON bool, shown []shownSetting) error {
	if asJSON {
		for _, one := range shown {
			if err := terminal.PrintJSON(out, one); err != nil {
				return err
			}
		}

		return nil
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tSOURCE\tORIGIN")

	for _, one := range shown {
		fmt.Fprintf(w, "%s\t%v\t%s\t%s\n", one.Setting, one.Value, one.Source, one.Origin)
	}

	return w.Flush()
}
