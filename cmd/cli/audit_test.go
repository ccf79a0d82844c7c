package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

const (
	reads    = "it only reads"
	runs     = "it is a process, with a row in the table of the processes"
	local    = "it changes nothing but files or the embedded engine's shards on this machine"
	scripted = "scripts run it for each piece of work; the record that it makes is the evidence"
)

// notActs are the commands without a row in the audit table, with the reason.
var notActs = map[string]string{
	"accounts get": reads, "accounts list": reads, "accounts statement": reads,
	"actions get": reads, "actions key": local,
	"audit list": reads,
	"claims get": reads, "claims run": scripted, "claims unsettled": reads,
	"deadletters list": reads, "deadletters get": reads,
	"deliveries list": reads, "deliveries get": reads,
	"config show": reads,
	"demo":        local, "dev": runs, "serve": runs, "worker": runs,
	"deploy cloudformation": local, "deploy plan": reads, "deploy terraform": local,
	"doctor":                reads,
	"orders scheduled list": reads,
	"jobs list":             reads, "jobs get": reads,
	"endpoints list": reads, "endpoints schema": reads, "endpoints show": reads,
	"engine roll": local, "engine shards": reads, "engine split": local, "engine trim": local,
	"executions get": reads, "executions list": reads,
	"health":        reads,
	"holds get":     reads,
	"init":          "it creates the table of acts; CloudTrail has the calls",
	"restored":      "it creates the table of acts; CloudTrail has the calls",
	"inventory get": reads, "inventory get-reservation": reads,
	"keys list":     reads,
	"ledger verify": reads,
	"listen":        "it makes an endpoint for the time that it runs, and removes it",
	"locks acquire": scripted, "locks get": reads,
	"orders explain": reads, "orders get": reads, "orders history": reads, "orders list": reads, "orders watch": reads,
	"payments get": reads, "payments list": reads, "payments parked": reads, "payments report": reads,
	"plan":              reads,
	"reconcile":         reads,
	"replay":            "it makes the transitions of a file, each with its cause",
	"restore":           local,
	"shipments reports": reads,
	"status":            reads,
	"streams lag":       reads, "streams status": reads,
	"tasks list":    reads,
	"transfers get": reads, "transfers list": reads,
	"verify":         reads,
	"version":        reads,
	"workflow check": reads, "workflow machine": reads, "workflow new": local, "workflow schema": reads, "workflow show": reads,
}

// runnable returns the commands below c that do something: commands without subcommands, and
// commands with flags of their own.
func runnable(c *cobra.Command) (all []*cobra.Command) {
	if c.Runnable() && (len(c.Commands()) == 0 || c.HasParent() && hasOwnFlags(c)) {
		all = append(all, c)
	}

	for _, sub := range c.Commands() {
		all = append(all, runnable(sub)...)
	}

	return all
}

// hasOwnFlags reports whether a command has flags that are neither shared nor its subcommands'.
func hasOwnFlags(c *cobra.Command) (has bool) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { has = has || settings.GroupOf(f) == "" && f.Name != "help" })

	return has
}

func TestEveryCommandIsAnActOrSaysWhyNot(t *testing.T) {
	known := map[string]bool{}

	for _, c := range runnable(newRoot(server.Parts{})) {
		name := settings.CommandName(c)
		known[name] = true

		rule, isAct := acts[name]
		if _, isNone := notActs[name]; isAct == isNone {
			t.Errorf("%s: in acts: %t, in notActs: %t; it must be in one of them", name, isAct, isNone)
		}

		for _, flag := range rule.flags {
			if c.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no flag %s", name, flag)
			}
		}
	}

	for name := range acts {
		if !known[name] {
			t.Errorf("acts has %s, which is no command", name)
		}
	}

	for name := range notActs {
		if !known[name] {
			t.Errorf("notActs has %s, which is no command", name)
		}
	}
}

// TestActsNameIDsOnly: a row must hold no content, and no secret of an action.
func TestActsNameIDsOnly(t *testing.T) {
	for _, row := range []struct{ call, want string }{
		{"orders apply o-1 cancel --reason fraud --reason-text Erika", "o-1 cancel"},
		{"orders edit set-address o-1 shipping name=Erika", "o-1"},
		{"orders edit add-note o-1 Geburtstag", "o-1"},
		{"orders edit set-own o-1 --set name=Erika", "o-1"},
		{"endpoints create shop https://user:secret@example.com/hook", "shop"},
		{"keys create --name ci --scope admin", "name=ci scope=admin"},
		{"deadletters redrive --handler notify", "handler=notify"},
		{"deadletters redrive notify 1/2", "notify 1/2"},
		{"actions cancel 123456", "#"},
	} {
		root := newRoot(server.Parts{})

		c, args, err := root.Find(strings.Fields(row.call))
		if err == nil {
			err = c.ParseFlags(args)
		}

		if err != nil {
			t.Fatalf("%s: %v", row.call, err)
		}

		got := acts[settings.CommandName(c)].on(c, c.Flags().Args())
		if row.want == "#" {
			if strings.Contains(got, "123456") || len(got) < 16 {
				t.Errorf("%s: on %q, want a digest", row.call, got)
			}
		} else if got != row.want {
			t.Errorf("%s: on %q, want %q", row.call, got, row.want)
		}
	}
}
