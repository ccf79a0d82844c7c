package server_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ratchet/embedded/embeddedtest"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/transitions"
)

func TestConsumptionIsAddedUpPerVerdictAndPerOrder(t *testing.T) {
	c := server.Consumption{PerOrder: true}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			c.Add("a", transitions.Applied, 0, 1)
			c.Add("b", transitions.Applied, 1, 4)
			c.Add("b", transitions.Replayed, 0, 0)
		})
	}
	group.Wait()

	want := map[string]server.Units{"Applied": {Calls: 20, Read: 10, Write: 50}, "Replayed": {Calls: 10}}
	if diff := cmp.Diff(want, c.ByVerdict()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.Add("c", transitions.NotFound, 99, 0)

	if most, orders := c.Most(); most != (server.Units{Calls: 20, Read: 99, Write: 40}) || orders != 3 {
		t.Errorf("%+v of %d", most, orders)
	}

	if sum := c.Order("a"); sum != (server.Units{Calls: 10, Write: 10}) {
		t.Errorf("%+v", sum)
	}
}

// TestTheJournalMayBeWrittenByTheTransitions runs a small demo with the transactional
// journal. The tables are consistent, every order matches its journal as soon as the orders
// have ended, and the capacity of each order is counted.
func TestTheJournalMayBeWrittenByTheTransitions(t *testing.T) {
	dir := t.TempDir()
	session := &scenario.Session{Plan: scenario.Default(30)}
	consumed := &server.Consumption{PerOrder: true}
	events := session.Meter.Events()
	events.Consumed = consumed.Add

	b, err := server.Embed(server.Config{
		Data:         filepath.Join(dir, "data"),
		Notify:       "dir:" + filepath.Join(dir, "notices"),
		Journal:      "transactional",
		CarrierDelay: 5 * time.Millisecond,
	}, embeddedtest.Quiet(), events)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	count, err := session.Run(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range count.Discrepancies {
		t.Errorf("%s: %s", d.OrderID, d.What)
	}

	orders := 0
	if err := inspect.Verify(t.Context(), b.Orders, func(c inspect.Check) error {
		orders++

		if len(c.Findings) > 0 {
			t.Errorf("%s: %+v", c.OrderID, c.Findings)
		}

		if sum := consumed.Order(c.OrderID); sum.Write < 4*float64(c.Rows) { // two transactional writes, which cost twice as much
			t.Errorf("%s: %+v for %d transitions", c.OrderID, sum, c.Rows)
		}

		return nil
	}); err != nil || orders == 0 {
		t.Errorf("%d orders, %v", orders, err)
	}
}

func TestSettingsOfTheOrdersAreChecked(t *testing.T) {
	for name, cfg := range map[string]server.Config{
		"an unknown journal":   {Journal: "ledger"},
		"a missing definition": {OrderDefinition: "no-such-file.yaml"},
		"a version 0":          {AcceptVersions: []int{0}},
	} {
		cfg.Data = t.TempDir()
		if b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Events{}); err == nil {
			t.Errorf("%s was accepted", name)
			_ = b.Close()
		}
	}
}
