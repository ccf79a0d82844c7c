package ledger_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/ledger"
)

// TestEachCallCostsWhatItsPageSays compares the costs with the table in
// docs/reference/costs.md.
func TestEachCallCostsWhatItsPageSays(t *testing.T) {
	b := newBank(t)
	for _, id := range []string{"alice", "bob", "carol"} {
		b.open(t, ledger.NewAccount{ID: id}, 1000)
	}
	units := 0.0

	l, err := ledger.New(ledger.Config{DynamoDB: b.db, Tables: tables, Consumed: func(all []types.ConsumedCapacity) {
		for _, c := range all {
			units += aws.ToFloat64(c.CapacityUnits)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}

	post := func(transfer ledger.Transfer) func() error {
		return func() error { _, err := l.Post(t.Context(), transfer); return err }
	}
	three := ledger.Transfer{ID: "t-3", Currency: "EUR", Legs: []ledger.Leg{{Account: "alice", Amount: -3}, {Account: "bob", Amount: 2}, {Account: "carol", Amount: 1}}}
	for _, c := range []struct {
		what         string
		do           func() error
		units, reads int
	}{
		{"the first transfer", post(ledger.Move("t-1", "alice", "bob", 1, "EUR")), 10, 1},
		{"a transfer between known accounts", post(ledger.Move("t-2", "alice", "bob", 1, "EUR")), 10, 0},
		{"three legs", post(three), 14, 1},
		{"a hold", func() error { _, _, err := l.Reserve(t.Context(), hold("h", "alice", 100)); return err }, 4, 0},
		{"settling it", post(settle("t-4", "alice", "h", "bob", 40, false)), 12, 1},
		{"releasing it", func() error { _, err := l.Release(t.Context(), "alice", "h"); return err }, 4, 1},
	} {
		units, b.wire.reads = 0, 0
		if err := c.do(); err != nil || units != float64(c.units) || b.wire.reads != c.reads {
			t.Errorf("%s: %v write units and %d reads, want %d and %d; %v", c.what, units, b.wire.reads, c.units, c.reads, err)
		}
	}
}
