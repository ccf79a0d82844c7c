package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/develop"
	"ratchet/cmd/cli/internal/engine"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/money"
	"ratchet/cmd/cli/internal/operate"
	"ratchet/cmd/cli/internal/orders"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/start"
	"ratchet/server"
)

const rootHelp = `Ratchet moves orders forward, each transition at most once. Begin with ` + "`ratchet dev`" + `.

Exit status of every command: 0 done, 1 failed or a check found a discrepancy, 2 bad
arguments or input, 3 the request was decided and not applied (refused, or in conflict
with an earlier one), 4 not found (also: no data where the command looks), 5 stopped with
tasks given back unfinished, 6 Ctrl-C has paused the job of the command, 130 ended at once by
a second signal. The help of a command says what they mean there.`

// groups are the groups of commands, in the order of the help. Each is a folder.
var groups = []struct {
	folder, title string
	commands      func(*settings.Settings) []*cobra.Command
}{
	{"start", "Start:", start.Commands},
	{"orders", "Orders:", orders.Commands},
	{"operate", "Operate:", operate.Commands},
	{"money", "Money and stock:", money.Commands},
	{"develop", "Develop:", develop.Commands},
	{"engine", "Engine:", engine.Commands},
}

// newRoot returns the command of a program that brings its own parts.
func newRoot(parts server.Parts) *cobra.Command {
	return newCommands(settings.New(parts))
}

// newCommands returns the command with all others below it.
func newCommands(s *settings.Settings) *cobra.Command {
	root := &cobra.Command{
		Use: "ratchet", Short: "The order state machine that only moves forward", Long: rootHelp,
		SilenceErrors: true, SilenceUsage: true, Args: settings.NoSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	// pflag's own messages speak of parsers and types.
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return exit.Wrong(append(s.Wrong, s.WrongFlag(c, err))...) })

	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.folder, Title: g.title})

		for _, c := range g.commands(s) {
			c.GroupID = g.folder
			root.AddCommand(c)
		}
	}

	root.AddCommand(s.Takes(versionCommand(s), settings.OutputFlags), settings.Topic())
	// These run over the finished tree, so that every command has the same rules.
	strictArgs(root, s)
	auditActs(root, s)
	// After auditActs, which gives commands more groups of flags.
	s.DefineFlags(root)
	addExamples(root, exampleLines())
	addStatuses(root, statusesOf())
	s.BePatient(root)

	root.SetUsageFunc(settings.WriteUsage)
	// Here the command that runs is known, and its flags are parsed.
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		// cobra keeps the functions that complete flags in a map of the process, and with them their whole tree.
		if c.Name() == cobra.ShellCompRequestCmd {
			addCompletion(s, root)
		}

		s.Use(c)

		return s.CheckUsed(c)
	}

	return root
}

// strictArgs gives wrong arguments the exit status exit.Usage, in the command and all below
// it.
func strictArgs(c *cobra.Command, s *settings.Settings) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err != nil {
				// The usage is shown with the error; cobra would print all of it.
				err = fmt.Errorf("%w\nusage: %s", arguments.CountError(c, args, err), c.UseLine())
			}

			return exit.Wrong(append(s.Wrong, err)...)
		}
	}

	for _, sub := range c.Commands() {
		strictArgs(sub, s)
	}
}
