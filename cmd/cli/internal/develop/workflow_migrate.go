package develop

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
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
event "migrate" and the next id. Orders may move meanwhile; a worker refuses an order of a
version that it does not know until the order is migrated.

--definition names a file with another version, --mapping one that says what its states
become; states that are not listed keep their names:

  migrations: [{from: 1, to: 2, states: {ON_HOLD: HELD}}]

If some orders have no mapping nothing is written, unless --partial leaves them out.

A job migrates the orders, with definitions and mapping stored. A worker with the same target
runs it, or without workers this command. Ctrl-C pauses it: resume it, or stop it and repeat
the command. An order that was deleted, that others change during every attempt or that
cannot be read is counted. At most three jobs run, until one finds nothing to migrate.`

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
	segments := command.Flags().Int("segments", 4, "parts of the table that are counted at the same time, 1 to 64")
	job := jobrun.AddFlags(command)
	command.Flags().Lookup("job-reason").Usage = "why, for the job and the list of acts, if --reason-text does not say so; default: the command"

	command.RunE = func(c *cobra.Command, _ []string) error {
		if *segments < 1 || *segments > 64 {
			return exit.UsageError("segments %d: 1 to 64", *segments)
		}

		if err := errors.Join(cause().Validate(), job.Check()); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			m, stored, err := migrations(s, c, b.Orders.Definition(), *definitions, *mapping)
			if err != nil {
				return err
			}
			stored.Code = cause().Code

			run := migration{command: c, settings: s, backend: b, migrations: m, segments: *segments, job: job}
			run.new = jobs.New{Kind: jobs.MigrateOrders, Migration: &stored, Reason: cause().Text}

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
				err := run.migrate(&report)

				// Also after an interrupt: what was migrated stays so.
				if !s.JSON {
					report.print(c.OutOrStdout())
				}

				if err != nil {
					return err
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
	command    *cobra.Command
	settings   *settings.Settings
	backend    *server.Backend
	migrations *workflow.Migrations
	segments   int
	job        *jobrun.Flags
	new        jobs.New
}

// plan counts the orders and returns the plan for them.
func (m migration) plan(ctx context.Context) (workflow.MigrationPlan, error) {
	sweep := transitions.Sweep{Segments: m.segments, Progress: m.settings.Progress.Orders("counted")}

	counts, err := inspect.Count(ctx, m.backend.Orders, sweep)
	if err != nil {
		return workflow.MigrationPlan{}, err
	}

	return m.migrations.Plan(m.backend.Orders.Definition().Version(), counts)
}

// passes bounds how many jobs the command lets run: workers of the former version may place orders meanwhile.
const passes = 3

// mostLeft bounds the orders that the report names.
const mostLeft = 100

// migrate lets jobs migrate the orders until one finds nothing to do, and enters the counts into the report.
func (m migration) migrate(report *migrationReport) error {
	for range passes {
		j, err := m.job.Run(m.command, m.settings, m.backend, m.new)

		report.Migrated += j.Counts["done"]
		report.Unmapped, report.Gone, report.Busy, report.Unread = j.Counts["unmapped"], j.Counts["gone"], j.Counts["order_busy"], j.Counts["unreadable"]
		report.Left = nil

		if err != nil {
			return err
		}

		for _, code := range []string{"order_busy", "unreadable", "failed"} {
			if err := jobrun.Results(m.command.Context(), m.backend, j, code, report.leave); err != nil {
				return err
			}
		}

		if j.Counts["done"] == 0 {
			break
		}
	}

	return nil
}

// leave names an order that is left, if there is room.
func (r *migrationReport) leave(result jobs.Shown) error {
	if len(r.Left) < mostLeft {
		r.Left = append(r.Left, transitions.OrderID(result.ID))
	}

	return nil
}

// migrations reads the other versions of the target and the mappings between them. The job has their texts.
func migrations(s *settings.Settings, c *cobra.Command, target *workflow.Definition, definitions []string, mapping string) (m *workflow.Migrations, stored jobs.Migration, err error) {
	stored = jobs.Migration{Workflow: target.Name(), To: target.Version()}
	versions := []*workflow.Definition{target}
	for _, path := range definitions {
		d, err := s.Definition(c, "order", path)
		if err != nil {
			return nil, stored, err
		}

		versions = append(versions, d)
		stored.Definitions = append(stored.Definitions, file.Format(d))
	}

	var steps []workflow.Migration
	if mapping != "" {
		text, err := arguments.ReadFile(c, mapping)
		if err != nil {
			return nil, stored, err
		}

		stored.Mapping = string(text)

		if steps, err = file.ParseMigrations(mapping, text); err != nil {
			return nil, stored, exit.With(exit.Usage, err)
		}
	}

	m, err = workflow.NewMigrations(jobs.WithBuiltIn(versions), steps)
	if err != nil {
		return nil, stored, exit.With(exit.Usage, err)
	}

	return m, stored, nil
}
