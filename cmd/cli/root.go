package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	return newCommands(&settings{parts: parts})
}

// newCommands returns the command with all others below it.
func newCommands(s *settings) *cobra.Command {
	s.flags = s.sharedFlags()
	// The flags are defined at the end, when every command has said which groups it takes.
	s.shared, s.used = map[*cobra.Command]*pflag.FlagSet{}, map[*cobra.Command][]*flagGroup{}

	root := &cobra.Command{
		Use: "ratchet", Short: "The order state machine that only moves forward", Long: rootHelp,
		SilenceErrors: true, SilenceUsage: true, Args: noSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	// pflag's own messages speak of parsers and types.
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &statusError{exitUsage, s.wrongFlag(c, err)} })
	root.AddCommand(
		s.takes(initCommand(s), outputFlags, targetFlags, roleFlags),
		s.takes(devCommand(s), engineFlags, workerFlags),
		s.takes(serveCommand(s), targetFlags, workerFlags),
		s.takes(workerCommand(s), targetFlags, workerFlags),
		s.takes(demoCommand(s), outputFlags, settingsFlags, storeFlags, bankFlags, carrierFlags, workFlags, freshFlags),
		s.takes(replayCommand(s), outputFlags, targetFlags),

		s.takes(ordersCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(executionsCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(verifyCommand(s), outputFlags, targetFlags, ordersFlags),
		workflowCommand(s),
		s.takes(checkCommand(s), outputFlags, settingsFlags, ordersFlags),
		s.takes(planCommand(s), outputFlags),

		s.takes(claimsCommand(s), targetFlags),
		s.takes(locksCommand(s), outputFlags, targetFlags),
		actionsCommand(s),
		s.takes(inventoryCommand(s), outputFlags, targetFlags),
		s.takes(shipmentsCommand(s), outputFlags, targetFlags),

		s.takes(accountsCommand(s), targetFlags),
		s.takes(transfersCommand(s), outputFlags, targetFlags),
		s.takes(holdsCommand(s), outputFlags, targetFlags),
		s.takes(ledgerCommand(s), outputFlags, targetFlags),
		s.takes(paymentsCommand(s), targetFlags),
		s.takes(reconcileCommand(s), outputFlags, targetFlags),

		deployCommand(s),
		s.takes(backupCommand(s), outputFlags, targetFlags),
		s.takes(restoreCommand(s), outputFlags, settingsFlags, dataFlags),
		s.takes(restoredCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(compactCommand(s), outputFlags, targetFlags),
		s.takes(configCommand(s), everyFlag),
		s.takes(statusCommand(s), outputFlags, targetFlags, ordersFlags, notificationFlags, readyFlags),
		s.takes(healthCommand(s), outputFlags, settingsFlags, adminFlags),
		s.takes(doctorCommand(s), everyFlag),
		s.takes(auditCommand(s), outputFlags, targetFlags),
		s.takes(keysCommand(s), targetFlags),

		s.takes(tasksCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(streamsCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(deadLettersCommand(s), outputFlags, targetFlags, ordersFlags),
		s.takes(jobsCommand(s), outputFlags, targetFlags, ordersFlags),
		endpointsCommand(s),
		s.takes(deliveriesCommand(s), outputFlags, targetFlags, notificationFlags),
		s.takes(listenCommand(s), targetFlags, ordersFlags),
		s.takes(triggerCommand(s), outputFlags, targetFlags),
		s.takes(engineCommand(s), outputFlags, targetFlags),
		s.takes(versionCommand(s), outputFlags),
	)
	// These run over the finished tree, so that every command has the same rules.
	strictArgs(root)
	auditActs(root, s)
	// After auditActs, which gives commands more groups of flags.
	s.defineFlags(root)
	addExamples(root)
	addCompletion(s, root)

	root.SetUsageFunc(writeUsage)
	// Here the command that runs is known, and its flags are parsed.
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		s.use(c)
		return s.checkUsed(c)
	}

	return root
}

// strictArgs gives wrong arguments the exit status exitUsage, in the command and all below
// it.
func strictArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				// The usage is shown with the error; cobra would print all of it.
				return usageError("%w\nusage: %s", err, c.UseLine())
			}

			return nil
		}
	}

	for _, sub := range c.Commands() {
		strictArgs(sub)
	}
}

// noSubcommand refuses an argument of a command that only holds others, and names commands that are
// written nearly like it.
func noSubcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}

	// Two letters: more would suggest commands that mean something else.
	c.SuggestionsMinimumDistance = 2

	err := fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
	if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(similar, " or "))
	}

	return err
}

// groupAnnotation marks the commands that only hold others.
const groupAnnotation = "ratchet-group"

// group returns a command that only holds others. Without a subcommand it prints its help;
// an unknown subcommand is an error.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  noSubcommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },

		Annotations: map[string]string{groupAnnotation: ""},
	}
	c.AddCommand(subs...)

	return c
}
