package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ratchet/cmd/cli/internal/commandtest"
	"ratchet/server"
	"ratchet/transitions"
)

// TestOrdersSayWhatTimeDoes: the commands that show orders say when time moves them, as text and as JSON.
func TestOrdersSayWhatTimeDoes(t *testing.T) {
	s := commandtest.OrdersAt(t, func(ctx context.Context, b *server.Backend) error {
		_, err := b.Orders.Create(ctx, transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}})
		return err
	})

	ratchet := func(args ...string) string {
		t.Helper()

		var out bytes.Buffer
		root := newRoot(server.Parts{})
		root.SetArgs(append([]string{"--quiet", "--data", s.Flags.Lookup("data").Value.String()}, args...))
		root.SetOut(&out)
		root.SetErr(&out)

		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &out)
		}

		return out.String()
	}

	for _, row := range []struct{ command, with, without string }{
		{"orders get o-1", "timer        expire (to EXPIRED) at 2", "timer"},
		{"orders list", "  expire (to EXPIRED) at 2", "TIMER"},
		{"orders explain o-1", "what time does if the order stays as it is\nexpire (to EXPIRED) at 2", "expire (to EXPIRED)"},
	} {
		args := strings.Fields(row.command)
		if out := ratchet(append(args, "--expire-unpaid", "24h")...); !strings.Contains(out, row.with) {
			t.Errorf("%s:\n%s", row.command, out)
		}

		if out := ratchet(args...); strings.Contains(out, row.without) {
			t.Errorf("%s, without timers:\n%s", row.command, out)
		}

		var shown struct {
			OrderID string
			Timers  []struct{ Event, To, At string }
		}
		if err := json.Unmarshal([]byte(ratchet(append(args, "--expire-unpaid", "24h", "--json")...)), &shown); err != nil {
			t.Errorf("%s: %v", row.command, err)
		}

		if len(shown.Timers) != 1 || shown.Timers[0].Event != "expire" || shown.Timers[0].To != "EXPIRED" || shown.Timers[0].At == "" {
			t.Errorf("%s: %+v", row.command, shown)
		}
	}
}
