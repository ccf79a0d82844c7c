package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

// FlagGroup is a group of settings that have a flag at each command that uses them. A command takes
// groups; its help and its parser have only the flags of these groups.
type FlagGroup struct {
	Name string
	add  func(f *pflag.FlagSet, s *Settings, defaults server.Config)
	// of lists the groups that this group combines. Such a group has no flags of its own.
	of []*FlagGroup
}

// sharedAnnotation marks flags of groups. Its value is the name of the group.
const sharedAnnotation = "ratchet-shared"

// The groups, in the order of the help.
var (
	OutputFlags = &FlagGroup{Name: "output", add: func(f *pflag.FlagSet, s *Settings, _ server.Config) {
		f.BoolVar(&s.JSON, "json", false, "print JSON for scripts")
	}}
	quietFlags = &FlagGroup{Name: "quiet", add: func(f *pflag.FlagSet, s *Settings, _ server.Config) {
		f.BoolVar(&s.Quiet, "quiet", false, "print neither which target is used nor how far the command is")
	}}
	SettingsFlags = &FlagGroup{Name: "settings", add: func(f *pflag.FlagSet, _ *Settings, _ server.Config) {
		f.String("config", "", "a YAML file with settings")
		f.String("profile", "", "a profile of the file --config")
		f.String("log-level", defaultLogLevel, "debug, info, warn or error")
		f.String("log-format", defaultLogFormat, "text or json")
	}}
	URLFlags = &FlagGroup{Name: "endpoint", add: func(f *pflag.FlagSet, _ *Settings, _ server.Config) {
		f.String("endpoint-url", "", "compatible endpoint for DynamoDB, Streams, Step Functions and SQS")
	}}
	DataFlags = &FlagGroup{Name: "data", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.String("data", defaults.Data, "data directory of the embedded engine")
	}}
	StoreFlags = &FlagGroup{Name: "store", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.String("prefix", defaults.Prefix, "prefix of tables, activities and the state machine")
		f.String("otlp-endpoint", "", "URL where traces, metrics and logs go (OTLP over HTTP), or \"off\"; default: OTEL_EXPORTER_OTLP_ENDPOINT, else off")
	}}
	OrdersFlags = &FlagGroup{Name: "orders", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.String("journal", defaults.Journal, `what writes the orders' journal: "stream" or "transactional"`)
		f.String("order-definition", "", "file (YAML or JSON) with the definition of orders; default: the built-in definition")
		f.String("state-machine", "", "file (ASL, JSON) with a state machine for --order-definition; default: that of the shop")
		f.StringSlice("other-activities", nil, "activities of --state-machine that workers of other programs serve")
		f.IntSlice("accept-versions", nil, "other versions of the definition whose orders may be moved without a migration")
		f.String("orders-table", "", "table of your own that holds the orders; it is never created or altered; default: PREFIXorders")
		f.String("orders-key", "", "NAME=PATTERN of its partition key, with {id} for the order's id: pk=ORDER#{id}")
		f.String("orders-sort", "", "NAME=VALUE of its sort key: sk=ORDER")
		f.String("orders-prefix", "", "prefix of the names of the attributes that Ratchet writes into it")
		f.StringSlice("orders-attributes", nil, "FIELD=NAME of single attributes: orderState=status")
		f.StringSlice("orders-keep", nil, "attributes of your own that stay when a person is erased")
		f.Bool("journal-own", false, "the journal has the attributes of your own that each transition changes")
		f.Bool("order-lists", false, "keep lists of orders by state, by time and by customer in a table of their own")
		f.Duration("expire-unpaid", 0, "expire orders of the built-in shop that were not paid for so long; 0: never")
		f.Duration("return-window", 0, "close orders of the built-in shop so long after their delivery; 0: never")
		f.Bool("refund-returns", false, "give the money of returned orders back and move them to REFUNDED")
	}}
	QueueFlags = &FlagGroup{Name: "queue", add: func(f *pflag.FlagSet, _ *Settings, _ server.Config) {
		f.String("requests-queue", "", "SQS queue that transition requests arrive on: its URL, or a name that init creates")
	}}
	RoleFlags = &FlagGroup{Name: "role", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.String("role-arn", defaults.RoleARN, "role of the state machine on AWS")
	}}
	BankFlags = &FlagGroup{Name: "bank", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.String("bank", "", `who takes the money: "sandbox" (the default, except on AWS)`)
		f.Int("decline-percent", defaults.DeclinePercent, "payments that the sandbox bank declines, in percent")
		f.Int("timeout-percent", defaults.TimeoutPercent, "payments that time out once at the sandbox bank, in percent")
	}}
	CarrierFlags = &FlagGroup{Name: "carrier", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.String("carrier", defaults.Carrier, `who moves the parcels: "sandbox" (the default, except on AWS), a URL, or "execution:ARN" of a state machine`)
		f.Duration("carrier-delay", defaults.CarrierDelay, "how long the sandbox carrier takes to ship, and to deliver")
	}}
	NotificationFlags = &FlagGroup{Name: "notifications", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.String("notify", defaults.Notify, `the configured endpoint of notifications: "log", "none", "file:FILE", "dir:DIR" or a URL`)
		f.String("trace-propagation", defaults.Tracing.Propagation, "what carries the traceparent: all (a carrier's URL and notifications), own (a carrier's URL) or none")
	}}
	WorkFlags = &FlagGroup{Name: "work", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.Int("slots", defaults.Slots, "tasks of one activity that a worker runs at the same time")
		f.Int("calls-per-second", defaults.CallsPerSecond, "a worker's share of each Step Functions quota for tasks; default: 250, no limit in process")
		f.Duration("effect-lease", defaults.EffectLease, "how long a worker may take for one effect before another repeats it")
		f.String("payment-mode", defaults.PaymentMode, `when an order's money is taken: "charge" (at once) or "capture" (when it has shipped)`)
		f.Float64("count-units", 0, "read units a second for the count of orders by state, negative for no count; default: 5")
		f.Duration("stuck-every", 0, "how often the workers count stuck orders, negative for never; default: 1h, up to 100,000 orders")
	}}
	FreshFlags = &FlagGroup{Name: "fresh", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.Duration("fresh-for", defaults.FreshFor, "how long after a transition a shipment is booked without another look at the order")
	}}
	AdminFlags = &FlagGroup{Name: "admin", add: func(f *pflag.FlagSet, _ *Settings, _ server.Config) {
		f.String("admin-listen", "", "HOST:PORT where a process serves health and metrics, or \"off\"; default: "+server.DefaultAdminListen+", or a free port")
	}}
	ReadyFlags = &FlagGroup{Name: "ready", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.Duration("ready-lag", defaults.ReadyLag, "how far behind the orders' stream a worker is still ready")
	}}
	figureFlags = &FlagGroup{Name: "figures", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.Bool("cloudwatch-figures", defaults.Tracing.Figures, "write the figures that alarms of CloudWatch watch to standard output, a line a minute (EMF)")
	}}
	AuditFlags = &FlagGroup{Name: "audit", add: func(f *pflag.FlagSet, _ *Settings, defaults server.Config) {
		f.Duration("audit-retention", defaults.AuditRetention, "how long a row of the audit table is kept")
	}}
)

