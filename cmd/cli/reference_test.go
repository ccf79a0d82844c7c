package cli

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/cmd/cli/internal/operate"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

var Update = flag.Bool("update", false, "write the references in docs/ as the code says")

// shellWords end a command in an example.
var shellWords = []string{"|", "||", ">", "<", "&", "&&", "#"}

// exampleArguments returns the words of an example after the program's name, as a shell splits them:
// up to a pipe, a redirection or a comment.
func exampleArguments(t *testing.T, line string) []string {
	t.Helper()

	var (
		words []string
		word  strings.Builder
		quote rune
		begun bool
	)

	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			if begun {
				words = append(words, word.String())
			}

			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}

	if quote != 0 {
		t.Errorf("%s: a quote is open", line)
	}

	if end := slices.IndexFunc(words, func(w string) bool { return slices.Contains(shellWords, w) }); end >= 0 {
		words = words[:end]
	}

	return words[1:]
}

// TestEveryCommandHasAnExample parses the examples of every command as the command line does: their
// flags and their number of arguments are right.
func TestEveryCommandHasAnExample(t *testing.T) {
	for path, command := range commands(newRoot(server.Parts{})) {
		examples := 0
		for line := range strings.Lines(command.Example) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "ratchet ") {
				continue
			}

			// Parsed by a new root each time, because flags keep their values.
			found, rest, err := newRoot(server.Parts{}).Find(exampleArguments(t, line))
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}

			if _, at, _ := strings.Cut(found.CommandPath(), " "); at == path {
				examples++
			}

			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}

			if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%s: %v", line, err)
			}

			if err := found.ValidateRequiredFlags(); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}

		if examples == 0 {
			t.Errorf("%s: its help has no example", path)
		}
	}
}

// Every line of examples.txt belongs to a command.
func TestExamplesBelongToCommands(t *testing.T) {
	root := newRoot(server.Parts{})

	for line := range strings.Lines(examplesText) {
		line = strings.TrimSpace(line)

		found, _, err := root.Find(strings.Fields(line)[1:])
		if err != nil || !strings.Contains(found.Example, line) {
			t.Errorf("%s: no command has it, %v", line, err)
		}
	}
}

// holdReference compares a page with the page that the code gives, or writes it with -update.
func holdReference(t *testing.T, name, want string) {
	t.Helper()

	path := filepath.Join("../..", "docs", "reference", name)
	if *Update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if string(have) != want {
		t.Errorf("%s is not as the code says: run `make reference`", path)
	}
}

// TestConfigurationReference holds docs/reference/configuration.md.
func TestConfigurationReference(t *testing.T) {
	holdReference(t, "configuration.md", configurationPage(t))
}

const configurationIntro = `# Configuration

Every setting, written from the code by ` + "`make reference`" + `. ` + "`ratchet config show`" + ` prints the values
in use and where each comes from.

A setting is taken from the first of these that has it:

1. the flag, for those that have one
2. the environment variable
3. the profile that ` + "`--profile`, `RATCHET_PROFILE` or the file's `profile`" + ` names, under ` + "`profiles`" + ` of the file
4. the file that ` + "`--config` or `RATCHET_CONFIG`" + ` names (YAML; the keys are the names below)
5. the default

` + "```yaml" + `
prefix: shop-
profile: staging
profiles:
  staging:
    endpoint-url: http://127.0.0.1:8700
  production:
    calls-per-second: 500
    webhook-secret-file: /run/secrets/webhook
` + "```" + `

The settings marked *secret* have no flag, because other users of a machine see the arguments of its
processes. Each may stand in a file of its own instead, named by the setting with ` + "`-file`" + ` at its end
(` + "`RATCHET_WEBHOOK_SECRET_FILE`" + `). They are never printed. Lists are written with commas, durations
like ` + "`1m30s`" + `.

| setting | flag | environment variable | default | meaning |
|---|---|---|---|---|
`

// configurationPage returns docs/reference/configuration.md.
func configurationPage(t *testing.T) string {
	t.Helper()

	root := newRoot(server.Parts{})
	shared := (&settings.Settings{}).SharedFlags(settings.FlagGroups...)
	meanings, names := settingDocs(t)
	defaults := operate.SettingsOf(server.Config{}.WithDefaults())
	defaults["log-level"], defaults["log-format"] = "info", "text"

	for _, name := range []string{"log-level", "log-format"} {
		usage := shared.Lookup(name).Usage
		meanings[name] = strings.ToUpper(usage[:1]) + usage[1:] + "."
	}

	var page strings.Builder
	page.WriteString(configurationIntro)

	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		meaning := plain(meanings[name], names)
		if meaning == "" {
			t.Errorf("setting %s has no comment", name)
		}

		if slices.Contains(secretSettings(), name) {
			meaning = "*Secret.* " + meaning
		}

		value := fmt.Sprint(defaults[name])
		if reflect.ValueOf(defaults[name]).IsZero() || value == "[]" || value == "0s" {
			value = ""
		} else {
			value = "`" + value + "`"
		}

		fmt.Fprintf(&page, "| `%s` | %s | `%s` | %s | %s |\n", name, flagsOf(root, name), settings.VariableOf(name), value, strings.ReplaceAll(meaning, "|", `\|`))
	}

	return page.String()
}

