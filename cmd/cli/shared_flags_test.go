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

	"github.com/spf13/pflag"

	"ratchet/server"
)

// TestCommandsTakeTheFlagsThatTheyUse, and no others.
func TestCommandsTakeTheFlagsThatTheyUse(t *testing.T) {
	s := ordersAt(t, func(context.Context, *server.Backend) error { return nil })
	data := s.flags.Lookup("data").Value.String()

	for _, row := range []struct {
		call   string
		status int
		says   string // on standard error, or in the error
	}{
		{"version --endpoint-url http://127.0.0.1:1", exitUsage, "endpoint-url: `ratchet version` does not use this setting"},
		{"--endpoint-url http://127.0.0.1:1 version", exitUsage, "endpoint-url: `ratchet version` does not use this setting"},
		{"version --json", exitOK, ""},
		{"--json version", exitOK, ""},
		{"version --jsn", exitUsage, "unknown flag: --jsn"},

		{"workflow show payment", exitOK, ""},
		{"workflow show --data DATA", exitUsage, "data: only with --counts"},
		{"workflow show --endpoint-url http://127.0.0.1:1", exitUsage, "endpoint-url: only with --counts"},
		{"workflow show --counts --data DATA", exitOK, ""},
		{"workflow show --bank sandbox", exitUsage, "bank: `ratchet workflow show` does not use this setting"},
		{"workflow new x --config y", exitUsage, "config: `ratchet workflow new` does not use this setting"},

		{"restore x --endpoint-url http://127.0.0.1:1", exitUsage, "endpoint-url: `ratchet restore` does not use this setting"},
		{"dev --endpoint-url http://127.0.0.1:1", exitUsage, "endpoint-url: `ratchet dev` does not use this setting"},
		{"plan --data DATA", exitUsage, "data: `ratchet plan` does not use this setting"},
		{"keys revoke x --json", exitUsage, "json: `ratchet keys revoke` does not use this setting"},
		{"accounts list --carrier sandbox", exitUsage, "carrier: `ratchet accounts list` does not use this setting"},

		{"orders list --data DATA", exitOK, ""},
		{"--data DATA orders list", exitOK, ""},
		{"orders --data DATA --json list", exitOK, ""},
		{"orders list --slots 3", exitUsage, "slots: `ratchet orders list` does not use this setting"},
		// These two settings decide which handlers there are.
		{"shipments reports --audit-retention 48h --data DATA", exitUsage, "audit-retention: `ratchet shipments reports` does not use this setting"},
		{"shipments reports --audit-retention 48h done none --cause x --data DATA", exitNotFound, "none"},
		{"shipments --audit-retention 48h --data DATA", exitOK, ""},
		{"deadletters list refund --data DATA", exitUsage, `handler "refund": only with --refund-returns`},
		{"deadletters list refund --refund-returns --data DATA", exitOK, ""},
		{"deadletters list lists --order-lists --data DATA", exitOK, ""},
		{"streams pause refund --refund-returns --data DATA", exitOK, ""},

		{"config show --data DATA --slots 3 --carrier sandbox --admin-listen off", exitOK, ""},

		// A command's own flags go before shared flags of the same name.
		{"actions bulk b --prefix x --count 1 --expires-at 2028-01-01T00:00:00Z --data DATA", exitUsage, "prefix"},
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

		if status := exitStatusOf(err); status != row.status || !strings.Contains(errs.String(), row.says) {
			t.Errorf("%s: exit status %d, want %d:\n%s", row.call, status, row.status, errs.String())
		}
	}
}

// TestHelpShowsTheFlagsThatParse: the help of a command shows a shared flag, among the shared ones,
// exactly if the command takes it.
func TestHelpShowsTheFlagsThatParse(t *testing.T) {
	all := (&settings{}).sharedFlags(flagGroups...)
	taken := map[string]int{}

	for path, c := range commands(newRoot(server.Parts{})) {
		if strings.HasPrefix(path, "completion") || path == "help" {
			continue
		}

		own, shared, _ := strings.Cut(c.UsageString(), sharedTitle(c)+":")

		all.VisitAll(func(f *pflag.Flag) {
			has := c.Flags().Lookup(f.Name)
			takes := has != nil && groupOf(has) != ""

			if shown := strings.Contains(shared, "--"+f.Name+" "); shown != takes {
				t.Errorf("%s --%s: is shown as shared: %t, is taken: %t", path, f.Name, shown, takes)
			}

			if has == nil && strings.Contains(own, "     --"+f.Name+" ") {
				t.Errorf("%s --%s: is shown and not taken", path, f.Name)
			}

			if takes {
				taken[groupOf(has)]++
			}
		})
	}

	for _, g := range flagGroups {
		if taken[g.name] == 0 {
			t.Errorf("no command takes the group %s", g.name)
		}
	}
}

// TestEveryFlagIsInOneGroup: a flag in two groups would be shown twice.
func TestEveryFlagIsInOneGroup(t *testing.T) {
	var seen []string
	for _, g := range flagGroups {
		(&settings{}).sharedFlags(g).VisitAll(func(f *pflag.Flag) {
			if slices.Contains(seen, f.Name) {
				t.Errorf("--%s is in two groups", f.Name)
			}
			seen = append(seen, f.Name)
		})
	}

	if len(seen) < 30 {
		t.Errorf("only %d flags", len(seen))
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
					t.Errorf("%s: ratchet %s: %s has no flag --%s", path, strings.TrimSpace(ours), commandName(found), flag[1])
				}
			}
		}

		return nil
	})
	if err != nil || checked < 200 {
		t.Errorf("%d flags checked, %v", checked, err)
	}
}