// FlagGroups are all groups.
var FlagGroups = []*FlagGroup{
	OutputFlags, quietFlags, SettingsFlags, URLFlags, DataFlags, StoreFlags, OrdersFlags, QueueFlags, RoleFlags,
	BankFlags, CarrierFlags, NotificationFlags, WorkFlags, FreshFlags, AdminFlags, ReadyFlags, figureFlags, AuditFlags,
}

// Groups of groups.
var (
	// TargetFlags are the flags of commands that work on the data of a target.
	TargetFlags = &FlagGroup{of: []*FlagGroup{quietFlags, SettingsFlags, URLFlags, DataFlags, StoreFlags}}
	// EngineFlags are the flags of commands that work on the embedded engine only.
	EngineFlags = &FlagGroup{of: []*FlagGroup{SettingsFlags, DataFlags, StoreFlags}}
	// WorkerFlags are the flags of processes that run a worker.
	WorkerFlags = &FlagGroup{of: []*FlagGroup{
		OutputFlags, OrdersFlags, QueueFlags, BankFlags, CarrierFlags, NotificationFlags, WorkFlags, FreshFlags,
		AdminFlags, ReadyFlags, figureFlags, AuditFlags,
	}}
	// EveryFlag has the flags of commands that look at the settings themselves.
	EveryFlag = &FlagGroup{of: FlagGroups}
)

// Takes gives the groups to a command and to the commands below it.
func (s *Settings) Takes(c *cobra.Command, groups ...*FlagGroup) *cobra.Command {
	if s.taken == nil {
		s.taken = map[*cobra.Command][]*FlagGroup{}
	}

	for _, g := range groups {
		if g.of != nil {
			s.Takes(c, g.of...)
			continue
		}
		s.taken[c] = append(s.taken[c], g)
	}

	return c
}

// PrintsJSON gives the flag --json to commands.
func (s *Settings) PrintsJSON(all ...*cobra.Command) []*cobra.Command {
	for _, c := range all {
		s.Takes(c, OutputFlags)
	}

	return all
}