// flagsOf returns the flags of a setting: at all commands that use it, or at the named ones.
func flagsOf(root *cobra.Command, name string) string {
	if f := root.Flags().Lookup(name); f != nil && settings.GroupOf(f) != "" {
		return "`--" + name + "`"
	}

	var having []string
	for path, command := range commands(root) {
		if settings.FlagsIn(command, "").Lookup(name) != nil && slices.Contains([]string{"dev", "serve"}, path) {
			having = append(having, "`"+path+" --"+name+"`")
		}
	}
	slices.Sort(having)

	return strings.Join(having, ", ")
}

// settingDocs returns the comments of the configuration's fields by setting, and the settings by the
// names of the fields.
func settingDocs(t *testing.T) (meanings, names map[string]string) {
	t.Helper()

	meanings, names = map[string]string{}, map[string]string{}

	sources, err := filepath.Glob("../../server/*.go")
	if err != nil {
		t.Fatal(err)
	}

	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}

		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(file, func(n ast.Node) bool {
			structure, ok := n.(*ast.StructType)
			if ok {
				addFields(structure, meanings, names)
			}

			return true
		})
	}

	return meanings, names
}

// addFields adds the fields that are settings. A field without a comment belongs to the one above.
func addFields(structure *ast.StructType, meanings, names map[string]string) {
	above := ""
	for _, field := range structure.Fields.List {
		if field.Doc != nil {
			above = field.Doc.Text()
		}

		if field.Tag == nil || len(field.Names) == 0 {
			continue
		}

		tag, err := strconv.Unquote(field.Tag.Value)
		name := reflect.StructTag(tag).Get("koanf")

		if err == nil && name != "" && name[0] != ',' && name != "-" {
			// Two structs may have a field of the same name.
			if rest, begins := strings.CutPrefix(above, field.Names[0].Name+" "); begins {
				meanings[name] = "`" + name + "` " + rest
			} else {
				meanings[name] = above
			}

			names[field.Names[0].Name] = name
		}
	}
}

var (
	seeAlso    = regexp.MustCompile(`,? \(?see (?:package )?(?:\[[\w.]+\]|[\w/]+)\)?`)
	docLink    = regexp.MustCompile(`\[(?:\w+\.)*(\w+)\]`)
	identifier = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)
)

// plain makes one line of a comment, with the settings for the names of fields.
func plain(comment string, names map[string]string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = seeAlso.ReplaceAllString(strings.ReplaceAll(text, "[workflow.Order]", "the shop's"), "")
	text = docLink.ReplaceAllString(text, "$1")
	text = strings.NewReplacer(
		"DefaultListen", "`"+server.DefaultListen+"`",
		"DefaultAPIListen", "`"+server.DefaultAPIListen+"`",
		"DefaultAdminListen", "`"+server.DefaultAdminListen+"`",
	).Replace(text)

	return identifier.ReplaceAllStringFunc(text, func(word string) string {
		if name, ok := names[word]; ok {
			return "`" + name + "`"
		}

		return word
	})
}

// TestCommandReference holds docs/reference/cli.md.
func TestCommandReference(t *testing.T) {
	var page strings.Builder

	s := settings.New(server.Parts{})
	root := newCommands(s)
	page.WriteString("# Commands\n\nEvery command, written from the code by `make reference`. `ratchet COMMAND --help` prints the same.\n\n")
	writeText(&page, root.Long)
	page.WriteString("## Shared flags\n\nSettings that several commands use, in groups. Each command below names the groups that it takes; " +
		"another flag of them is an\nerror, with exit status 2. A flag may stand before the name of the command or after it.\n\n")

	for _, g := range settings.FlagGroups {
		fmt.Fprintf(&page, "### %s\n\n", g.Name)
		writeFlags(&page, (&settings.Settings{}).SharedFlags(g))
	}

	all := commands(root)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		command := all[path]
		if command.Hidden || strings.HasPrefix(path, "completion") || path == "help" {
			continue
		}

		fmt.Fprintf(&page, "## ratchet %s\n\n%s.\n\n", path, command.Short)
		writeText(&page, command.Long)
		writeText(&page, "usage: "+command.UseLine()+"\n\n"+command.Example)

		if statuses := settings.Statuses(command); statuses != "" {
			page.WriteString(statuses + "\n\n")
		}

		writeFlags(&page, settings.FlagsIn(command, ""))
		writeGroups(&page, s.Used[command])
	}

	holdReference(t, "cli.md", strings.TrimRight(page.String(), "\n")+"\n")
}

// writeText writes a text of the help as it is.
func writeText(page *strings.Builder, text string) {
	if text = strings.Trim(text, "\n"); text != "" {
		fmt.Fprintf(page, "```text\n%s\n```\n\n", text)
	}
}

// writeGroups writes the groups of shared flags that a command uses.
func writeGroups(page *strings.Builder, used []*settings.FlagGroup) {
	var groups []string
	for _, g := range settings.FlagGroups {
		if slices.Contains(used, g) {
			groups = append(groups, "["+g.Name+"](#"+g.Name+")")
		}
	}

	if len(groups) > 0 {
		fmt.Fprintf(page, "Shared flags: %s\n\n", strings.Join(groups, ", "))
	}
}

// writeFlags writes a table of flags.
func writeFlags(page *strings.Builder, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}

	page.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}

		value := f.DefValue
		if value == "" || value == "[]" || value == "false" {
			value = ""
		} else {
			value = "`" + value + "`"
		}

		fmt.Fprintf(page, "| `--%s` | %s | %s |\n", f.Name, value, strings.ReplaceAll(f.Usage, "|", `\|`))
	})
	page.WriteString("\n")
}
