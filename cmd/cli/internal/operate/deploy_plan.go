package operate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/server"
	"ratchet/transitions"
)

const deployPlanHelp = `Compares what runs and is deployed with this program, and prints what is left of rolling it out. The steps are
always these, in this order; a step that has nothing to do is passed over:

  accept     what runs accepts this version of the definition (accept-versions)
  resources  tables, indexes, activities and queues that this program needs
  workers    workers and API servers of this program, which accept the earlier versions; the earlier ones stop
  machine    the state machine of this program
  migrate    orders of earlier versions
  drop       accept-versions, and activities that are not used any more

Do the first step that is printed, and run the command again. To go back, run the command of the earlier program: it
has the same steps. If a state is gone, what runs is stopped in place of the first step.

It reads every order and the rows of the processes, and changes nothing.`

func deployPlan(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "plan", Short: "Print the steps that are left of rolling out this program, in their order", Args: cobra.NoArgs,
		Long:    deployPlanHelp,
		Example: "  ratchet deploy plan\n  ratchet deploy plan --json | jq -r 'first(.steps[] | select(.differs != [])).do'",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.CheckWorkflow(); err != nil {
				return err
			}

			plan, err := planRollout(c.Context(), s)
			if err != nil {
				return err
			}

			if s.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), plan)
			}

			return printRollout(c.OutOrStdout(), plan)
		},
	}

	return s.Long(c, "comparing what runs with this program")
}

// planRollout connects without creating anything: that would be a step of the plan.
func planRollout(ctx context.Context, s *settings.Settings) (plan server.Rollout, err error) {
	cfg, log, err := s.Load()
	if err != nil {
		return plan, err
	}

	b, err := s.ConnectWithWait(ctx, cfg, log, server.Events{})
	if err != nil {
		return plan, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	return b.PlanRollout(ctx, transitions.Sweep{Segments: 4, Progress: func(n int) { s.Progress.Print("%s read", plural.Of(n, "order")) }})
}

func printRollout(out io.Writer, plan server.Rollout) error {
	left := 0
	for i, step := range plan.Steps {
		if len(step.Differs) == 0 {
			continue
		}
		left++

		fmt.Fprintf(out, "%d %s: %s\n", i+1, step.Step, step.Do)

		for _, what := range step.Differs {
			fmt.Fprintf(out, "    %s\n", what)
		}
	}

	text := "nothing is left: this program runs with version %d of the definition\n"
	if left > 0 {
		text = "version %d of the definition: do the first of these, and run the command again\n"
	}
	_, err := fmt.Fprintf(out, text, plan.Version)

	return err
}
