package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

// TestCommandsTakeTheFlagsThatTheyUse, and no others.
func TestCommandsTakeTheFlagsThatTheyUse(t *testing.T) {
	s := commandtest.OrdersAt(t, func(context.Context, *server.Backend) error { return nil })
	data := s.Flags.Lookup("data").Value.String()

	for _, row := range []struct {
		call   string
		status int
		says   string // on standard error, or in the error
	}{
		{"version --endpoint-url http://127.0.0.1:1", exit.Usage, "endpoint-url: `ratchet version` does not use this setting"},
		{"--endpoint-url http://127.0.0.1:1 version", exit.Usage, "endpoint-url: `ratchet version` does not use this setting"},
		{"version --json", exit.OK, ""},
		{"--json version", exit.OK, ""},
		{"version --jsn", exit.Usage, "unknown flag: --jsn"},

		{"workflow show payment", exit.OK, ""},
		{"workflow show --data DATA", exit.Usage, "data: only with --counts"},
		{"workflow show --endpoint-url http://127.0.0.1:1", exit.Usage, "endpoint-url: only with --counts"},
		{"workflow show --counts --data DATA", exit.OK, ""},
		{"workflow show --bank sandbox", exit.Usage, "bank: `ratchet workflow show` does not use this setting"},
		{"workflow new x --config y", exit.Usage, "config: `ratchet workflow new` does not use this setting"},

		{"restore x --endpoint-url http://127.0.0.1:1", exit.Usage, "endpoint-url: `ratchet restore` does not use this setting"},
		{"dev --endpoint-url http://127.0.0.1:1", exit.Usage, "endpoint-url: `ratchet dev` does not use this setting"},
		{"plan --data DATA", exit.Usage, "data: `ratchet plan` does not use this setting"},
		{"keys revoke x --json", exit.Usage, "json: `ratchet keys revoke` does not use this setting"},
		{"accounts list --carrier sandbox", exit.Usage, "carrier: `ratchet accounts list` does not use this setting"},

		{"orders list --data DATA", exit.OK, ""},
		{"--data DATA orders list", exit.OK, ""},
		{"orders --data DATA --json list", exit.OK, ""},
		{"orders list --slots 3", exit.Usage, "slots: `ratchet orders list` does not use this setting"},
		// These two settings decide which handlers there are.
		{"shipments reports --audit-retention 48h --data DATA", exit.Usage, "audit-retention: `ratchet shipments reports` does not use this setting"},
		{"shipments reports --audit-retention 48h done none --cause x --data DATA", exit.NotFound, "none"},
		{"shipments --audit-retention 48h --data DATA", exit.OK, ""},
		{"deadletters list refund --data DATA", exit.Usage, `handler "refund": only with --refund-returns`},
		{"deadletters list refund --refund-returns --data DATA", exit.OK, ""},
		{"deadletters list lists --order-lists --data DATA", exit.OK, ""},
		{"streams pause refund --refund-returns --data DATA", exit.OK, ""},

		{"config show --data DATA --slots 3 --carrier sandbox --admin-listen off", exit.OK, ""},

		// All that is wrong is said at once.
		{"orders list --limit 0 --json=maybe --stuck=perhaps", exit.Usage, "3 flags or arguments are wrong:\n  limit \"0\": "},
		{"tasks list --limit many --slots 3", exit.Usage, "slots: `ratchet tasks list` does not use this setting"},
		{"payments authorize p-1", exit.Usage, "4 flags or arguments are wrong:\n  ratchet payments authorize needs --amount"},
		{"orders get --json=maybe", exit.Usage, "json \"maybe\": must be true or false"},

		// Former names, and verbs without their noun.
		{"check", exit.Usage, "did you mean workflow check?"},
		{"executions describe o-1", exit.Usage, "did you mean get?"},
		{"redrive", exit.Usage, "did you mean deadletters redrive or executions redrive?"},

		// A command's own flags go before shared flags of the same name.
		{"actions bulk b --prefix x --count 1 --expires-at 2028-01-01T00:00:00Z --data DATA", exit.Usage, "prefix"},
	} {
		var out, errs bytes.Buffer

		root := newRoot(server.Parts{})
		root.SetArgs(strings.Fields(strings.ReplaceAll(row.call, "DATA", data)))
		root.SetOut(&out)
		root.SetErr(&errs)

		err := root.ExecuteContext(t.Context())
		if err != nil {
			errs.WriteString(err.Error())
		}

		if status := exit.StatusOf(err); status != row.status || !strings.Contains(errs.String(), row.says) {
			t.Errorf("%s: exit status %d, want %d:\n%s", row.call, status, row.status, errs.String())
		}
	}
}

