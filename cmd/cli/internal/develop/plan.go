package develop

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/workflow/plan"
)

const planHelp = `Reads a state machine (Amazon States Language, JSON or YAML; by default the one that Ratchet deploys) and
an account's quotas, and answers: how many orders a second are possible and which limit binds
first, what one order costs and how many history events it takes, and what a change gives. With --rate it
also says what so many orders a second need.

The default quotas are those of us-east-1, us-west-2 and eu-west-1; --region other takes those of
the other Regions. A file (--quotas) is a JSON object of names and numbers, such as
{"SendTaskSuccess": 1000}. Source: ` + plan.SourceOfQuotas + `

Every state that waits for an outside event waits for --waits, unless --wait names another time.
The DynamoDB units of an order are those of docs/operate/costs.md: an order with one SKU, and its payment.`

// The capacity that an order with one SKU and its payment consumes, as docs/operate/costs.md measures it:
// units in all tables, write units in the busiest table, and write units in the item of the SKU.
const (
	orderWriteUnits = 43
	orderReadUnits  = 12
	orderTableUnits = 9
	orderItemUnits  = 4
)

func planCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "plan [FILE]", Short: "Compute orders per second, costs and the limit that binds first", Long: planHelp,
		Args: cobra.MaximumNArgs(1),
		Example: "  ratchet plan\n" +
			"  ratchet plan --rate 1000\n" +
			"  ratchet plan --wait AwaitShipped=72h --quota SendTaskSuccess=2000\n" +
			"  ratchet plan my.asl.json --region other --json",
	}
	rate := c.Flags().Float64("rate", 0, "orders a second to say the needs of; 0: none")
	region := c.Flags().String("region", "us-east-1", "us-east-1 (also us-west-2 and eu-west-1) or other")
	file := c.Flags().String("quotas", "", "file with the account's quotas (JSON)")
	quotas := c.Flags().StringArray("quota", nil, "one quota, NAME=NUMBER; repeat for more")
	waits := c.Flags().Duration("waits", 48*time.Hour, "how long each wait for an outside event lasts")
	wait := c.Flags().StringArray("wait", nil, "how long one wait lasts, STATE=DURATION; repeat for more")
	load := plan.Load{}
	c.Flags().DurationVar(&load.Task, "task", 100*time.Millisecond, "how long a worker takes for one task")
	c.Flags().Float64Var(&load.WriteUnits, "write-units", orderWriteUnits, "DynamoDB write units of one order")
	c.Flags().Float64Var(&load.ReadUnits, "read-units", orderReadUnits, "DynamoDB read units of one order")
	c.Flags().Float64Var(&load.Timed, "timed", 0, "how many transitions of one order time makes; they cost DynamoDB units beside the order's")
	c.Flags().Float64Var(&load.TableUnits, "table-units", orderTableUnits, "write units of one order in the busiest table")
	c.Flags().Float64Var(&load.ItemUnits, "item-units", orderItemUnits, "write units of one order in an item that all orders share; 0: none")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		name, asl := "statemachine.asl.json", []byte(ratchet.StateMachine)
		if len(args) == 1 {
			name = args[0]
			if asl, err = arguments.ReadFile(c, name); err != nil {
				return err
			}
		}

		if load.Quotas, err = readQuotas(c, *region, *file, *quotas); err != nil {
			return err
		}

		m, err := plan.Parse(name, asl)
		if err != nil {
			return exit.With(exit.Usage, err)
		}

		if load.Waits, err = readWaits(m, *waits, *wait); err != nil {
			return err
		}

		report, err := plan.New(m, load)
		if err != nil {
			return exit.With(exit.Usage, err)
		}

		answer := planned{Report: report}
		if *rate != 0 {
			demand, err := report.Demand(*rate)
			if err != nil {
				return exit.UsageError("--rate: %w", err)
			}
			answer.Demand = &demand
		}

		if s.JSON {
			return terminal.PrintJSON(c.OutOrStdout(), answer)
		}

		if _, err = fmt.Fprint(c.OutOrStdout(), report.Text()); err != nil || answer.Demand == nil {
			return err
		}

		return answer.Demand.Print(c.OutOrStdout())
	}

	return c
}

// planned is the answer of `ratchet plan`.
type planned struct {
	plan.Report
	Demand *plan.Demand `json:"demand,omitempty"`
}

// readQuotas returns the quotas of the Region. Quotas in the file replace them, and quotas in the
// arguments replace both.
func readQuotas(c *cobra.Command, region, file string, single []string) (q plan.Quotas, err error) {
	switch region {
	case "us-east-1", "us-west-2", "eu-west-1":
		// These three Regions have higher quotas than all others.
		q = plan.USEast1()
	case "other":
		q = plan.OtherRegions()
	default:
		return nil, exit.UsageError("region %q: us-east-1, us-west-2, eu-west-1 or other", region)
	}

	if file != "" {
		text, err := arguments.ReadFile(c, file)
		if err != nil {
			return nil, err
		}

		if q, err = plan.ParseQuotas(text, q); err != nil {
			return nil, exit.UsageError("quotas %s: %w", file, err)
		}
	}

	for _, pair := range single {
		name, number, _ := strings.Cut(pair, "=")

		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, exit.UsageError("quota %q: must be NAME=NUMBER", pair)
		}

		if err := q.Set(name, value); err != nil {
			return nil, exit.UsageError("%w", err)
		}
	}

	return q, nil
}

// readWaits returns how long each wait of the machine lasts.
func readWaits(m *plan.Machine, all time.Duration, single []string) (map[string]time.Duration, error) {
	waits := map[string]time.Duration{}
	for _, name := range m.Waits() {
		// Every wait has the default; a single one replaces it.
		waits[name] = all
	}

	for _, pair := range single {
		name, text, _ := strings.Cut(pair, "=")

		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, exit.UsageError("wait %q: must be STATE=DURATION", pair)
		}

		waits[name] = d
	}

	return waits, nil
}
