package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/cmd/cli/internal/operate"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

// secretSettings returns the settings that are secrets: config show prints a mark in them as a placeholder.
func secretSettings() (names []string) {
	var cfg server.Config

	for _, field := range []any{&cfg, &cfg.Console, &cfg.API, &cfg.Network, &cfg.Tracing} {
		v := reflect.ValueOf(field).Elem()
		for i := range v.NumField() {
			if secret, is := v.Field(i).Addr().Interface().(*server.Secret); is {
				*secret = marked
			}
		}
	}

	for name, value := range operate.SettingsOf(cfg) {
		if value == "***" {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	return names
}

// marked is in every secret of these tests.
const marked = "marked-secret-of-more-than-32-characters"

// markedCommand runs a command in an empty directory, and returns everything that it prints.
func markedCommand(t *testing.T, args ...string) string {
	t.Helper()
	t.Chdir(t.TempDir())

	// The log goes to the standard error of the process.
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	defer func(before *os.File) { os.Stderr = before }(os.Stderr)
	os.Stderr = file

	var out bytes.Buffer
	root := newRoot(server.Parts{})
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)

	// A command that serves runs until it is stopped.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()

	if err := root.ExecuteContext(ctx); err != nil {
		out.WriteString(err.Error())
	}

	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)

	return out.String()
}

// TestNoCommandPrintsASecret runs every command, for people and as JSON, with a marked value in every secret: values that are valid, values that
// are not, and, by mistake, the secret in the place of the name of its file.
func TestNoCommandPrintsASecret(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "RATCHET_ENDPOINT_URL"} {
		t.Setenv(name, "")
	}

	all := commands(newRoot(server.Parts{}))
	runs := 0

	for _, suffix := range []string{"", "-file"} {
		for _, secret := range secretSettings() {
			t.Setenv(settings.VariableOf(secret+suffix), marked)
		}

		if suffix != "" {
			for _, secret := range secretSettings() {
				t.Setenv(settings.VariableOf(secret), "")
			}
		}

		for path, command := range all {
			// What creates nothing and serves nothing reads the settings, and all commands read them in the same way.
			if settings.MayCreateData(command) || path == "workflow new" {
				continue
			}

			// With a name of its file that is none, a setting fails in the same place for all of them.
			if suffix != "" && path != "config show" && path != "doctor" && path != "orders list" {
				continue
			}

			args := append(strings.Fields(path), argumentsOf(command)...)
			forms := [][]string{args}
			if command.Flag("json") != nil {
				forms = append(forms, append(slices.Clone(args), "--json"))
			}

			for _, args := range forms {
				runs++

				said := markedCommand(t, args...)
				if at := strings.Index(said, marked); at >= 0 {
					t.Errorf("%s%s prints a secret: %.300s", args, suffix, said[max(at-200, 0):])
				}
			}
		}
	}

	// The same, one secret after the other, so that no fault of another one hides it.
	for _, secret := range secretSettings() {
		for _, other := range secretSettings() {
			t.Setenv(settings.VariableOf(other), "")
			t.Setenv(settings.VariableOf(other+"-file"), "")
		}

		for _, suffix := range []string{"", "-file"} {
			t.Setenv(settings.VariableOf(secret), "")
			t.Setenv(settings.VariableOf(secret+suffix), marked)

			for _, args := range [][]string{{"config", "show"}, {"config", "show", "--json"}, {"init"}} {
				runs++

				said := markedCommand(t, args...)
				if strings.Contains(said, marked) {
					t.Errorf("%s: %s%s is printed: %s", args, secret, suffix, said)
				}

				if args[0] == "config" && !strings.Contains(said, settings.VariableOf(secret+suffix)) && !strings.Contains(said, secret) {
					t.Errorf("%s does not name %s%s: %s", args, secret, suffix, said)
				}
			}
		}
	}

	for _, args := range [][]string{{"endpoints", "create", "a", "https://example.com", "--secret-env", marked}, {"endpoints", "rotate-secret", "a", "--secret-env", marked}} {
		runs++

		if said := markedCommand(t, args...); strings.Contains(said, marked) {
			t.Errorf("%s prints its argument: %s", args[:2], said)
		}
	}

	if runs < 200 {
		t.Errorf("only %d runs", runs)
	}
}
