package cli

import (
	"github.com/spf13/cobra"

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

const rootHelp = `Ratchet moves orders forward, each transition at most once.

The target of a command is the first of these:

  1. the endpoint --endpoint-url (any compatible one, for instance the one that ` + "`ratchet dev`" + ` prints)
  2. the ` + "`ratchet dev`" + ` that serves the directory --data, while it runs
  3. AWS, if the SDK's default chain has a region
  4. the embedded engine over the directory --data

A command that uses AWS because of 3, or passes over a region because of 2, says so on standard
error (--quiet: not). Only commands that write create --data. ` + "`ratchet config show`" + ` prints the
target and where each setting comes from.

Settings come from flags, then RATCHET_* variables (RATCHET_ENDPOINT_URL for --endpoint-url), then
the profile --profile of the file --config, then that file (YAML, same names), then defaults.
Secrets are never arguments: they come from the file, from a variable (RATCHET_WEBHOOK_SECRET) or
from a file of their own (RATCHET_WEBHOOK_SECRET_FILE). docs/reference/configuration.md lists every setting.

Exit status of every command: 0 done, 1 failed or a check found a discrepancy, 2 bad
arguments or input, 3 the request was decided and not applied (refused, or in conflict
with an earlier one), 4 not found, 5 stopped with tasks given back unfinished, 130 ended
at once by a second signal. ` + "`ratchet actions`" + ` has more.`

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
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return exit.With(exit.Usage, s.WrongFlag(c, err)) })
	for _, commands := range [][]*cobra.Command{
		start.Commands(s), orders.Commands(s), operate.Commands(s), money.Commands(s), develop.Commands(s), engine.Commands(s),
	} {
		root.AddCommand(commands...)
	}

	root.AddCommand(s.Takes(versionCommand(s), settings.OutputFlags))
	// These run over the finished tree, so that every command has the same rules.
	strictArgs(root)
	auditActs(root, s)
	// After auditActs, which gives commands more groups of flags.
	s.DefineFlags(root)
	addExamples(root)
	addCompletion(s, root)

	root.SetUsageFunc(settings.WriteUsage)
	// Here the command that runs is known, and its flags are parsed.
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		s.Use(c)
		return s.CheckUsed(c)
	}

	return root
}

// strictArgs gives wrong arguments the exit status exit.Usage, in the command and all below
// it.
func strictArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				// The usage is shown with the error; cobra would print all of it.
				return exit.UsageError("%w\nusage: %s", err, c.UseLine())
			}

			return nil
		}
	}

	for _, sub := range c.Commands() {
		strictArgs(sub)
	}
}
