package develop

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/inspect"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/diagram"
	"ratchet/workflow/file"
)

const migrateHelp = `Brings orders from older versions of the definition to the one that workers run (the
built-in one, or --order-definition). It first counts all orders by version and state
and prints the plan. With --dry-run it stops there. Otherwise every order of another
version gets its new state and version by one conditional write, as a transition with the
event "migrate" and the next id: it is in the journal, and an execution of the order
learns of it as of any other transition. Orders may move meanwhile; a worker refuses an
order of a version that it does not know until the order is migrated.

--definition names a file with another version, --mapping one that says what its states
become; states that are not listed keep their names:

  migrations:
    - from: 1
      to: 2
      states: {ON_HOLD: HELD}
The command may be stopped and repeated; it goes on with what is left. If some orders have
no mapping nothing is written, unless --partial leaves them out.

An order that is deleted meanwhile, that others change during every attempt or that cannot be
read is passed over and counted. The command reads the table again until a pass finds nothing
to migrate, at most three times.
Exit status: 0 done, or nothing to do; 1 orders are left; 2 bad input.`

func migrateCommand(s *settings.Settings) *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate",
		Short: "Bring orders to the workers' version of the definition",
		Long:  migrateHelp,
		Args:  cobra.NoArgs,
	}
	definitions := command.Flags().StringArray("definition", nil, "file with another version (YAML or JSON); repeat for more")
	mapping := command.Flags().String("mapping", "", "file with the mappings between versions (YAML or JSON)")
	dryRun := command.Flags().Bool("dry-run", false, "only count and print the plan")
	partial := command.Flags().Bool("partial", false, "migrate what has a mapping and leave the rest")
	cause := arguments.ReasonFlags(command)
	segments := command.Flags().Int("segments", 4, "parts of the table that are read at the same time, 1 to 64")

	command.RunE = func(c *cobra.Command, _ []string) error {
		if *segments < 1 || *segments > 64 {
			return exit.UsageError("segments %d: 1 to 64", *segments)
		}

		if err := cause().Validate(); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			m, err := migrations(s, c, b.Orders.Definition(), *definitions, *mapping)
			if err != nil {
				return err
			}

			run := migration{
				cause:      cause(),
				orders:     b.Orders,
				migrations: m,
				segments:   *segments,
				progress:   s.Progress,
			}

			report := migrationReport{}
			if report.MigrationPlan, err = run.plan(c.Context()); err != nil {
				return err
			}
			report.Unmapped = report.MigrationPlan.Unmapped

			if !s.JSON {
				fmt.Fprint(c.OutOrStdout(), diagram.MigrationPlan(report.MigrationPlan))
			}

			// An order without a mapping would stay behind unnoticed, so --partial must say that
			// this is meant.
			if !*dryRun && (report.Unmapped == 0 || *partial) {
				if err := run.migrate(c.Context(), &report); err != nil {
					return err
				}

				if !s.JSON {
					report.print(c.OutOrStdout())
				}
			}

			if s.JSON {
				if err := terminal.PrintJSON(c.OutOrStdout(), report); err != nil {
					return err
				}
			}

			// Also after --partial: the orders that are left need a mapping, or another run.
			if report.Unmapped+len(report.Left) > 0 {
				return exit.With(exit.Failure, nil)
			}

			return nil
		})
	}

	return s.Long(command, "counting orders")
}

// migrationReport is the plan, and what became of the orders.
type migrationReport struct {
	workflow.MigrationPlan
	Unmapped int                   `json:"unmapped"`
	Migrated int                   `json:"migrated"`
	Gone     int                   `json:"gone,omitempty"`
	Busy     int                   `json:"busy,omitempty"`
	Unread   int                   `json:"unreadable,omitempty"`
	Left     []transitions.OrderID `json:"left,omitempty"`
}

// print writes what became of the orders.
func (r migrationReport) print(out io.Writer) {
	fmt.Fprintf(out, "%s migrated to version %d\n", plural.Of(r.Migrated, "order"), r.To)

	for _, line := range []struct {
		n    int
		what string
	}{
		{r.Gone, "deleted meanwhile"},
		{r.Busy, "changed by others during every attempt; repeat the command"},
		{r.Unread, "that cannot be read"},
	} {
		if line.n > 0 {
			fmt.Fprintf(out, "%s %s\n", plural.Of(line.n, "order"), line.what)
		}
	}

	for _, id := range r.Left {
		fmt.Fprintf(out, "  left: %s\n", id)
	}
}

// migration is one run of the command.
type migration struct {
	orders     *transitions.Orders
	migrations *workflow.Migrations
	segments   int
	cause      transitions.Cause
	progress   *terminal.Progress
}

// plan counts the orders and returns the plan for them.
func (m migration) plan(ctx context.Context) (workflow.MigrationPlan, error) {
	sweep := transitions.Sweep{Segments: m.segments, Progress: m.progress.Orders("counted")}

	counts, err := inspect.Count(ctx, m.orders, sweep)
	if err != nil {
		return workflow.MigrationPlan{}, err
	}

	return m.migrations.Plan(m.orders.Definition().Version(), counts)
}

// migrate migrates the orders and enters the counts into the report.
func (m migration) migrate(ctx context.Context, report *migrationReport) error {
	sweep := transitions.Sweep{Segments: m.segments, Progress: m.progress.Orders("looked at")}

	done, err := m.orders.MigrateAll(ctx, m.migrations, sweep, m.cause)
	report.Unmapped, report.Migrated, report.Gone = done.Unmapped, done.Moved, done.Gone
	report.Busy, report.Unread, report.Left = done.Busy, done.Unreadable, done.Left

	if err != nil {
		// Each order is its own write, so the migrated ones stay migrated.
		return fmt.Errorf("%w (%d were migrated; the same command goes on with the rest)", err, report.Migrated)
	}

	return nil
}

// migrations reads the other versions of the target and the mappings between them.
func migrations(s *settings.Settings, c *cobra.Command, target *workflow.Definition, definitions []string, mapping string) (*workflow.Migrations, error) {
	versions := []*workflow.Definition{target}
	for _, path := range definitions {
		d, err := s.Definition(c, "order", path)
		if err != nil {
			return nil, err
		}

		versions = append(versions, d)
	}

	var steps []workflow.Migration
	if mapping != "" {
		text, err := arguments.ReadFile(c, mapping)
		if err != nil {
			return nil, err
		}

		if steps, err = file.ParseMigrations(mapping, text); err != nil {
			return nil, exit.With(exit.Usage, err)
		}
	}

	m, err := workflow.NewMigrations(jobs.WithBuiltIn(versions), steps)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}

	return m, nil
}
