package server_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
	"ratchet/workflow/file"
)

var flagMigrated = flag.Int("migrated", 24, "orders of TestAMigrationUnderLoadThatIsKilled")

// TestAMigrationUnderLoadThatIsKilled: workers of two versions share the orders while more of them are placed. The
// migration ends at a write of its own ten times, before or after the write is made. No order is lost, none is
// migrated twice at one of its transitions, and each execution delivers its order.
func TestAMigrationUnderLoadThatIsKilled(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "order-v2.yaml")
	if err := os.WriteFile(newer, []byte(strings.Replace(file.Format(workflow.Order()), "version: 1", "version: 2", 1)), 0o600); err != nil {
		t.Fatal(err)
	}

	// The carrier is slow enough that orders are under way during the migration. Workers that take each other's
	// shards may send a notification again, under its key.
	env := ratchettest.Start(t, ratchettest.Config{NoWorker: true, Repeats: true, Server: server.Config{CarrierDelay: 500 * time.Millisecond, AcceptVersions: []int{2}}})
	env.SetStock("mug", 1000)

	// Workers of each version accept the other one, as docs/guides/orders.md says.
	process := func(definition string, accepts ...int) (*server.Backend, *embeddedtest.Transport) {
		t.Helper()

		env.Backend.Config.OrderDefinition, env.Backend.Config.AcceptVersions = definition, accepts

		b, wire, err := env.Backend.Process()
		if err != nil {
			t.Fatal(err)
		}

		return b, wire
	}

	former, _ := process("", 2)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- former.Run(ctx, "former") }()

	placed := 0
	place := func(n int) {
		t.Helper()

		for ; n > 0; n-- {
			env.Execute(shop.Mugs(transitions.OrderID(fmt.Sprintf("o-%d", placed)), 1))
			placed++
		}
	}
	place(*flagMigrated / 2)

	present, _ := process(newer, 1)
	env.Go("carrier", present.RunCarrier)
	env.Go("present", func(ctx context.Context) error { return present.Run(ctx, "present") })

	ways, err := workflow.NewMigrations([]*workflow.Definition{workflow.Order(), present.Orders.Definition()}, []workflow.Migration{{From: 1, To: 2}})
	if err != nil {
		t.Fatal(err)
	}

	// A migration that has nothing to do comes to no write. Then more orders are placed.
	const kills = 10
	for n, rounds := 0, 0; n < kills; rounds++ {
		if rounds == 10*kills {
			t.Fatalf("%d of %d migrations were killed", n, kills)
		}
		migrator, wire := process(newer, 1)
		killed, kill := context.WithCancel(t.Context())

		var writes atomic.Int64

		// The process ends before or after a write.
		end := func(c *embeddedtest.Call) error {
			if writes.Add(1) > int64(n/2%3) {
				kill()
			}

			return killed.Err()
		}

		hook := wire.Before
		if n%2 == 1 {
			hook = wire.After
		}
		hook(func(c *embeddedtest.Call) error {
			if c.Is("UpdateItem", "TransactWriteItems") {
				return end(c)
			}

			return nil
		})

		_, err := migrator.Orders.MigrateAll(killed, ways, transitions.Sweep{}, transitions.Cause{})
		if (err == nil) == (killed.Err() != nil) {
			t.Fatalf("killed: %v, migrated: %v", killed.Err(), err)
		}

		if err != nil {
			n++
		}
		kill()
		place(*flagMigrated / 2 / kills)
	}
	stop()

	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if found, err := present.Orders.MigrateAll(t.Context(), ways, transitions.Sweep{}, transitions.Cause{}); err != nil || found.Unmapped+found.Unreadable > 0 {
			t.Fatalf("%+v, %v", found, err)
		}
	}

	migrated := 0
	for i := range placed {
		id := transitions.OrderID(fmt.Sprintf("o-%d", i))
		env.WantExecution(id, sfntypes.ExecutionStatusSucceeded)

		order, found, err := present.Orders.Get(t.Context(), id)
		if err != nil || !found || order.State != workflow.Delivered || order.DefinitionVersion != 2 {
			t.Errorf("order %s: %+v, %v", id, order, err)
			continue
		}

		// A worker of the former version may have moved the order in between, which makes it one of that version.
		before := workflow.Event("")
		for _, row := range env.Journal(id) {
			if row.Event == workflow.Migrate {
				migrated++

				if before == workflow.Migrate {
					t.Errorf("order %s was migrated twice: %+v", id, env.Journal(id))
				}
			}
			before = row.Event
		}
	}

	if migrated == 0 {
		t.Error("no order was migrated")
	}
	t.Logf("%d orders, %d migrations", placed, migrated)
}
