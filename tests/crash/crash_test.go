// Package crash kills real `ratchet dev` processes with SIGKILL while clients work on them, and
// checks that nothing is lost and nothing is done twice.
package crash

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/tests/program"
)

// start starts `ratchet dev` and waits until it prints its endpoint. Its settings make it fail
// now and then by itself, and let a killed worker's effects be taken over after 3 seconds.
func start(t *testing.T, bin, dir, listen string, settings ...string) *program.Process {
	t.Helper()

	args := append([]string{
		"dev", "--json",
		"--data", filepath.Join(dir, "data"),
		"--listen", listen,
		"--notify", "dir:" + filepath.Join(dir, "notifications"),
		"--carrier-delay", "100ms",
		"--effect-lease", "3s",
		"--decline-percent", "5",
		"--timeout-percent", "3",
	}, settings...)
	running := program.Process{Bin: bin, Args: args, Dir: dir, Name: "dev"}.Start(t)

	running.Endpoint(t)

	return running
}

// TestKillNineInTheMiddleOfTheLoad places orders at a `ratchet dev` and kills it when a quarter,
// a half and three quarters of them are placed. At the end it recounts every table.
func TestKillNineInTheMiddleOfTheLoad(t *testing.T) {
	t.Parallel()

	orders := 120 * *flagLoad
	bin, dir, listen := program.Self(t, "ratchet"), t.TempDir(), program.FreeAddress(t)
	running := start(t, bin, dir, listen)

	b, err := server.Connect(t.Context(), server.Config{
		EndpointURL: "http://" + listen,
		Notify:      "dir:" + filepath.Join(dir, "notifications"),
	},
		embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	plan := scenario.Default(orders)
	if err := plan.Fill(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()

	driven := make(chan error, 1)
	var sent scenario.Sent
	go func() { driven <- plan.Drive(ctx, b, &sent, nil) }()

	for quarter := 1; quarter <= 3; quarter++ {
		untilPlaced(ctx, t, b, quarter*orders/4)
		running.Kill(t)
		running = start(t, bin, dir, listen)
	}

	checkOrders(ctx, t, plan, b, driven)
	running.Stop(t)
}

// checkOrders waits until the plan is driven and every execution has ended, and recounts every
// table.
func checkOrders(ctx context.Context, t *testing.T, plan scenario.Plan, b *server.Backend, driven <-chan error) {
	t.Helper()

	if err := <-driven; err != nil {
		t.Fatalf("drive: %v", err)
	}

	if err := scenario.Wait(ctx, b); err != nil {
		t.Fatalf("wait: %v", err)
	}

	count, err := plan.RecountUntilConsistent(ctx, b)
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range count.Discrepancies {
		t.Errorf("%s: %s", d.OrderID, d.What)
	}

	if n := count.ByState["DELIVERED"]; n < plan.Orders/2 || count.MostShipments != 1 {
		t.Errorf("%d of %d orders were delivered, at most %d shipments each", n, plan.Orders, count.MostShipments)
	}
}

// untilPlaced waits until the table holds that many orders.
func untilPlaced(ctx context.Context, t *testing.T, b *server.Backend, want int) {
	t.Helper()

	for began := time.Now(); count(ctx, t, b, b.Tables.Orders) < want; began = time.Now() {
		awaits(ctx, t, began)
	}
}
