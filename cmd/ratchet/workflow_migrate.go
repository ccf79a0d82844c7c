package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"ratchet/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/diagram"
	"ratchet/workflow/file"
)

const migrateHelp = `Brings orders from older versions of the definition to the one that workers run (the
built-in one, or --order-definition). First all orders are counted by version and state
and the plan is printed. With --dry-run that is all. Otherwise every order of another
version gets its new state and version by one conditional write, as a transition with the
event "migrate" and the next id: it is in the journal, and an execution of the order
learns of it as of any other transition. Orders may move meanwhile; one of a version that
a worker does not know is refused by it until it is migrated.

--definition names a file with another version, --mapping one that says what its states
become; states that are not listed keep their names:

  migrations:
    - from: 1
      to: 2
      states: {ON_HOLD: HELD}

The command may be stopped and repeated; it goes on with what is left. If some orders have
no mapping nothing is written, unless --partial leaves them out.

Exit status: 0 done, or nothing in the way; 1 orders without a mapping; 2 bad input.`

func migrateCommand(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "migrate", Short: "Bring orders to the workers' version of the definition", Long: migrateHelp, Args: cobra.NoArgs}
	files := c.Flags().StringArray("definition", nil, "file with another version (YAML or JSON); repeat for more")
	mapping := c.Flags().String("mapping", "", "file with the mappings between versions (YAML or JSON)")
	dry := c.Flags().Bool("dry-run", false, "only count and print the plan")
	partial := c.Flags().Bool("partial", false, "migrate what has a mapping and leave the rest")
	segments := c.Flags().Int("segments", 4, "parts of the table that are read at the same time, 1 to 64")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *segments < 1 || *segments > 64 {
			return usageError("segments %d: 1 to 64", *segments)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			m, err := s.migrations(c, b.Orders.Definition(), *files, *mapping)
			if err != nil {
				return err
			}

			plan, err := migrationPlan(c, b, m, *segments)
			if err != nil {
				return err
			}

			report := migrationReport{MigrationPlan: plan}
			if !s.json {
				fmt.Fprint(c.OutOrStdout(), diagram.MigrationPlan(plan))
			}

			if !*dry && (plan.Unmapped == 0 || *partial) {
				sweep := transitions.Sweep{Segments: *segments, Progress: told(c.ErrOrStderr(), "looked at")}
				if report.Migrated, report.Unmapped, err = b.Orders.MigrateAll(c.Context(), m, sweep); err != nil {
					return fmt.Errorf("%w (%d were migrated; the same command goes on with the rest)", err, report.Migrated)
				}

				if !s.json {
					fmt.Fprintf(c.OutOrStdout(), "%d orders migrated to version %d\n", report.Migrated, plan.To)
				}
			}

			if s.json {
				err = printJSON(c.OutOrStdout(), report)
			}

			if err == nil && report.Unmapped > 0 {
				err = &statusError{exitFailure, nil}
			}

			return err
		})
	}

	return c
}

// migrationReport is the plan and what was done of it.
type migrationReport struct {
	workflow.MigrationPlan
	Migrated int `json:"migrated"`
}

// migrations reads the versions beside the target, and the ways between them.
func (s *settings) migrations(c *cobra.Command, target *workflow.Definition, files []string, mapping string) (*workflow.Migrations, error) {
	versions := []*workflow.Definition{target}
	for _, file := range files {
		d, err := s.definition(c, "order", file)
		if err != nil {
			return nil, err
		}
		versions = append(versions, d)
	}
	// The built-in version is known to everybody.
	if built := workflow.Order(); built.Name() == target.Name() &&
		!slices.ContainsFunc(versions, func(d *workflow.Definition) bool { return d.Version() == built.Version() }) {
		versions = append(versions, built)
	}

	var steps []workflow.Migration
	if mapping != "" {
		text, err := readFile(c, mapping)
		if err != nil {
			return nil, err
		}

		if steps, err = file.ParseMigrations(mapping, text); err != nil {
			return nil, &statusError{exitUsage, err}
		}
	}

	m, err := workflow.NewMigrations(versions, steps)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}

	return m, nil
}

// migrationPlan counts the orders and says what would become of them.
func migrationPlan(c *cobra.Command, b *server.Backend, m *workflow.Migrations, segments int) (workflow.MigrationPlan, error) {
	counts, err := inspect.Count(c.Context(), b.Orders, transitions.Sweep{Segments: segments, Progress: told(c.ErrOrStderr(), "counted")})
	if err != nil {
		return workflow.MigrationPlan{}, err
	}

	return m.Plan(b.Orders.Definition().Version(), counts)
}