// DefineFlags defines the flags of the groups that the commands take, and returns the groups of c.
// A command with subcommands also has the subcommands' flags, because a flag may stand before the
// name of the subcommand that takes it.
func (s *Settings) DefineFlags(c *cobra.Command, inherited ...*FlagGroup) []*FlagGroup {
	groups := slices.Concat(inherited, s.taken[c])
	if MayCreateData(c) {
		groups = append(groups, OrdersFlags, QueueFlags) // the settings with which the data is created
	}
	s.Used[c] = groups

	for _, sub := range c.Commands() {
		// A subcommand inherits from its parents only: the groups of its neighbors are not its own.
		groups = append(groups, s.DefineFlags(sub, slices.Concat(inherited, s.taken[c])...)...)
	}

	shared := s.flagsOf(groups)
	s.shared[c] = shared
	c.Flags().AddFlagSet(shared)

	return groups
}

// flagsOf returns the flags of the groups. All commands that take a group share its flags, and those with the same groups share
// the set, because a program runs one command: flags of its own for each command would take longer than all else that a start does.
func (s *Settings) flagsOf(groups []*FlagGroup) *pflag.FlagSet {
	var key strings.Builder
	for _, g := range FlagGroups {
		if slices.Contains(groups, g) {
			key.WriteString(g.Name + " ")
		}
	}

	if flags, ok := s.sets[key.String()]; ok {
		return flags
	}

	flags := pflag.NewFlagSet("", pflag.ContinueOnError)

	for _, g := range FlagGroups {
		if !slices.Contains(groups, g) {
			continue
		}

		if s.sets[g.Name] == nil {
			s.sets[g.Name] = s.SharedFlags(g)
		}
		flags.AddFlagSet(s.sets[g.Name])
	}
	s.sets[key.String()] = flags

	return flags
}

// SharedFlags returns new flags of the groups.
func (s *Settings) SharedFlags(groups ...*FlagGroup) *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	defaults := server.Config{}.WithDefaults()

	// In the order of FlagGroups, so that every help has the same order.
	for _, g := range FlagGroups {
		if !slices.Contains(groups, g) {
			continue
		}

		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		// A set of its own, so that each flag can be marked with its group.
		g.add(flags, s, defaults)
		flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{sharedAnnotation: {g.Name}} })
		all.AddFlagSet(flags)
	}

	return all
}

// Use makes the command's flags the settings. The command's flags were parsed.
func (s *Settings) Use(c *cobra.Command) {
	s.Creates = MayCreateData(c)

	if flags, ok := s.shared[c]; ok {
		s.Flags = flags
	}
}

// CheckUsed refuses a shared flag that was given to a command which has it only for a command below it.
func (s *Settings) CheckUsed(c *cobra.Command) error {
	// The flags of a group of commands are there for its subcommands.
	if _, holds := c.Annotations[groupAnnotation]; holds || !c.HasParent() {
		return nil // it prints its help
	}

	wrong := s.Wrong
	for _, g := range FlagGroups {
		// The parser has accepted the flag, because a subcommand takes it.
		if name := FirstChanged(c.Flags(), g); name != "" && !slices.Contains(s.Used[c], g) {
			wrong = append(wrong, notUsed(c, name))
		}
	}

	return exit.Wrong(wrong...)
}

// notUsed is the error of a flag that a command does not take although others do.
func notUsed(c *cobra.Command, flag string) error {
	return fmt.Errorf("%s: `%s` does not use this setting (see `%[2]s --help`)", flag, c.CommandPath())
}

// GroupOf returns the name of a flag's group, "" for a flag of a single command.
func GroupOf(f *pflag.Flag) string {
	if group := f.Annotations[sharedAnnotation]; len(group) > 0 {
		return group[0]
	}

	return ""
}

// FirstChanged returns the first flag of the group that was given, "" if none was.
func FirstChanged(flags *pflag.FlagSet, g *FlagGroup) (name string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if name == "" && f.Changed && GroupOf(f) == g.Name {
			name = f.Name
		}
	})

	return name
}

// FlagsIn returns the flags of a command that are in the group, "" for its own.
func FlagsIn(c *cobra.Command, group string) *pflag.FlagSet {
	found := pflag.NewFlagSet("", pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		if GroupOf(f) == group {
			found.AddFlag(f)
		}
	}

	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)

	return found
}

// WrongFlag explains a flag that a command does not take although others do.
func (s *Settings) WrongFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return arguments.FlagError(err)
	}

	name := unknown.GetSpecifiedName()
	if s.SharedFlags(FlagGroups...).Lookup(name) != nil {
		return notUsed(c, name)
	}

	return fmt.Errorf("unknown flag: --%s%s; `%s --help` lists the flags", name, similarFlags(c, name), c.CommandPath())
}

// similarFlags names the flags of a command that are written nearly like name, or begin like it.
func similarFlags(c *cobra.Command, name string) string {
	// Cobra measures how far words are apart only between commands.
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}

	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})

	var similar []string
	for _, found := range flags.SuggestionsFor(name) {
		similar = append(similar, "--"+found)
	}

	if len(similar) == 0 {
		return ""
	}

	return "; did you mean " + strings.Join(similar, " or ") + "?"
}
