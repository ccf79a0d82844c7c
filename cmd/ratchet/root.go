package main

import (
	"github.com/spf13/cobra"

	"ratchet/server"
)

const rootHelp = `Ratchet moves orders forward, each transition at most once.

Where the data is, first match: --endpoint-url (any compatible endpoint, for instance
the one that ` + "`ratchet dev`" + ` prints), AWS when the SDK's default chain has a region, else
the embedded engine over --data; while ` + "`ratchet dev`" + ` serves that directory, commands
go to it.

Settings come from flags, then RATCHET_* variables (RATCHET_ENDPOINT_URL for
--endpoint-url), then the file named by --config (YAML, same names), then defaults.

Exit status of every command: 0 done, 1 failed or a check found a discrepancy, 2 bad
arguments or input, 3 the request was judged and not applied (refused, in conflict with
an earlier one), 4 there is no such thing. ` + "`ratchet actions`" + ` has more of them.`

func newRoot() *cobra.Command {
	s := &settings{}
	root := &cobra.Command{
		Use: "ratchet", Short: "The order state machine that only moves forward", Long: rootHelp,
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	defaults := server.Config{}.WithDefaults()
	f := root.PersistentFlags()
	f.String("config", "", "a YAML file with settings")
	f.String("endpoint-url", "", "compatible endpoint for DynamoDB, Streams, Step Functions and SQS")
	f.String("data", defaults.Data, "data directory of the embedded engine")
	f.String("prefix", defaults.Prefix, "prefix of tables, activities and the state machine")
	f.String("role-arn", defaults.RoleARN, "role of the state machine on AWS")
	f.String("notify", defaults.Notify, `where notifications go: "log", "file:FILE", "dir:DIR" or a URL`)
	f.String("journal", defaults.Journal, `who writes the orders' journal: "stream" or "transactional"`)
	f.String("order-definition", "", "file (YAML or JSON) of what orders may do; default: the built-in definition")
	f.IntSlice("accept-versions", nil, "other versions of the definition whose orders may be moved as they are")
	f.String("requests-queue", "", "SQS queue that transition requests come by: its URL, or a name that init creates")
	f.Int("slots", defaults.Slots, "tasks of one activity that a worker holds at once")
	f.Int("decline-percent", defaults.DeclinePercent, "payments that the sandbox gateway declines, in percent")
	f.Int("timeout-percent", defaults.TimeoutPercent, "payments that time out once at the sandbox gateway, in percent")
	f.Duration("effect-lease", defaults.EffectLease, "how long a worker may take for one effect before another repeats it")
	f.Duration("carrier-delay", defaults.CarrierDelay, "how long the sandbox carrier takes to ship, and to deliver")
	f.String("log-level", "info", "debug, info, warn or error")
	f.BoolVar(&s.json, "json", false, "print JSON for scripts")
	s.flags = f
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{exitUsage, flagError(err)} })
	root.AddCommand(initCommand(s), devCommand(s), serveCommand(s), keysCommand(s), workerCommand(s), demoCommand(s), replayCommand(s),
		ordersCommand(s), executionsCommand(s), workflowCommand(s), checkCommand(s), verifyCommand(s), engineCommand(s), claimsCommand(s), locksCommand(s),
		actionsCommand(s), inventoryCommand(s), parkedCommand(s), deadLettersCommand(s),
		accountsCommand(s), transfersCommand(s), holdsCommand(s), ledgerCommand(s), paymentsCommand(s), reconcileCommand(s))
	strictArgs(root)

	return root
}

// strictArgs makes every command answer wrong arguments with the usage status.
func strictArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageError("%w\nusage: %s", err, c.UseLine())
			}
			return nil
		}
	}

	for _, sub := range c.Commands() {
		strictArgs(sub)
	}
}

// group is a command that only holds others; an unknown one is an error, not a help page.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(subs...)
	return c
}
