package main

import (
	"github.com/spf13/cobra"

	"ratchet/server"
)

const rootHelp = `Ratchet moves orders forward, each transition at most once.

The data is in the first of these: the endpoint --endpoint-url (any compatible one, for
instance the one that ` + "`ratchet dev`" + ` prints), AWS if the SDK's default chain has a region,
or the embedded engine over the directory --data. While ` + "`ratchet dev`" + ` serves that
directory, commands connect to it.

Settings come from flags, then RATCHET_* variables (RATCHET_ENDPOINT_URL for
--endpoint-url), then the file named by --config (YAML, same names), then defaults.

Exit status of every command: 0 done, 1 failed or a check found a discrepancy, 2 bad
arguments or input, 3 the request was decided and not applied (refused, or in conflict
with an earlier one), 4 not found, 5 stopped with tasks given back unfinished, 130 ended
at once by a second signal. ` + "`ratchet actions`" + ` has more.`

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
	f.String("notify", defaults.Notify, `the configured endpoint of notifications: "log", "none", "file:FILE", "dir:DIR" or a URL`)
	f.String("journal", defaults.Journal, `what writes the orders' journal: "stream" or "transactional"`)
	f.String("order-definition", "", "file (YAML or JSON) with the definition of orders; default: the built-in definition")
	f.IntSlice("accept-versions", nil, "other versions of the definition whose orders may be moved without a migration")
	f.Bool("order-lists", false, "keep lists of orders by state, by time and by customer in a table of their own")
	f.String("requests-queue", "", "SQS queue that transition requests arrive on: its URL, or a name that init creates")
	f.Int("slots", defaults.Slots, "tasks of one activity that a worker runs at the same time")
	f.Int("calls-per-second", defaults.CallsPerSecond, "a worker's share of each Step Functions quota for tasks; default: 250, no limit in process")
	f.Duration("fresh-for", defaults.FreshFor, "how long after a transition a shipment is booked without another look at the order")
	f.String("payment-mode", defaults.PaymentMode, `when an order's money is taken: "charge" (at once) or "capture" (when it has shipped)`)
	f.Bool("refund-returns", false, "give the money of returned orders back and move them to REFUNDED")
	f.Int("decline-percent", defaults.DeclinePercent, "payments that the sandbox gateway declines, in percent")
	f.Int("timeout-percent", defaults.TimeoutPercent, "payments that time out once at the sandbox gateway, in percent")
	f.Duration("effect-lease", defaults.EffectLease, "how long a worker may take for one effect before another repeats it")
	f.String("carrier", defaults.Carrier, `who moves the parcels: "sandbox", a URL, or "execution:ARN" of a state machine`)
	f.Duration("carrier-delay", defaults.CarrierDelay, "how long the sandbox carrier takes to ship, and to deliver")
	f.String("log-level", "info", "debug, info, warn or error")
	f.BoolVar(&s.json, "json", false, "print JSON for scripts")
	s.flags = f
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{exitUsage, flagError(err)} })
	root.AddCommand(
		initCommand(s), devCommand(s), serveCommand(s), workerCommand(s), demoCommand(s), replayCommand(s),
		ordersCommand(s), executionsCommand(s), verifyCommand(s),
		workflowCommand(s), checkCommand(s), planCommand(s),
		claimsCommand(s), locksCommand(s), actionsCommand(s),
		inventoryCommand(s), shipmentsCommand(s),
		accountsCommand(s), transfersCommand(s), holdsCommand(s), ledgerCommand(s), paymentsCommand(s), reconcileCommand(s),
		keysCommand(s), tasksCommand(s), streamsCommand(s), deadLettersCommand(s),
		endpointsCommand(s), deliveriesCommand(s), listenCommand(s), triggerCommand(s), engineCommand(s),
	)
	strictArgs(root)

	return root
}

// strictArgs gives wrong arguments the exit status exitUsage, in the command and all below
// it.
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

// group returns a command that only holds others. Without a subcommand it prints its help;
// an unknown subcommand is an error.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(subs...)

	return c
}
