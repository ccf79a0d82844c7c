package jobs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"ratchet/operate/jobs"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow/file"
)

// nextVersion returns the orders as workers of the next version have them, and how the present ones come to it.
func (o *office) nextVersion() (*transitions.Orders, *jobs.Migration) {
	o.t.Helper()

	next, was := o.kit.Orders(shop.Version(o.t, 9)), o.orders.Definition()

	return next, &jobs.Migration{
		Workflow: was.Name(), To: 9, Definitions: []string{file.Format(was)},
		Mapping: fmt.Sprintf("migrations:\n  - from: %d\n    to: 9\n", was.Version()),
	}
}

// TestAWorkerWithAnotherTargetRefusesAMigration: it would bring the orders to its own version. The text names both, and
// the next worker does the job with what is stored.
func TestAWorkerWithAnotherTargetRefusesAMigration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.place()
		next, migration := o.nextVersion()
		migrations := func(orders *transitions.Orders) func(*jobs.RunnerConfig) {
			return func(c *jobs.RunnerConfig) {
				c.Works = map[jobs.Kind]jobs.Work{jobs.MigrateOrders: &jobs.Migrations{Orders: orders}}
			}
		}

		j := o.create(func(n *jobs.New) { n.Kind, n.Migration = jobs.MigrateOrders, migration })

		_, err := o.runner("former", o.db, o.sfn, migrations(o.orders)).RunOne(t.Context(), "", j.ID)
		wanted := fmt.Sprintf("to version 9 of %s, and this process runs version %d", migration.Workflow, o.orders.Definition().Version())
		if !errors.Is(err, jobs.ErrElsewhere) || !strings.Contains(err.Error(), wanted) {
			t.Fatalf("the former worker: %v, want %q", err, wanted)
		}

		if j, err = o.store.Get(t.Context(), "", j.ID); err != nil || j.State != jobs.Waiting || j.Epoch != 0 {
			t.Fatalf("the job that was refused: %+v, %v", j, err)
		}

		// The former worker runs on beside the next one.
		defer o.run(o.runner("former", o.db, o.sfn, migrations(o.orders)))()
		defer o.run(o.runner("next", o.db, o.sfn, migrations(next)))()

		if j = o.until(j.ID, ended); j.State != jobs.Done || j.Counts["done"] != many {
			t.Errorf("the job: %+v", j)
		}

		order, _, err := next.Get(t.Context(), "o-00")
		if err != nil || order.DefinitionVersion != 9 || order.Cause.Actor != "cli:ann" {
			t.Errorf("an order: %+v, %v", order, err)
		}
	})
}

// TestAnOrderWithoutAMappingHasItsCode: it stays as it is.
func TestAnOrderWithoutAMappingHasItsCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.place()
		next, migration := o.nextVersion()
		migration.Mapping = ""

		defer o.run(o.runner("next", o.db, o.sfn, func(c *jobs.RunnerConfig) {
			c.Works = map[jobs.Kind]jobs.Work{jobs.MigrateOrders: &jobs.Migrations{Orders: next}}
		}))()

		for _, dry := range []bool{true, false} {
			j := o.until(o.create(func(n *jobs.New) { n.Kind, n.Migration, n.DryRun = jobs.MigrateOrders, migration, dry }).ID, ended)
			if j.State != jobs.Done || j.Counts["unmapped"] != many || j.Total != many {
				t.Errorf("dry run %t: %+v", dry, j)
			}
		}
	})
}

// TestAMigrationThatCannotBeReadIsRefused: a worker could only pause it.
func TestAMigrationThatCannotBeReadIsRefused(t *testing.T) {
	o := newOffice(t)

	for what, m := range map[string]*jobs.Migration{
		"none":       nil,
		"no target":  {Mapping: "migrations: []"},
		"definition": {Workflow: "order", To: 9, Definitions: []string{"states: ["}},
		"mapping":    {Workflow: "order", To: 9, Mapping: "x: y"},
		"too long":   {Workflow: "order", To: 9, Mapping: strings.Repeat("#", 129<<10)},
	} {
		n := jobs.New{Kind: jobs.MigrateOrders, Migration: m, By: "cli:ann", Reason: "test"}
		if _, err := o.store.Create(t.Context(), n); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