// mostHelp is how many lines the help of a command may have: one screen.
const mostHelp = 40

// TestHelpFitsOnAScreen: what a command does, its call, an example and its own flags. The root's help has a line for
// each command; the topic settings lists the shared flags.
func TestHelpFitsOnAScreen(t *testing.T) {
	root := newRoot(server.Parts{})
	root.InitDefaultHelpCmd()

	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}

		if !c.HasParent() || !c.Runnable() || strings.HasPrefix(settings.CommandName(c), "completion") {
			return
		}

		var help bytes.Buffer
		c.SetOut(&help)
		c.InitDefaultHelpFlag() // as before every call

		if err := c.Help(); err != nil {
			t.Fatal(err)
		}

		if lines := strings.Count(help.String(), "\n"); lines > mostHelp {
			t.Errorf("the help of `%s` has %d lines, at most %d", c.CommandPath(), lines, mostHelp)
		}

		if _, holds := c.Annotations["ratchet-group"]; !holds && !c.HasExample() && c.Name() != "help" {
			t.Errorf("the help of `%s` has no example", c.CommandPath())
		}
	}
	walk(root)
}

// TestHelpNamesTheGroupsThatParse: the help of a command names a group of shared flags exactly if the command takes
// it, and shows none of their flags among its own.
func TestHelpNamesTheGroupsThatParse(t *testing.T) {
	all := (&settings.Settings{}).SharedFlags(settings.FlagGroups...)
	taken := map[string]int{}

	for path, c := range commands(newRoot(server.Parts{})) {
		if strings.HasPrefix(path, "completion") || path == "help" {
			continue
		}

		own, shared, _ := strings.Cut(c.UsageString(), "Shared flags (`ratchet help settings`): ")
		named, _, _ := strings.Cut(shared, "\n")

		all.VisitAll(func(f *pflag.Flag) {
			has := c.Flags().Lookup(f.Name)
			takes := has != nil && settings.GroupOf(has) != ""

			if takes {
				taken[settings.GroupOf(has)]++
			}

			if takes && !slices.Contains(strings.Split(named, ", "), settings.GroupOf(has)) {
				t.Errorf("%s takes --%s and names only the groups %s", path, f.Name, named)
			}

			if (has == nil || takes) && strings.Contains(own, "     --"+f.Name+" ") {
				t.Errorf("%s --%s: is shown among its own", path, f.Name)
			}
		})

		for _, group := range strings.Split(named, ", ") {
			if named != "" && !settings.FlagsIn(c, group).HasAvailableFlags() {
				t.Errorf("%s names the group %q and takes none of its flags", path, group)
			}
		}
	}

	for _, g := range settings.FlagGroups {
		if taken[g.Name] == 0 {
			t.Errorf("no command takes the group %s", g.Name)
		}
	}
}

var (
	commandInText = regexp.MustCompile("(?m)(?:^\\s*|[`$(/] ?|[|&;] )ratchet ((?:[^`|#&;\n]|\\\\\n)+)")
	flagInText    = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
)

// TestDocumentsGiveFlagsThatTheirCommandsTake looks at the commands in all pages, scripts and templates.
func TestDocumentsGiveFlagsThatTheirCommandsTake(t *testing.T) {
	checked, root := 0, newRoot(server.Parts{})

	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".md", ".sh", ".yaml", ".tf"}, filepath.Ext(path)) || strings.HasSuffix(path, "CHANGELOG.md") {
			return err
		}

		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		for _, match := range commandInText.FindAllStringSubmatch(string(text), -1) {
			ours, _, _ := strings.Cut(match[1], " -- ") // the rest is of another program

			found, _, err := root.Find(strings.Fields(ours))
			if err != nil || found.HasSubCommands() && !hasOwnFlags(found) {
				continue // a sentence, or a group of commands
			}
			found.InitDefaultHelpFlag()

			for _, flag := range flagInText.FindAllStringSubmatch(ours, -1) {
				checked++

				if found.Flag(flag[1]) == nil {
					t.Errorf("%s: ratchet %s: %s has no flag --%s", path, strings.TrimSpace(ours), settings.CommandName(found), flag[1])
				}
			}
		}

		return nil
	})
	if err != nil || checked < 200 {
		t.Errorf("%d flags checked, %v", checked, err)
	}
}
